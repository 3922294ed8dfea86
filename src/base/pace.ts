import { setImmediate as nextTurn } from 'node:timers/promises'

/** About the longest time that other requests wait for one slice. */
const SLICE_MS = 4

/** Lets long work stop now and then, so that other requests are served. */
export function createPace(sliceMs: number = SLICE_MS) {
  let since = performance.now()
  return {
    /** Whether the current slice has lasted long enough. */
    isDue: (): boolean => performance.now() - since >= sliceMs,
    /** Lets the event loop run once, then begins the next slice. */
    async rest(): Promise<void> {
      await nextTurn()
      since = performance.now()
    },
  }
}
