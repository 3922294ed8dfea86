/**
 * Follows the changes that other nodes write. Every change is delivered in order and at least once, and the follower
 * knows how old its view of the store is.
 */
import type { Clock } from '../base/clock.ts'
import { Refusal } from '../base/errors.ts'
import { createWakeableSleep } from '../base/sleep.ts'
import type { Follower, FollowOptions } from '../directory/deps.ts'
import type { ChangeFeed } from '../directory/store-port/changes.ts'
import { toDelayMs } from './retry.ts'

const PAGE_SIZE = 1000
const MAX_BACK_OFF_MS = 2000

export interface FeedOptions extends FollowOptions {
  readonly pollMs?: number
  readonly clock: Clock
}

type Waiter = PromiseWithResolvers<void>

export class FeedFollower implements Follower {
  readonly #feed: ChangeFeed
  readonly #options: FeedOptions
  readonly #pause = createWakeableSleep()
  readonly #running: Promise<void>
  readonly #stopListening: () => void
  #position: number
  #lastSuccessMs: number
  #waiters: Waiter[] = []
  #isStopped = false

  constructor(feed: ChangeFeed, options: FeedOptions) {
    this.#feed = feed
    this.#options = options
    this.#position = options.from
    this.#lastSuccessMs = options.clock.nowMs()
    this.#stopListening = feed.onWake(this.#pause.wake)
    this.#running = this.#run()
  }

  stalenessMs(): number {
    return Math.max(0, this.#options.clock.nowMs() - this.#lastSuccessMs)
  }

  catchUp(): Promise<void> {
    if (this.#isStopped) return Promise.reject(stoppedError())
    const waiter: Waiter = Promise.withResolvers()
    this.#waiters.push(waiter)
    this.#pause.wake()
    return waiter.promise
  }

  async stop(): Promise<void> {
    this.#isStopped = true
    this.#stopListening()
    this.#pause.wake()
    await this.#running
    for (const waiter of this.#waiters.splice(0)) waiter.reject(stoppedError())
  }

  async #run(): Promise<void> {
    const { pollMs = 250 } = this.#options
    for (let failures = 0; !this.#isStopped; ) {
      const isSuccess = await this.#serveWaiters()
      if (isSuccess && failures > 0) this.#options.onRecovered()
      failures = isSuccess ? 0 : failures + 1
      if (!this.#isStopped) await this.#pause.sleep(failures === 0 ? pollMs : toBackOffMs(pollMs, failures))
    }
  }

  /** One poll for the callers that wait now. A later caller may have written after the poll started to read. */
  async #serveWaiters(): Promise<boolean> {
    const served = this.#waiters.splice(0)
    this.#pause.beginWork()
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
    this.#position = await deliverChanges(this.#feed, this.#position, this.#options)
    this.#lastSuccessMs = startedMs
  }
}

/** Delivers every change after `from`. Returns the new position. */
async function deliverChanges(feed: ChangeFeed, from: number, { onChange, onReset }: FeedOptions): Promise<number> {
  const latest = await feed.sequence()
  if (latest < from) {
    await onReset()
    return latest
  }
  let position = from
  while (position < latest) {
    const changes = await feed.changesSince(position, PAGE_SIZE)
    if (changes.length > 0) await onChange(changes)
    const reached = changes.at(-1)?.sequence ?? latest
    // a short page is the last one; later sequences belong to changes that were replaced or purged since
    position = changes.length < PAGE_SIZE ? Math.max(reached, latest) : reached
  }
  return position
}

const toBackOffMs = (pollMs: number, failures: number): number =>
  toDelayMs({ firstDelayMs: pollMs, maxDelayMs: Math.max(pollMs, MAX_BACK_OFF_MS) }, failures)

const stoppedError = (): Refusal => new Refusal('store_unavailable', { detail: 'the change feed is stopped' })
