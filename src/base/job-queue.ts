import { type Clock, MONOTONIC_CLOCK } from './clock.ts'
import { Refusal } from './errors.ts'
import { Lanes, type Waiting } from './lanes.ts'

export interface JobQueueOptions {
  /** How many jobs run at once. */
  readonly jobs: number
  /** How many more may wait; read for each job. */
  readonly queue: () => number
  /** Called with the time a job has waited, before it begins. */
  readonly onWaited?: ((waitedMs: number) => void) | undefined
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

const OWN_LANE = ''
const MAX_RETRY_SECONDS = 60
// the newest job counts for a fifth, so that one slow job does not raise every Retry-After to a minute
const WEIGHT_OF_NEWEST = 0.2

interface WaitingJob extends Waiting {
  start(): void
  reject(reason: unknown): void
}

/**
 * A bounded queue in front of a fixed number of concurrent jobs. When it is full, a new job displaces the last job of a
 * lane with lower priority, so one client cannot fill the queue for the others.
 */
export class JobQueue {
  readonly #waiting = new Lanes<WaitingJob>()
  readonly #jobs: number
  readonly #queue: () => number
  readonly #clock: Clock
  readonly #onWaited: (waitedMs: number) => void
  #running = 0
  #refused = 0
  #averageMs = 0

  constructor({ jobs, queue, onWaited = () => {}, clock = MONOTONIC_CLOCK }: JobQueueOptions) {
    if (!Number.isInteger(jobs) || jobs < 1) throw new RangeError('expected at least one job')
    this.#jobs = jobs
    this.#queue = queue
    this.#clock = clock
    this.#onWaited = onWaited
  }

  /**
   * Runs the job when its turn comes. Rejects with `overloaded` if too many jobs wait, with the signal's reason if it is
   * aborted before the job begins, and with what `begin` throws.
   */
  async run<T>(job: () => Promise<T>, turn: Turn = {}): Promise<T> {
    turn.signal?.throwIfAborted()
    const sinceMs = this.#clock.nowMs()
    if (this.#running < this.#jobs) this.#running += 1
    else await this.#waitForTurn(turn)
    this.#onWaited(Math.max(this.#clock.nowMs() - sinceMs, 0))
    this.#begin(turn)
    try {
      return await this.#measure(job)
    } finally {
      this.#startNext()
    }
  }

  /** Throws if the job must not run any more. Hundreds behind it may be as late, so other requests are served between. */
  #begin(turn: Turn): void {
    try {
      turn.begin?.()
    } catch (error) {
      setImmediate(() => this.#startNext())
      throw error
    }
  }

  load() {
    return { running: this.#running, waiting: this.#waiting.size() }
  }

  /** How many jobs were rejected so far because too many waited. */
  countRefused(): number {
    return this.#refused
  }

  async #measure<T>(job: () => Promise<T>): Promise<T> {
    const startMs = this.#clock.nowMs()
    try {
      return await job()
    } finally {
      const jobMs = Math.max(this.#clock.nowMs() - startMs, 0)
      this.#averageMs += (jobMs - this.#averageMs) * WEIGHT_OF_NEWEST
    }
  }

  /** Gives the place of a finished job to the next one. The place becomes free only if no job waits. */
  #startNext(): void {
    const next = this.#waiting.next(this.#clock.nowMs())
    if (next) next.start()
    else this.#running -= 1
  }

  async #waitForTurn({ signal, lane = OWN_LANE, isPreferred = () => true }: Turn): Promise<void> {
    const { promise, resolve, reject } = Promise.withResolvers<void>()
    const job = { lane, isPreferred, sinceMs: this.#clock.nowMs(), start: resolve, reject }
    this.#requireRoom(job)
    const onAbort = () => {
      this.#waiting.delete(job)
      reject(signal?.reason)
    }
    signal?.addEventListener('abort', onAbort, { once: true })
    this.#waiting.add(job)
    try {
      await promise
    } finally {
      signal?.removeEventListener('abort', onAbort)
    }
  }

  #requireRoom(job: WaitingJob): void {
    if (this.#waiting.size() < this.#queue()) return
    const displaced = this.#waiting.displaceFor(job)
    displaced?.reject(this.#overloaded())
    if (!displaced || this.#waiting.size() >= this.#queue()) throw this.#overloaded()
  }

  /** `Retry-After` is the time that the waiting jobs will take. */
  #overloaded(): Refusal {
    this.#refused += 1
    const seconds = Math.ceil(((this.#waiting.size() / this.#jobs) * this.#averageMs) / 1000)
    return new Refusal('overloaded', { retryAfterSeconds: Math.min(Math.max(seconds, 1), MAX_RETRY_SECONDS) })
  }
}
