import { type Clock, SYSTEM_CLOCK } from '../base/clock.ts'
import { Refusal } from '../base/errors.ts'
import { createLanes, type Waiting } from './lanes.ts'

export interface JobQueueOptions {
  /** How many jobs run at once. */
  readonly jobs: number
  /** How many more may wait; read for each job. */
  readonly queue: () => number
  readonly clock?: Clock
}

/** The position of a job in the queue, and what ends its wait. */
export interface Turn {
  /** Jobs of one lane are served in order, lanes in turn. Left out: work of the server itself. */
  readonly lane?: string
  /** Whether the lane goes first; called for each choice. Left out: it does. */
  isPreferred?(): boolean
  /** Called right before the job runs; throws if it must not run any more. */
  begin?(): void
  readonly signal?: AbortSignal | undefined
}

export interface JobQueue {
  /**
   * Runs the job when its turn comes. Rejects with `overloaded` if too many jobs wait, with the signal's reason if it is
   * aborted before the job begins, and with what `begin` throws.
   */
  run<T>(job: () => Promise<T>, turn?: Turn): Promise<T>
  load(): { readonly running: number; readonly waiting: number }
}

interface Job extends Waiting {
  enter(): void
  refuse(): void
}

const OWN_LANE = ''
const LONGEST_RETRY_SECONDS = 60
// the newest job counts for a fifth, so that one slow job does not raise every Retry-After to a minute
const WEIGHT_OF_NEWEST = 0.2

/**
 * A bounded queue in front of a fixed number of concurrent jobs. When it is full, a new job displaces the last job of a
 * lane with lower priority, so one client cannot fill the queue for the others.
 */
export function createJobQueue({ jobs, queue, clock = SYSTEM_CLOCK }: JobQueueOptions): JobQueue {
  if (!Number.isInteger(jobs) || jobs < 1) throw new RangeError('expected at least one job')
  const waiting = createLanes<Job>()
  let running = 0
  let averageMs = 0

  const overloaded = () => {
    const seconds = Math.ceil(((waiting.size() / jobs) * averageMs) / 1000)
    return new Refusal('overloaded', { retryAfterSeconds: Math.min(Math.max(seconds, 1), LONGEST_RETRY_SECONDS) })
  }

  const waitForPlace = (turn: Turn): Promise<void> => {
    const { signal, lane = OWN_LANE } = turn
    const { promise, resolve, reject } = Promise.withResolvers<void>()
    const leave = () => {
      waiting.delete(job)
      reject(signal?.reason)
    }
    const settle = (work: () => void) => {
      signal?.removeEventListener('abort', leave)
      work()
    }
    const job: Job = {
      lane,
      isPreferred: () => turn.isPreferred?.() ?? true,
      sinceMs: clock.nowMs(),
      enter: () => settle(resolve),
      refuse: () => settle(() => reject(overloaded())),
    }
    if (!makeRoom(job)) return Promise.reject(overloaded())
    signal?.addEventListener('abort', leave, { once: true })
    waiting.add(job)
    return promise
  }

  const makeRoom = (job: Job): boolean => {
    if (waiting.size() < queue()) return true
    const displaced = waiting.displaceFor(job)
    displaced?.refuse()
    return displaced !== undefined && waiting.size() < queue()
  }

  /** Passes the place to the next job; it becomes free only if none waits. */
  const giveUpPlace = () => {
    const next = waiting.next(clock.nowMs())
    if (next) next.enter()
    else running -= 1
  }

  const run = async <T>(job: () => Promise<T>, turn: Turn = {}): Promise<T> => {
    turn.signal?.throwIfAborted()
    if (running >= jobs) await waitForPlace(turn)
    else running += 1
    try {
      turn.begin?.()
      const startMs = clock.nowMs()
      try {
        return await job()
      } finally {
        averageMs += (Math.max(clock.nowMs() - startMs, 0) - averageMs) * WEIGHT_OF_NEWEST
      }
    } finally {
      giveUpPlace()
    }
  }

  return { run, load: () => ({ running, waiting: waiting.size() }) }
}
