import { createLruCache } from '../base/caches.ts'
import { type Clock, nowSeconds } from '../base/clock.ts'

/** How long a token for an upstream server is valid. */
export const TOKEN_SECONDS = 300
/** A token is replaced this long before it expires, because clocks differ. */
const RENEW_BEFORE_SECONDS = 60
const MAX_TOKENS = 10_000

interface TokenRequest {
  readonly subject: string
  /** Identifies the signing key: a token signed with another key is not reused. */
  readonly keyVersion: string
  /** When the client's credential expires, in seconds since the epoch: the token does not outlive it. */
  readonly endsAt: number
}

interface CachedToken<T> {
  readonly value: T
  /** Seconds since the epoch. */
  readonly expiresAt: number
}

/** Signed tokens, or headers that contain one, by subject. Each is created once and reused until it nearly expires. */
export function createUpstreamTokenCache<T>(clock: Clock) {
  const cache = createLruCache<CachedToken<T>>(MAX_TOKENS)
  return {
    find({ subject, keyVersion, endsAt }: TokenRequest, create: (now: number, expiresAt: number) => T): T {
      const now = nowSeconds(clock)
      const isShort = endsAt < now + TOKEN_SECONDS
      const expiresAt = isShort ? Math.max(Math.ceil(endsAt), now + 1) : now + TOKEN_SECONDS
      // a token that ends with its credential cannot be renewed, and is used for that end only
      const key = `${keyVersion}\n${isShort ? expiresAt : ''}\n${subject}`
      const cached = cache.get(key)
      if (cached && (isShort || cached.expiresAt - RENEW_BEFORE_SECONDS > now)) return cached.value
      const value = create(now, expiresAt)
      cache.set(key, { value, expiresAt })
      return value
    },
  }
}
