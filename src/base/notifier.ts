import type { Log } from './log.ts'

/** The listeners of one kind of event. */
export interface Notifier<T = void> {
  /** Returns a function that removes the listener. */
  add(listener: (event: T) => void): () => void
  notify(event: T): void
}

export function createNotifier<T = void>(log: Log): Notifier<T> {
  const listeners = new Set<(event: T) => void>()
  return {
    add(listener) {
      // a wrapper, so that a function added twice is two listeners
      const wrapper = (event: T) => listener(event)
      listeners.add(wrapper)
      return () => void listeners.delete(wrapper)
    },
    notify(event) {
      for (const listener of listeners) {
        try {
          listener(event)
        } catch (error) {
          // the other listeners must still be called
          log.error('a listener failed', { error })
        }
      }
    },
  }
}
