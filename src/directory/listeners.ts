import type { Log } from '../base/log.ts'
import type { Ended } from './directory.ts'

/** Those who want to know what has ended. */
export interface Listeners {
  add(listener: (ended: Ended) => void): () => void
  tell(ended: Ended): void
}

export function createListeners(log: Log): Listeners {
  const listeners = new Set<(ended: Ended) => void>()
  return {
    add(listener) {
      // a function of its own, so that one given twice is two
      const own = (ended: Ended) => listener(ended)
      listeners.add(own)
      return () => void listeners.delete(own)
    },
    tell(ended) {
      for (const listener of listeners) {
        try {
          listener(ended)
        } catch (error) {
          // the change holds already; one listener must not keep it from the others
          log.error('a listener failed', { error })
        }
      }
    },
  }
}
