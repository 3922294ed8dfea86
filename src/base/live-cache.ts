import { LRUCache } from 'lru-cache'

/** A map that forgets what was used longest ago once it is full. */
export interface LiveCache<V extends object> {
  get(key: string): V | undefined
  set(key: string, value: V): void
  delete(key: string): void
  clear(): void
  isEmpty(): boolean
}

// the cache reserves its places at once, so a slip of the keyboard in an option must not take all memory
const MAX_ENTRIES = 1_000_000

/** How much it holds is asked each time; a change keeps the entries used last. With 0 it holds nothing. */
export function createLiveCache<V extends object>(size: () => number): LiveCache<V> {
  let cache: LRUCache<string, V> | undefined

  const resize = (max: number) => {
    const before = cache
    cache = max === 0 ? undefined : new LRUCache<string, V>({ max })
    if (before) cache?.load(before.dump())
  }

  const current = () => {
    const max = toSize(size())
    if (max !== (cache?.max ?? 0)) resize(max)
    return cache
  }

  return {
    get: (key) => current()?.get(key),
    set: (key, value) => void current()?.set(key, value),
    delete: (key) => void cache?.delete(key),
    clear: () => cache?.clear(),
    isEmpty: () => (cache?.size ?? 0) === 0,
  }
}

const toSize = (size: number): number => (size >= 1 ? Math.min(Math.floor(size), MAX_ENTRIES) : 0)
