import { type Clock, nowSeconds } from '../base/clock.ts'

interface Minted<T> {
  readonly made: T
  /** Seconds since the epoch. */
  readonly expiresAt: number
}

/** How long a token for an upstream is good, and when a new one is made: well before, for clocks that differ. */
export const TOKEN_SECONDS = 300
const RENEW_BEFORE_SECONDS = 60
const MAX_TOKENS = 10_000

export interface Wanted {
  readonly subject: string
  /** Stands for everything that makes old tokens worthless. */
  readonly keyVersion: string
  /** When the credential of whoever asks is over, in seconds since the epoch: no token outlives it. */
  readonly endsAt: number
}

/** Tokens, or what they stand in, by whom they speak of: each made once and used until it is nearly over. */
export function createUpstreamTokenCache<T>(clock: Clock) {
  let known = new Map<string, Minted<T>>()
  let version = ''
  return {
    find({ subject, keyVersion, endsAt }: Wanted, mint: (now: number, expiresAt: number) => T): T {
      if (keyVersion !== version) {
        known = new Map()
        version = keyVersion
      }
      const now = nowSeconds(clock)
      const isShort = endsAt < now + TOKEN_SECONDS
      const expiresAt = isShort ? Math.max(Math.ceil(endsAt), now + 1) : now + TOKEN_SECONDS
      // one that ends with its credential is for no other, and cannot be had any longer
      const place = isShort ? `${subject}\n${expiresAt}` : subject
      const before = known.get(place)
      if (before && (isShort || before.expiresAt - RENEW_BEFORE_SECONDS > now)) return before.made
      const made = mint(now, expiresAt)
      if (known.size >= MAX_TOKENS) known = new Map()
      known.set(place, { made, expiresAt })
      return made
    },
  }
}
