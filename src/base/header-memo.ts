/** Bounds the memory: clients can send any number of different texts, of any length. */
const MAX_TEXTS = 1000
const MAX_CHARACTERS = 100

/**
 * A map by header name, or by another short text that most messages have. It is cleared when it is full and ignores long
 * texts. Cheaper than an LRU cache, which each request would ask for about twenty texts.
 */
export function createBoundedMap<T>() {
  const values = new Map<string, T>()
  return {
    get: (text: string): T | undefined => values.get(text),
    set(text: string, value: T): void {
      if (text.length > MAX_CHARACTERS) return
      if (values.size >= MAX_TEXTS) values.clear()
      values.set(text, value)
    },
  }
}

/** Remembers the result of a function of such a text. */
export function createHeaderMemo<T extends NonNullable<unknown>>(compute: (text: string) => T): (text: string) => T {
  const results = createBoundedMap<T>()
  return (text) => {
    const known = results.get(text)
    if (known !== undefined) return known
    const result = compute(text)
    results.set(text, result)
    return result
  }
}
