import { setImmediate as nextTurn } from 'node:timers/promises'

/** Tells long work when to let other requests have their turn. */
export interface Pace {
  /** Whether the current slice has lasted long enough. */
  isDue(): boolean
  /** Lets the event loop run, then begins the next slice. */
  rest(): Promise<void>
}

/** Other requests wait for at most about this long behind one slice. */
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
