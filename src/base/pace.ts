import { setImmediate as yieldToOthers } from 'node:timers/promises'

/** Lets the event loop run once, so that other requests are served. */
export { yieldToOthers }

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
      await yieldToOthers()
      since = performance.now()
    },
  }
}

/** Feeds that go on in one iteration of the event loop. */
const FEEDS_AT_ONCE = 8
const waiting: (() => void)[] = []

function releaseSome(): void {
  for (const goOn of waiting.splice(0, FEEDS_AT_ONCE)) goOn()
  if (waiting.length > 0) setImmediate(releaseSome)
}

/**
 * Lets a feed go on in its turn. Thousands of feeds wait for the same change, and Node would let all of them go on in one
 * iteration: 2000 took 750 ms.
 */
export function waitAmongFeeds(): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>()
  if (waiting.push(resolve) === 1) setImmediate(releaseSome)
  return promise
}
