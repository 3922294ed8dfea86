import { LRUCache } from 'lru-cache'

/** In milliseconds: how long an entry is kept, and how exactly. */
type Lifetime = Pick<LRUCache.Options<string, never, unknown>, 'ttl' | 'ttlResolution'>

/**
 * Removes the least recently used entry when there are more than `max`. The number is given as a size: for `max` the
 * library allocates all entries at once, which takes 11 ms for 100 000 and half of the time a server needs to open.
 */
export const createLruCache = <V extends NonNullable<unknown>>(max: number, lifetime: Lifetime = {}) =>
  new LRUCache<string, V>({ ...lifetime, maxSize: max, sizeCalculation: () => 1 })
