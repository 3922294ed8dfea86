// Removing or replacing a second factor needs a session that has proved it.
import { isDeepStrictEqual } from 'node:util'
import { Refusal } from '../../base/errors.ts'
import type { Account } from '../account.ts'
import type { Authenticated } from '../identity.ts'
import { findProvenSession } from '../password-proof.ts'
import { generationOf, type KeptSession } from '../session-epoch.ts'
import { provesFactor } from '../sessions/session.ts'

export type FactorOwner = Pick<Account, 'name' | 'totp'>

/** Whether two states of an account have the same second factor, or both none. */
export const isSameFactor = (a: Pick<Account, 'totp'>, b: Pick<Account, 'totp'>): boolean =>
  isDeepStrictEqual(a.totp, b.totp)

/** Whether the session of the request has proved the second factor that this state of its account has. */
export function hasProvedFactor(who: Authenticated, account: FactorOwner, key: Uint8Array): boolean {
  const session = findProvenSession(who)
  if (!session || session.owner.name !== account.name || !isSameFactor(session.owner, account)) return false
  return provesFactor(session.id, session.owner, key)
}

/** The own session of the request, which a code has just confirmed. */
export function findConfirming(name: string, confirmed: Authenticated | undefined): KeptSession | undefined {
  const session = confirmed && findProvenSession(confirmed)
  if (session?.owner.name !== name) return undefined
  return { id: session.id, generation: generationOf(session.owner.sessionEpoch, session.id) }
}

/**
 * Throws if the request is one of the account's own user, who has not proved the second factor. Other users reach an
 * account only as its administrators. `confirmed` is undefined outside a request.
 */
export function requireFactorProof(account: FactorOwner, confirmed: Authenticated | undefined, key: Uint8Array): void {
  if (confirmed?.identity.name !== account.name || hasProvedFactor(confirmed, account, key)) return
  throw new Refusal('second_factor_required', { reason: NEEDS_FACTOR })
}

const NEEDS_FACTOR =
  'Sign in with a one-time code to change or remove the second factor or its recovery codes, or to delete the account.'
