import { hash } from 'node:crypto'
import { LRUCache } from 'lru-cache'

/** Which text, read at which door, under which keys. */
export interface TokenPlace {
  readonly door: string
  /** Version of the keys that verified it: with other keys nothing is remembered. */
  readonly version: string
  readonly token: string
}

/** Remembered verifications. Holds digests of tokens, never a token. */
export interface TokenCache<V> {
  find(place: TokenPlace, nowSeconds: number): V | undefined
  /** Call only after the token verified. `exp` in seconds; without one it is remembered until others need the room. */
  remember(place: TokenPlace, value: V, exp: number | undefined): void
  clear(): void
}

interface Entry<V> {
  readonly value: V
  readonly exp: number
  readonly characters: number
}

export interface TokenCacheLimits {
  readonly entries: number
  /** Of all the tokens together, as a measure of what their claims take. */
  readonly characters: number
}

const LIMITS: TokenCacheLimits = { entries: 16_384, characters: 33_554_432 }

export function createTokenCache<V>(limits: TokenCacheLimits = LIMITS): TokenCache<V> {
  const entries = new LRUCache<string, Entry<V>>({
    max: limits.entries,
    maxSize: limits.characters,
    sizeCalculation: ({ characters }) => characters,
  })
  return {
    find: (place, nowSeconds) => {
      const key = toCacheKey(place)
      const entry = entries.get(key)
      if (entry === undefined || nowSeconds < entry.exp) return entry?.value
      entries.delete(key)
      return undefined
    },
    remember: (place, value, exp = Number.POSITIVE_INFINITY) => {
      entries.set(toCacheKey(place), { value, exp, characters: place.token.length + 1 })
    },
    clear: () => entries.clear(),
  }
}

/**
 * Lengths stand before the parts, so that no two places share a key unless SHA-256 itself collides. What verified is
 * ASCII, so that no text that is not well-formed shares its bytes.
 */
export const toCacheKey = ({ door, version, token }: TokenPlace): string =>
  `${door.length}:${door}${version.length}:${version}${hash('sha256', token, 'base64')}`
