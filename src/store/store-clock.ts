/**
 * The one time that all nodes of a store use for what they compare with each other's records. It has two parts:
 *
 * - the store's clock: PostgreSQL's, or with SQLite the clock of this machine. It can jump.
 * - the lived time: how far this store has come. It never goes back, and no jump takes it ahead. It follows the clock
 *   while both agree. If the clock is ahead, after a downtime or because it is wrong, the lived time passes as time does,
 *   and catches up when this has lasted as long as the difference is wide. If the clock is behind, it passes a tenth
 *   slower until both meet.
 *
 * What is issued, expires or is revoked is compared with the later of the two. What is deleted, with the lived time. So
 * what was deleted has expired for good, and nothing is deleted because a clock was wrong for a while.
 */
import { type Clock, MONOTONIC_CLOCK, renderUtcTime, type SharedClock, SYSTEM_CLOCK } from '../base/clock.ts'
import type { Log } from '../base/log.ts'
import { keepRepeating } from '../base/sleep.ts'
import type { StoreTime, TimeStore } from '../directory/store-port/time.ts'

/** Closer than this, the store's clock and the lived time agree. */
const CLOSE_MS = 5000
/** How fast the lived time passes while the clock is behind it. */
const SLOW = 0.9
const READ_EVERY_MS = 2000
/** A read that takes longer, because it waits for a connection, does not show when the server has read its clock. */
const MAX_READ_MS = 1000
const KEEP_EVERY_MS = 10_000
/** From this difference on, the log says that nothing is deleted. */
const LONG_MS = 3_600_000

export interface StoreClockOptions {
  readonly log: Log
  /** The clock of this machine. */
  readonly system?: Clock
  readonly monotonic?: Clock
}

/** Reads the time of the store once. It goes on by itself; `start` compares it with the store from time to time. */
export async function openStoreClock(store: TimeStore, options: StoreClockOptions): Promise<StoreClock> {
  const clock = new StoreClock(store, options)
  await clock.read()
  return clock
}

