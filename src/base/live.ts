/** A value that can be replaced as a whole. Readers call `get` once per operation and use that value throughout. */
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

/** A value computed from another live value, once each time that one is replaced. */
export function deriveLive<S, T>(source: Live<S>, toValue: (value: S) => T): Live<T> {
  let from = source.get()
  let current = toValue(from)
  return {
    get: () => {
      const now = source.get()
      if (now !== from) {
        current = toValue(now)
        from = now
      }
      return current
    },
  }
}
