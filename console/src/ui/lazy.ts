/** Creates a value with its first use. For formatters: the first of a page takes 20 ms or more, and few pages need one. */
export function lazy<T>(create: () => T): () => T {
  let value: T | undefined
  return () => {
    value ??= create()
    return value
  }
}
