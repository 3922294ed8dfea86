/**
 * Follows the changes that other nodes write. Every change is delivered in order and at least once, and the follower
 * knows how old its view of the store is.
 */
import type { Clock } from '../base/clock.ts'
import { Refusal } from '../base/errors.ts'
import { createWakeableSleep } from '../base/sleep.ts'
import type { Follower, FollowOptions } from '../directory/deps.ts'
import type { ChangeFeed, Position } from '../directory/store-port/changes.ts'
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
  #position: Position
  /** The mark of what else was read, when it was last found in the history of the store. */
  #checkedMark = ''
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

  sequence(): number {
    return this.#position.sequence
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
    while (!(await this.#deliverPage())) {}
    this.#lastSuccessMs = startedMs
  }

  /** Returns whether it was the last page. */
  async #deliverPage(): Promise<boolean> {
    const { onChange, onReset } = this.#options
    const alsoRead = this.#findUnchecked()
    const { isKnown, changes, head } = await this.#feed.changesSince(this.#position, PAGE_SIZE, alsoRead)
    if (!isKnown) {
      // if the next step fails, the next poll begins with it again
      this.#position = NOWHERE
      await onReset()
      this.#position = head
      this.#checkedMark = this.#options.alsoRead().mark
      return true
    }
    if (alsoRead) this.#checkedMark = alsoRead.mark
    if (changes.length > 0) await onChange(changes)
    const last = changes.length < PAGE_SIZE ? undefined : changes.at(-1)
    // a short page is the last one; later sequences belong to changes that were replaced or purged since
    this.#position = { sequence: last?.sequence ?? head.sequence, mark: head.mark }
    return last === undefined
  }

  /** What else was read, unless the history that is followed certainly contains it. */
  #findUnchecked(): Position | undefined {
    const alsoRead = this.#options.alsoRead()
    const isCovered = alsoRead.mark === this.#checkedMark && alsoRead.sequence <= this.#position.sequence
    return isCovered ? undefined : alsoRead
  }
}

/** No history has its mark. */
const NOWHERE: Position = Object.freeze({ sequence: 0, mark: '' })

const toBackOffMs = (pollMs: number, failures: number): number =>
  toDelayMs({ firstDelayMs: pollMs, maxDelayMs: Math.max(pollMs, MAX_BACK_OFF_MS) }, failures)

const stoppedError = (): Refusal => new Refusal('store_unavailable', { detail: 'the change feed is stopped' })
