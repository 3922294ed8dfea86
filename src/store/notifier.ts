/** Those who want to hear that something may have changed. */
export interface Wakers {
  add(listener: () => void): () => void
  wake(): void
}

export function createWakers(): Wakers {
  const listeners = new Set<() => void>()
  return {
    add(listener) {
      // a function given twice is two listeners
      const own = () => listener()
      listeners.add(own)
      return () => {
        listeners.delete(own)
      }
    },
    wake() {
      for (const listener of listeners) listener()
    },
  }
}
