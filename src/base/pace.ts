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

/** Tasks that go on in one iteration of the event loop. */
const TASKS_AT_ONCE = 8
const waiting: (() => void)[] = []

function releaseSome(): void {
  for (const goOn of waiting.splice(0, TASKS_AT_ONCE)) goOn()
  if (waiting.length > 0) setImmediate(releaseSome)
}

/**
 * Lets other requests be served before a task goes on. Thousands of feeds wait for the same change: with
 * `setImmediate` alone, all of them would go on in one iteration of the event loop.
 */
export function yieldToOthers(): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>()
  if (waiting.push(resolve) === 1) setImmediate(releaseSome)
  return promise
}
