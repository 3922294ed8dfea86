import { setImmediate as nextTurn } from 'node:timers/promises'

/** Lets long work stop now and then, so that other requests are served. */
export interface Pace {
  /** Whether the current slice has lasted long enough. */
  isDue(): boolean
  /** Lets the event loop run once, then begins the next slice. */
  rest(): Promise<void>
}

/** About the longest time that other requests wait for one slice. */
const SLICE_MS = 4

export function createPace(sliceMs: number = SLICE_MS): Pace {
  let since = performance.now()
  return {
    isDue: () => performance.now() - since >= sliceMs,
    async rest() {
      await nextTurn()
      since = performance.now()
    },
  }
}
