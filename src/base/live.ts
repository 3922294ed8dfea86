/** A value that is replaced as a whole. Readers call `get` once per operation and use that value throughout. */
export interface Live<T> {
  get(): T
}

export interface LiveCell<T> extends Live<T> {
  set(value: T): void
}

export function createLive<T>(initial: T): LiveCell<T> {
  let current = initial
  return {
    get: () => current,
    set: (value) => {
      current = value
    },
  }
}
