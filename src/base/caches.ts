// Bounded caches, and the count of their uses.
import { LRUCache } from 'lru-cache'

/** In milliseconds: how long an entry is kept, and how exactly. */
type Lifetime = Pick<LRUCache.Options<string, never, unknown>, 'ttl' | 'ttlResolution'>

/**
 * Removes the least recently used entry when there are more than `max`. The number is given as a size: for `max` the
 * library allocates all entries at once, which takes 11 ms for 100 000: half of the time in which a server opens.
 */
export const createLruCache = <V extends NonNullable<unknown>>(max: number, lifetime: Lifetime = {}) =>
  new LRUCache<string, V>({ ...lifetime, maxSize: max, sizeCalculation: () => 1 })

/** A wrong number in an option must not let the cache take all memory. */
const MAX_ENTRIES = 1_000_000

/**
 * A map that removes the least recently used entry when it is full. Calls `size` on each use. When it changes, the most
 * recently used entries are kept. With 0 the cache holds nothing.
 */
export function createLiveCache<V extends object>(size: () => number) {
  let cache: LRUCache<string, V> | undefined
  let cacheSize = 0

  const resize = (max: number) => {
    const before = cache
    cache = max === 0 ? undefined : createLruCache<V>(max)
    cacheSize = max
    if (before) cache?.load(before.dump())
  }

  const current = () => {
    const max = toSize(size())
    if (max !== cacheSize) resize(max)
    return cache
  }

  return {
    get: (key: string): V | undefined => current()?.get(key),
    set: (key: string, value: V): void => void current()?.set(key, value),
    delete: (key: string): void => void cache?.delete(key),
    clear: (): void => cache?.clear(),
    isEmpty: (): boolean => (cache?.size ?? 0) === 0,
  }
}

const toSize = (size: number): number => (size >= 1 ? Math.min(Math.floor(size), MAX_ENTRIES) : 0)

/** How often a cache had what it was asked for. */
export class CacheCounts {
  hits = 0
  misses = 0

  /** Counts one use, and returns what was found. */
  count<T>(found: T): T {
    if (found === undefined) this.misses += 1
    else this.hits += 1
    return found
  }
}
