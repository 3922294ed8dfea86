import { setTimeout as pause } from 'node:timers/promises'
import { yieldToOthers } from './pace.ts'

/** A sleep that another part of the program can cut short. It does not keep the process running. */
export function createWakeableSleep() {
  let isWoken = false
  let endSleep = () => {}
  return {
    /** From here on, a call of `wake` also cuts the next sleep short, so that a wake during work is not lost. */
    beginWork(): void {
      isWoken = false
    },
    sleep(ms: number): Promise<void> {
      // not a timer, which would not keep the process running: someone waits for the work
      if (isWoken) return yieldToOthers()
      return new Promise((resolve) => {
        const timer = setTimeout(resolve, ms).unref()
        endSleep = () => {
          clearTimeout(timer)
          resolve()
        }
      })
    },
    wake(): void {
      isWoken = true
      endSleep()
    },
  }
}

/**
 * Runs `work` again and again, each time after the milliseconds that it returns; it must not reject. Returns a function that
 * stops this and waits for a run in progress. The pauses do not keep the process running.
 */
export function keepRepeating(work: (stopped: AbortSignal) => Promise<number>): () => Promise<void> {
  const stopping = new AbortController()
  const { signal } = stopping
  const run = async () => {
    while (!signal.aborted) await pause(await work(signal), undefined, { signal, ref: false }).catch(() => {})
  }
  const running = run()
  return () => {
    stopping.abort()
    return running
  }
}

/** Waits until all promises are settled, but not longer than `maxMs`. */
export async function waitAtMost(work: Iterable<Promise<unknown>>, maxMs: number): Promise<void> {
  const done = new AbortController()
  const late = pause(maxMs, undefined, { signal: done.signal }).catch(() => {})
  await Promise.race([Promise.allSettled(work), late])
  done.abort()
}

/** Whether the work succeeds, and not later than this. */
export async function succeedsWithin(work: Promise<unknown>, maxMs: number): Promise<boolean> {
  let isDone = false
  const done = work.then(() => {
    isDone = true
  })
  await waitAtMost([done], maxMs)
  return isDone
}

/** Calls `run` at once, then not again for `gapMs`: all calls in between become one at its end. */
export function spaceOut(run: () => void, gapMs: number): () => void {
  let isResting = false
  let isAsked = false
  const call = () => {
    isAsked = false
    isResting = true
    setTimeout(endRest, gapMs).unref()
    run()
  }
  const endRest = () => {
    isResting = false
    if (isAsked) call()
  }
  return () => {
    if (isResting) isAsked = true
    else call()
  }
}
