import { createLruCache } from './lru-cache.ts'

/** Bounded, because clients can send any number of different header names. */
const MAX_NAMES = 2000

/** Remembers the result of a function of a header name. The same few names come with every request. */
export function createNameMemo<T extends NonNullable<unknown>>(compute: (name: string) => T): (name: string) => T {
  const results = createLruCache<T>(MAX_NAMES)
  return (name) => {
    const known = results.get(name)
    if (known !== undefined) return known
    const result = compute(name)
    results.set(name, result)
    return result
  }
}
