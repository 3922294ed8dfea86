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

export interface TotalsRecorderDeps {
  readonly metrics: Pick<Metrics, 'read'>
  readonly store: TotalsStore
  readonly clock: Clock
  /** Identifies this start of the process. */
  readonly instance: string
}

/** Writes the totals of this process, once a minute and never on behalf of a request of a client. */
export interface TotalsRecorder {
  /** Counts and writes what happened so far. Rejects if the store cannot be written; the counts are kept. */
  flush(): Promise<void>
  /** Stops, and writes what happened so far if the store can be written. */
  stop(): Promise<void>
}

/** How long totals are kept, in seconds. Longer ranges are shown by the hour. */
const KEPT: ReadonlyMap<Totals['step'], number> = new Map([
  [MINUTE, 2 * 86_400],
  [HOUR, 30 * 86_400],
])

/** While the store cannot be written, this many totals wait. The oldest are dropped first. */
const MAX_WAITING = 240

export function createTotalsRecorder(deps: TotalsRecorderDeps): TotalsRecorder {
  const recorder = new MinuteRecorder(deps)
  let timer: NodeJS.Timeout
  const schedule = () => {
    const toNextMinuteMs = MINUTE * 1000 - (deps.clock.nowMs() % (MINUTE * 1000))
    timer = setTimeout(() => {
      schedule()
      // the store logs that it is unreachable
      recorder.flush().catch(() => {})
    }, toNextMinuteMs).unref()
  }
  schedule()
  return {
    flush: () => recorder.flush(),
    async stop() {
      clearTimeout(timer)
      await recorder.flush().catch(() => {})
    },
  }
}

class MinuteRecorder {
  readonly #deps: TotalsRecorderDeps
  /** The totals that may still grow, by step. */
  readonly #open = new Map<Totals['step'], Totals>()
  readonly #waiting = new Map<string, Totals>()
  #counted: Counts
  #countedAt: number
  #purgedAt = 0
  #writing: Promise<void> = Promise.resolve()

  constructor(deps: TotalsRecorderDeps) {
    this.#deps = deps
    this.#counted = readCounts(deps.metrics)
    this.#countedAt = nowSeconds(deps.clock)
  }

  flush(): Promise<void> {
    this.#count()
    this.#writing = this.#writing.catch(() => {}).then(() => this.#write())
    return this.#writing
  }

  /** What happened since the last call counts for the minute of that call. */
  #count(): void {
    const all = readCounts(this.#deps.metrics)
    const counts = subtractCounts(all, this.#counted)
    for (const step of KEPT.keys()) this.#add(step, counts)
    this.#counted = all
    this.#countedAt = nowSeconds(this.#deps.clock)
  }

  #add(step: Totals['step'], counts: Counts): void {
    const at = this.#countedAt - (this.#countedAt % step)
    const open = this.#open.get(step)
    const earlier = open?.at === at ? open.counts : {}
    const totals = { step, at, instance: this.#deps.instance, counts: addCounts(earlier, counts) }
    this.#open.set(step, totals)
    this.#waiting.set(`${step} ${at}`, totals)
    const [oldest] = this.#waiting.keys()
    if (this.#waiting.size > MAX_WAITING && oldest !== undefined) this.#waiting.delete(oldest)
  }

  async #write(): Promise<void> {
    const batch = [...this.#waiting]
    await this.#deps.store.putTotals(batch.map(([, totals]) => totals))
    for (const [key, totals] of batch) if (this.#waiting.get(key) === totals) this.#waiting.delete(key)
    await this.#purge()
  }

  async #purge(): Promise<void> {
    const now = nowSeconds(this.#deps.clock)
    if (now - this.#purgedAt < HOUR) return
    this.#purgedAt = now
    for (const [step, seconds] of KEPT) await this.#deps.store.purgeTotals(step, now - seconds)
  }
}
