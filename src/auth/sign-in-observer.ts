import { LRUCache } from 'lru-cache'
import type { Refusal } from '../base/errors.ts'
import type { Authenticated } from '../directory/identity.ts'
import type { SecurityEvents } from '../observe/security-events.ts'
import type { CredentialSource } from './handler.ts'

/** Records sign-ins with credentials that a client sends with every request. */
export interface SignInObserver {
  onAccepted(authenticated: Authenticated, source: CredentialSource): void
  onRefused(reason: string, handler: string): void
}

/** A request with a credential that was used within this time is no new sign-in. */
const FIRST_USE_MS = 3_600_000
const MAX_REMEMBERED = 10_000

export function createSignInObserver(events: SecurityEvents): SignInObserver {
  const known = new LRUCache<string, true>({ max: MAX_REMEMBERED, ttl: FIRST_USE_MS })
  return {
    onAccepted(authenticated, { client }) {
      // recorded when the session or token was issued
      if (authenticated.session || authenticated.bearer?.session) return
      const key = toKey(authenticated, client.address)
      if (known.has(key)) return
      known.set(key, true)
      const { identity, by } = authenticated
      const subject = identity.name ?? '_superuser'
      events.record('sign-in.accepted', { subject, opened: 'first use', handler: by ?? undefined, actor: subject })
    },
    onRefused: (reason, handler) => events.record('sign-in.refused', { reason, handler }),
  }
}

/** Nothing of the credential itself: only who uses which kind from where, and what a new password or token changes. */
function toKey({ identity, by, accessToken }: Authenticated, peer: string): string {
  const generation = 'sessionEpoch' in identity ? identity.sessionEpoch : undefined
  return JSON.stringify([by, peer, identity.name, generation, accessToken?.mark])
}

/** The private reason of a refusal. */
export const explainRefusal = ({ detail, about, message }: Refusal): string => detail ?? about ?? message
