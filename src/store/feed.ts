/**
 * Follows what others write. Sequences enter, changes leave in their order, each at least once; a change is never
 * passed over, and whoever asks is told how old the knowledge is.
 */
import type { Clock } from '../base/clock.ts'
import { Refusal } from '../base/errors.ts'
import type { Change, ChangeFeed } from '../directory/store-port.ts'
import { delayMsOf } from './retry.ts'
import { createNap } from './sleep.ts'

const MAX_AT_ONCE = 1000
const MAX_BACK_OFF_MS = 2000

export interface FollowOptions {
  /** The change up to which everything is known already. */
  readonly from: number
  readonly pollMs?: number
  /** Is told again, with what came meanwhile, if it fails. */
  readonly onChange: (changes: readonly Change[]) => void | Promise<void>
  /** The store has gone back behind what was known, as when a copy was restored: nothing known holds any longer. */
  readonly onReset: () => void | Promise<void>
  /** A poll failed. Must not throw. */
  readonly onStale: (failure: StaleFailure) => void
  /** The first good poll after one that failed. Must not throw. */
  readonly onRecovered?: () => void
  readonly clock: Clock
}

export interface StaleFailure {
  readonly error: unknown
  /** Since the last good poll. */
  readonly ageMs: number
}

export interface Follower {
  /** The change up to which everything has been told. */
  position(): number
  /** Age of what is known: time since the beginning of the last good poll. Grows too while the store is silent. */
  stalenessMs(): number
  /** Answers when all that was written before this call has been told. Throws what kept it from being told. */
  catchUp(): Promise<void>
  stop(): Promise<void>
}

export const followChanges = (feed: ChangeFeed, options: FollowOptions): Follower => new FeedFollower(feed, options)

type Waiter = PromiseWithResolvers<void>

class FeedFollower implements Follower {
  readonly #feed: ChangeFeed
  readonly #options: FollowOptions
  readonly #nap = createNap()
  readonly #running: Promise<void>
  readonly #endOfWake: () => void
  #position: number
  #lastGoodMs: number
  #waiters: Waiter[] = []
  #isStopped = false

  constructor(feed: ChangeFeed, options: FollowOptions) {
    this.#feed = feed
    this.#options = options
    this.#position = options.from
    this.#lastGoodMs = options.clock.nowMs()
    this.#endOfWake = feed.onWake(this.#nap.wake)
    this.#running = this.#run()
  }

  position(): number {
    return this.#position
  }

  stalenessMs(): number {
    return Math.max(0, this.#options.clock.nowMs() - this.#lastGoodMs)
  }

  catchUp(): Promise<void> {
    if (this.#isStopped) return Promise.reject(stopped())
    const waiter: Waiter = Promise.withResolvers()
    this.#waiters.push(waiter)
    this.#nap.wake()
    return waiter.promise
  }

  async stop(): Promise<void> {
    this.#isStopped = true
    this.#endOfWake()
    this.#nap.wake()
    await this.#running
    for (const waiter of this.#waiters.splice(0)) waiter.reject(stopped())
  }

  async #run(): Promise<void> {
    const { pollMs = 250 } = this.#options
    for (let failures = 0; !this.#isStopped; ) {
      const isGood = await this.#serve()
      if (isGood && failures > 0) this.#options.onRecovered?.()
      failures = isGood ? 0 : failures + 1
      if (!this.#isStopped) await this.#nap.sleep(failures === 0 ? pollMs : backOffMs(pollMs, failures))
    }
  }

  /** One poll, for whoever waits by now: who comes later may have written after it began to read. */
  async #serve(): Promise<boolean> {
    const served = this.#waiters.splice(0)
    this.#nap.begin()
    try {
      await this.#poll()
      for (const waiter of served) waiter.resolve()
      return true
    } catch (error) {
      this.#options.onStale({ error, ageMs: this.stalenessMs() })
      for (const waiter of served) waiter.reject(error)
      return false
    }
  }

  async #poll(): Promise<void> {
    const startedMs = this.#options.clock.nowMs()
    this.#position = await advance(this.#feed, this.#position, this.#options)
    this.#lastGoodMs = startedMs
  }
}

/** Tells everything between the position and the latest change; gives the new position. */
async function advance(feed: ChangeFeed, from: number, { onChange, onReset }: FollowOptions): Promise<number> {
  const latest = await feed.sequence()
  if (latest < from) {
    await onReset()
    return latest
  }
  let position = from
  while (position < latest) {
    const changes = await feed.changesSince(position, MAX_AT_ONCE)
    if (changes.length > 0) await onChange(changes)
    const reached = changes.at(-1)?.sequence ?? latest
    // a short page holds all there is; what the sequence counts beyond has been replaced or purged since
    position = changes.length < MAX_AT_ONCE ? Math.max(reached, latest) : reached
  }
  return position
}

const backOffMs = (pollMs: number, failures: number): number =>
  delayMsOf({ firstDelayMs: pollMs, mostDelayMs: Math.max(pollMs, MAX_BACK_OFF_MS) }, failures)

const stopped = (): Refusal => new Refusal('store_unavailable', { detail: 'nobody follows the changes any longer' })