export class StoreClock implements SharedClock {
  readonly purge: Clock = { nowMs: () => Math.floor(this.#livedMs) }
  readonly #store: TimeStore
  readonly #log: Log
  readonly #system: Clock
  readonly #monotonic: Clock
  /** What the clock of the database server is ahead of the monotonic one; `undefined`: the clock is that of this machine. */
  #offsetMs: number | undefined
  #livedMs = 0
  #agreedMs = 0
  /** When `#livedMs` was counted, and how fast it goes on. */
  #countedAtMs: number
  #rate = 1
  #keptAtMs = Number.NEGATIVE_INFINITY
  #isWaiting = false
  #stop: () => Promise<void> = async () => {}

  constructor(store: TimeStore, { log, system = SYSTEM_CLOCK, monotonic = MONOTONIC_CLOCK }: StoreClockOptions) {
    this.#store = store
    this.#log = log
    this.#system = system
    this.#monotonic = monotonic
    this.#countedAtMs = monotonic.nowMs()
  }

  nowMs(): number {
    const clockMs = this.#clockMs()
    // as a rule the clock is not behind, and nothing has to be counted
    return Math.floor(clockMs >= this.#livedMs && this.#rate === 1 ? clockMs : Math.max(clockMs, this.#count()))
  }

  /**
   * What the clock of this machine is ahead of PostgreSQL's, or with SQLite of the store's time; negative: it is behind. A
   * lived time that a wrong clock has taken ahead of both clocks is no reason to leave the node out.
   */
  skewMs(): number {
    return this.#system.nowMs() - (this.#offsetMs === undefined ? this.nowMs() : this.#clockMs())
  }

  /** What the lived time is behind the store's clock: so much later than usual records are deleted. */
  deletionLagMs(): number {
    return Math.max(0, this.#clockMs() - this.#count())
  }

  /** Why expired records are not deleted, and until when; `undefined`: they are, or wait for less than an hour. */
  describeDeletionLag(): string | undefined {
    const lagMs = this.deletionLagMs()
    if (lagMs <= LONG_MS) return undefined
    const until = renderUtcTime(Math.ceil((this.nowMs() + lagMs - (this.#livedMs - this.#agreedMs)) / 1000))
    return `the clock of ${this.#owner} is ${renderMs(lagMs)} ahead of the time that the server has run on this store. After a downtime that is right, and expired records are deleted from ${until} on. Otherwise set the clock before then`
  }

  /** Why this node must not be used: its clock differs by more than this from the store's time. */
  findProblem(maxSkewMs: number): { readonly reason: string } | undefined {
    const skewMs = this.skewMs()
    if (Math.abs(skewMs) <= maxSkewMs) return undefined
    const owner = this.#offsetMs === undefined ? 'the latest that it has seen' : "PostgreSQL's"
    const difference = `${renderMs(Math.abs(skewMs))} ${skewMs > 0 ? 'ahead of' : 'behind'}`
    return {
      reason: `the clock of this machine is ${difference} the time of the store (${owner}). Synchronise the clocks (NTP), or see store.max-clock-skew`,
    }
  }

  get #owner(): string {
    return this.#offsetMs === undefined ? 'this machine' : 'PostgreSQL'
  }

  /** Compares the time with that of the store until it is stopped. While `isKept`, also writes it from time to time. */
  start(isKept: () => boolean): void {
    this.#stop = keepRepeating(async () => {
      await this.compare(isKept())
      return READ_EVERY_MS
    })
  }

  /** Writes the time for the last time, if it was started to do so. */
  async stop(): Promise<void> {
    await this.#stop()
    if (this.#keptAtMs > Number.NEGATIVE_INFINITY) await this.#keep().catch(() => {})
  }

  async read(): Promise<void> {
    const startMs = this.#monotonic.nowMs()
    this.#apply(await this.#store.readTime(), startMs)
  }

  /** Compares the time with that of the store, and writes it if it is due. Never rejects. */
  async compare(isKept: boolean): Promise<void> {
    const isDue = isKept && this.#monotonic.nowMs() - this.#keptAtMs >= KEEP_EVERY_MS
    // while the store cannot be reached, the time goes on without it
    await (isDue ? this.#keep() : this.read()).catch(() => this.#advance())
    this.#report()
  }

  async #keep(): Promise<void> {
    this.#advance()
    const startMs = this.#monotonic.nowMs()
    const lived = { livedMs: Math.floor(this.#livedMs), agreedMs: Math.floor(this.#agreedMs) }
    this.#apply(await this.#store.keepTime(lived), startMs)
    this.#keptAtMs = startMs
  }

  #clockMs(): number {
    return this.#offsetMs === undefined ? this.#system.nowMs() : this.#monotonic.nowMs() + this.#offsetMs
  }

  #count(): number {
    return this.#livedMs + (this.#monotonic.nowMs() - this.#countedAtMs) * this.#rate
  }

  #apply({ livedMs, agreedMs, clockMs }: StoreTime, startMs: number): void {
    const endMs = this.#monotonic.nowMs()
    const isPrecise = this.#offsetMs === undefined || endMs - startMs <= MAX_READ_MS
    // the server has read its clock about half-way
    if (clockMs !== undefined && isPrecise) this.#offsetMs = clockMs - (startMs + endMs) / 2
    if (this.#livedMs > 0) this.#advance()
    if (agreedMs > 0) {
      this.#livedMs = Math.max(this.#livedMs, livedMs)
      this.#agreedMs = Math.max(this.#agreedMs, agreedMs)
    } else if (this.#agreedMs === 0) {
      // A new store, or one of an earlier version, which knows only when it was written last. That may be a wrong time.
      this.#livedMs = livedMs === 0 ? this.#clockMs() : Math.min(livedMs, this.#clockMs())
      this.#agreedMs = this.#livedMs
    }
    this.#countedAtMs = endMs
    this.#advance()
  }

  #advance(): void {
    const nowMs = this.#monotonic.nowMs()
    const clockMs = this.#clockMs()
    const elapsedMs = nowMs - this.#countedAtMs
    const passedMs = this.#livedMs + elapsedMs
    if (clockMs < passedMs) this.#livedMs = Math.max(clockMs, this.#livedMs + elapsedMs * SLOW)
    else this.#livedMs = this.#mayFollow(clockMs, passedMs) ? clockMs : passedMs
    this.#countedAtMs = nowMs
    this.#rate = clockMs < this.#livedMs ? SLOW : 1
    if (clockMs - this.#livedMs <= CLOSE_MS) this.#agreedMs = this.#livedMs
  }

  /** Whether the clock is about right, or has been ahead for as long as it is ahead. */
  #mayFollow(clockMs: number, livedMs: number): boolean {
    const aheadMs = clockMs - livedMs
    return aheadMs <= CLOSE_MS || livedMs - this.#agreedMs >= aheadMs
  }

  /** Once for each time that deletion waits. */
  #report(): void {
    const lagMs = this.deletionLagMs()
    if (lagMs > LONG_MS && !this.#isWaiting) this.#log.warn(`nothing is deleted for now: ${this.describeDeletionLag()}`)
    if (lagMs <= CLOSE_MS && this.#isWaiting) this.#log.info('expired records are deleted again')
    this.#isWaiting = lagMs > (this.#isWaiting ? CLOSE_MS : LONG_MS)
  }
}

/** In the largest unit of which there are at least two. */
function renderMs(ms: number): string {
  const [name, unitMs] = UNITS.find(([, each]) => ms >= 2 * each) ?? ['ms', 1]
  return `${Math.floor(ms / unitMs)} ${name}`
}

const UNITS: readonly (readonly [name: string, ms: number])[] = [
  ['days', 86_400_000],
  ['hours', 3_600_000],
  ['minutes', 60_000],
  ['s', 1000],
]
