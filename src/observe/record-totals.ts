import { type Clock, nowSeconds } from '../base/clock.ts'
import type { Metrics } from './metrics.ts'
import {
  addCounts,
  type Counts,
  HOUR,
  MINUTE,
  readCounts,
  subtractCounts,
  type Totals,
  type TotalsStore,
} from './totals.ts'

/** How long totals are kept, in seconds. Longer ranges are shown by the hour. */
const KEPT: ReadonlyMap<Totals['step'], number> = new Map([
  [MINUTE, 2 * 86_400],
  [HOUR, 30 * 86_400],
])

/** While the store cannot be written, this many totals wait. The oldest are dropped first. */
const MAX_WAITING = 240

/** Writes the totals of this process, once a minute and never on behalf of a request of a client. */
export class TotalsRecorder {
  readonly #metrics: Pick<Metrics, 'read'>
  readonly #store: TotalsStore
  readonly #clock: Clock
  readonly #instance: string
  /** The totals that may still grow, by step. */
  readonly #open = new Map<Totals['step'], Totals>()
  readonly #waiting = new Map<string, Totals>()
  #counted: Counts
  #countedAt: number
  #purgedAt = 0
  #writing: Promise<void> = Promise.resolve()
  #timer: NodeJS.Timeout | undefined

  /** `instance` identifies this start of the process. */
  constructor(metrics: Pick<Metrics, 'read'>, store: TotalsStore, clock: Clock, instance: string) {
    this.#metrics = metrics
    this.#store = store
    this.#clock = clock
    this.#instance = instance
    this.#counted = readCounts(metrics)
    this.#countedAt = nowSeconds(clock)
    this.#schedule()
  }

  /** Counts and writes what happened so far. Rejects if the store cannot be written; the counts are kept. */
  flush(): Promise<void> {
    this.#count()
    this.#writing = this.#writing.catch(() => {}).then(() => this.#write())
    return this.#writing
  }

  /** Stops, and writes what happened so far if the store can be written. */
  async stop(): Promise<void> {
    clearTimeout(this.#timer)
    await this.flush().catch(() => {})
  }

  #schedule(): void {
    const toNextMinuteMs = MINUTE * 1000 - (this.#clock.nowMs() % (MINUTE * 1000))
    this.#timer = setTimeout(() => {
      this.#schedule()
      // the store logs that it is unreachable
      this.flush().catch(() => {})
    }, toNextMinuteMs).unref()
  }

  /** What happened since the last call counts for the minute of that call. */
  #count(): void {
    const all = readCounts(this.#metrics)
    const counts = subtractCounts(all, this.#counted)
    for (const step of KEPT.keys()) this.#add(step, counts)
    this.#counted = all
    this.#countedAt = nowSeconds(this.#clock)
  }

  #add(step: Totals['step'], counts: Counts): void {
    const at = this.#countedAt - (this.#countedAt % step)
    const open = this.#open.get(step)
    const earlier = open?.at === at ? open.counts : {}
    const totals = { step, at, instance: this.#instance, counts: addCounts(earlier, counts) }
    this.#open.set(step, totals)
    this.#waiting.set(`${step} ${at}`, totals)
    const [oldest] = this.#waiting.keys()
    if (this.#waiting.size > MAX_WAITING && oldest !== undefined) this.#waiting.delete(oldest)
  }

  async #write(): Promise<void> {
    const batch = [...this.#waiting]
    await this.#store.putTotals(batch.map(([, totals]) => totals))
    for (const [key, totals] of batch) if (this.#waiting.get(key) === totals) this.#waiting.delete(key)
    await this.#purge()
  }

  async #purge(): Promise<void> {
    const now = nowSeconds(this.#clock)
    if (now - this.#purgedAt < HOUR) return
    this.#purgedAt = now
    for (const [step, seconds] of KEPT) await this.#store.purgeTotals(step, now - seconds)
  }
}
