import type { Log } from './log.ts'

export type Notifier<T = void> = ReturnType<typeof createNotifier<T>>

/** The listeners of one kind of event. */
export function createNotifier<T = void>(log: Log) {
  const listeners = new Set<(event: T) => void>()
  return {
    /** Returns a function that removes the listener. */
    add(listener: (event: T) => void): () => void {
      // a wrapper, so that a function added twice is two listeners
      const wrapper = (event: T) => listener(event)
      listeners.add(wrapper)
      return () => void listeners.delete(wrapper)
    },
    notify(event: T): void {
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
