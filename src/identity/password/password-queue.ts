import { type Clock, SYSTEM_CLOCK } from '../../base/clock.ts'
import { Refusal } from '../../base/errors.ts'

export interface JobQueueOptions {
  /** How many jobs run at once. */
  readonly jobs: number
  /** How many more may wait; asked each time. */
  readonly queue: () => number
  readonly clock?: Clock
}

export interface JobQueue {
  /**
   * Runs the job when its turn comes, first come first served. Rejects with `overloaded` where too many wait already,
   * and with the signal's reason when that ends before the job began.
   */
  run<T>(job: () => Promise<T>, signal?: AbortSignal): Promise<T>
  load(): { readonly running: number; readonly waiting: number }
}

const LONGEST_RETRY_SECONDS = 60
// the newest job counts for a fifth, so that one slow job does not send everybody away for a minute
const WEIGHT_OF_NEWEST = 0.2

/** A bounded queue before a fixed number of places. */
export function createJobQueue({ jobs, queue, clock = SYSTEM_CLOCK }: JobQueueOptions): JobQueue {
  if (!Number.isInteger(jobs) || jobs < 1) throw new RangeError('expected at least one job')
  // a Set keeps the order of arrival and lets whoever went away leave from the middle
  const waiting = new Set<() => void>()
  let running = 0
  let averageMs = 0

  const retryAfterSeconds = () => {
    const seconds = Math.ceil(((waiting.size / jobs) * averageMs) / 1000)
    return Math.min(Math.max(seconds, 1), LONGEST_RETRY_SECONDS)
  }

  const waitForPlace = (signal: AbortSignal | undefined): Promise<void> => {
    if (!(waiting.size < queue())) {
      return Promise.reject(new Refusal('overloaded', { retryAfterSeconds: retryAfterSeconds() }))
    }
    const { promise, resolve, reject } = Promise.withResolvers<void>()
    const leave = () => {
      waiting.delete(enter)
      reject(signal?.reason)
    }
    const enter = () => {
      signal?.removeEventListener('abort', leave)
      resolve()
    }
    signal?.addEventListener('abort', leave, { once: true })
    waiting.add(enter)
    return promise
  }

  /** Hands the place to whoever waits longest; only when nobody does is it free. */
  const giveUpPlace = () => {
    const [next] = waiting
    if (!next) {
      running -= 1
      return
    }
    waiting.delete(next)
    next()
  }

  const run = async <T>(job: () => Promise<T>, signal?: AbortSignal): Promise<T> => {
    signal?.throwIfAborted()
    if (running >= jobs) await waitForPlace(signal)
    else running += 1
    const startMs = clock.nowMs()
    try {
      return await job()
    } finally {
      averageMs += (Math.max(clock.nowMs() - startMs, 0) - averageMs) * WEIGHT_OF_NEWEST
      giveUpPlace()
    }
  }

  return { run, load: () => ({ running, waiting: waiting.size }) }
}
