import { type Clock, nowSeconds } from '../base/clock.ts'

export interface MintedToken {
  readonly text: string
  /** Seconds since the epoch. */
  readonly expiresAt: number
}

/** How long a token for an upstream is good, and when a new one is made: well before, for clocks that differ. */
export const TOKEN_SECONDS = 300
const RENEW_BEFORE_SECONDS = 60
const MOST_TOKENS = 10_000

/** Tokens by whom they speak of, each made once and used until it is nearly over. */
export function createTokenReuse(clock: Clock) {
  let known = new Map<string, MintedToken>()
  let version = ''
  return {
    /** `keyVersion` stands for everything that makes old tokens worthless. */
    find(subject: string, keyVersion: string, mint: (now: number, expiresAt: number) => string): string {
      if (keyVersion !== version) {
        known = new Map()
        version = keyVersion
      }
      const now = nowSeconds(clock)
      const before = known.get(subject)
      if (before && before.expiresAt - RENEW_BEFORE_SECONDS > now) return before.text
      const expiresAt = now + TOKEN_SECONDS
      const text = mint(now, expiresAt)
      if (known.size >= MOST_TOKENS) known = new Map()
      known.set(subject, { text, expiresAt })
      return text
    },
  }
}
