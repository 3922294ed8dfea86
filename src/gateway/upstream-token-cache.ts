import { createLruCache } from '../base/caches.ts'
import { type Clock, nowSeconds, SYSTEM_CLOCK } from '../base/clock.ts'
import type { Identity } from '../directory/identity.ts'

/** How long a token for an upstream server is valid. */
export const TOKEN_SECONDS = 300
/** A token is replaced this long before it expires, because clocks differ. */
const RENEW_BEFORE_SECONDS = 60
const MAX_TOKENS = 10_000

interface TokenRequest {
  /** Identities with the same subject share a token. */
  subject(): string
  /** The identity, if the subject depends on nothing else. */
  readonly identity?: Identity
  /** Identifies the signing key: a token signed with another key is not reused. */
  readonly keyVersion: string
  /** When the client's credential expires, in seconds since the epoch: the token does not outlive it. */
  readonly endsAt: number
}

interface CachedToken<T> {
  readonly value: T
  readonly keyVersion: string
  /** Seconds since the epoch. */
  readonly expiresAt: number
}

/**
 * Signed tokens, or headers that contain one, by subject. Each is created once and reused until it nearly expires. Most
 * requests have the identity object of an earlier request: their token is found by it, and no subject is built.
 */
export function createUpstreamTokenCache<T>(clock: Clock = SYSTEM_CLOCK) {
  const bySubject = createLruCache<CachedToken<T>>(MAX_TOKENS)
  const byIdentity = new WeakMap<Identity, CachedToken<T>>()
  return {
    find({ identity, subject, keyVersion, endsAt }: TokenRequest, create: (now: number, expiresAt: number) => T): T {
      const now = nowSeconds(clock)
      const isFresh = (token: CachedToken<T>) => token.expiresAt - RENEW_BEFORE_SECONDS > now
      const isShort = endsAt < now + TOKEN_SECONDS
      const ofIdentity = identity && !isShort ? byIdentity.get(identity) : undefined
      if (ofIdentity?.keyVersion === keyVersion && isFresh(ofIdentity)) return ofIdentity.value
      const expiresAt = isShort ? Math.max(Math.ceil(endsAt), now + 1) : now + TOKEN_SECONDS
      // a token that ends with its credential cannot be renewed, and is used for that end only
      const key = `${keyVersion}\n${isShort ? expiresAt : ''}\n${subject()}`
      const ofSubject = bySubject.get(key)
      const isUsable = ofSubject && (isShort || isFresh(ofSubject))
      const token = isUsable ? ofSubject : { value: create(now, expiresAt), keyVersion, expiresAt }
      if (!isUsable) bySubject.set(key, token)
      if (identity && !isShort) byIdentity.set(identity, token)
      return token.value
    },
  }
}
