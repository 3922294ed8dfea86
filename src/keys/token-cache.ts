import { hash } from 'node:crypto'
import { LRUCache } from 'lru-cache'
import { CacheCounts } from '../base/caches.ts'

export interface TokenPlace {
  readonly door: string
  /** Version of the keys that verified it. */
  readonly version: string
  readonly token: string
}

/** Caches verified tokens by their digest; never holds a token. */
export interface TokenCache<V> {
  readonly counts: CacheCounts
  find(place: TokenPlace, nowSeconds: number): V | undefined
  /** Only for verified tokens. `exp` in seconds; without one, the entry stays until the cache is full. */
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
  /** Of all tokens together, as an estimate of the memory of their claims. */
  readonly characters: number
}

const LIMITS: TokenCacheLimits = { entries: 16_384, characters: 33_554_432 }

export function createTokenCache<V>(limits: TokenCacheLimits = LIMITS): TokenCache<V> {
  // counted instead of given as `max`, for which the library allocates all entries at once
  const fewestCharacters = Math.ceil(limits.characters / limits.entries)
  const entries = new LRUCache<string, Entry<V>>({
    maxSize: limits.characters,
    sizeCalculation: ({ characters }) => Math.max(characters, fewestCharacters),
  })
  const counts = new CacheCounts()
  return {
    counts,
    find: (place, nowSeconds) => {
      const key = toCacheKey(place)
      const entry = counts.count(entries.get(key))
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
 * Each part is preceded by its length. A remembered token is verified, so it is ASCII, and no other text has its bytes:
 * another place shares its key only if SHA-256 collides.
 */
export const toCacheKey = ({ door, version, token }: TokenPlace): string =>
  `${door.length}:${door}${version.length}:${version}${hash('sha256', token, 'base64')}`
