// What happened at the doors, counted by minute and by hour for charts.
import { randomUUID } from 'node:crypto'
import { type Clock, nowSeconds } from '../base/clock.ts'
import { createTurns } from '../base/turns.ts'
import type { MetricOf } from './metric-table.ts'
import { type Metrics, type MetricsCopy, readCopy } from './metrics.ts'

export const MINUTE = 60
export const HOUR = 3600

/** The counts of one process in a minute or an hour. */
export interface Totals {
  readonly step: typeof MINUTE | typeof HOUR
  /** The beginning, in seconds since the epoch. */
  readonly at: number
  /** Identifies one start of the process. */
  readonly instance: string
  readonly counts: Counts
}

/** Counts by series, without those that are zero. */
export type Counts = Readonly<Record<string, number>>

/** At most this many are read. If there are more, the oldest are left out. */
export const MAX_LISTED_TOTALS = 20_000

export interface TotalsStore {
  /** Replaces what was written for the same step, time and instance. Does not count as a change of the directory. */
  putTotals(totals: readonly Totals[]): Promise<void>
  /** The totals of all processes, from this time on, the oldest first. */
  listTotals(step: Totals['step'], from: number): Promise<readonly Totals[]>
  /** Deletes those before this time. Returns how many. */
  purgeTotals(step: Totals['step'], before: number): Promise<number>
}

interface SeriesRow {
  readonly metric: MetricOf<'counter' | 'histogram'>
  /** The series that a value with these labels is part of; `undefined`: none. */
  toSeries(labels: Readonly<Record<string, string | number>>): string | undefined
}

const PROBES: ReadonlySet<string | number | undefined> = new Set([
  '/_up',
  '/_cardea/ready',
  '/_admin/server/availability',
])

/** Load balancers ask here whether to send requests. A status of 5xx says no, and is not a failure. */
export const isProbe = (route: string | number | undefined): boolean => PROBES.has(route)

/** Which metrics are kept, and under which names. */
const SERIES: readonly SeriesRow[] = [
  {
    metric: 'cardea_sign_ins_total',
    toSeries: ({ outcome, door, handler }) => `${outcome === 'accepted' ? 'signIns' : 'refusals'}/${door}/${handler}`,
  },
  {
    metric: 'cardea_requests_total',
    toSeries: ({ door, route, status }) => `requests/${door}/${isProbe(route) ? 'probe' : status}`,
  },
  { metric: 'cardea_decision_seconds', toSeries: ({ le }) => `decision/${le}` },
  { metric: 'cardea_upstream_seconds', toSeries: ({ le }) => `upstream/${le}` },
  {
    metric: 'cardea_sessions_revoked_total',
    toSeries: ({ what }) => (what === 'sign-out' ? 'signOuts' : 'revocations'),
  },
  { metric: 'cardea_limits_reached_total', toSeries: ({ limit }) => `lockouts/${limit}` },
]

/** The metrics that `readCounts` reads. */
export const COUNTED = SERIES.map(({ metric }) => metric)

export function readCounts(copy: MetricsCopy): Counts {
  const counts: Record<string, number> = {}
  for (const { metric, toSeries } of SERIES) {
    for (const { labels, value } of readCopy(copy, metric)) {
      const series = value === 0 ? undefined : toSeries(labels)
      if (series !== undefined) counts[series] = (counts[series] ?? 0) + value
    }
  }
  return counts
}

export function addCounts(one: Counts, other: Counts): Counts {
  const sum: Record<string, number> = { ...one }
  for (const [series, count] of Object.entries(other)) sum[series] = (sum[series] ?? 0) + count
  return sum
}

export function subtractCounts(later: Counts, earlier: Counts): Counts {
  const grown = Object.entries(later).map(([series, count]) => [series, count - (earlier[series] ?? 0)] as const)
  return Object.fromEntries(grown.filter(([, count]) => count > 0))
}

/** How long totals are kept, in seconds. Longer ranges are shown by the hour. */
const KEPT: ReadonlyMap<Totals['step'], number> = new Map([
  [MINUTE, 2 * 86_400],
  [HOUR, 30 * 86_400],
])

/** While the store cannot be written, this many totals wait. The oldest are dropped first. */
const MAX_WAITING = 240

/** Writes the totals of this process, once a minute and never on behalf of a request of a client. */
export class TotalsRecorder {
  readonly #metrics: Pick<Metrics, 'copy'>
  readonly #store: TotalsStore
  readonly #clock: Clock
  readonly #isFirst: () => boolean
  readonly #instance = randomUUID()
  /** The totals that may still grow, by step. */
  readonly #open = new Map<Totals['step'], Totals>()
  readonly #waiting = new Map<string, Totals>()
  #counted: Counts
  #countedAt: number
  #purgedAt = 0
  readonly #inTurn = createTurns()
  #timer: NodeJS.Timeout | undefined

  /** `isFirst`: whether this process deletes old totals for all processes of the server. */
  constructor(metrics: Pick<Metrics, 'copy'>, store: TotalsStore, clock: Clock, isFirst: () => boolean) {
    this.#metrics = metrics
    this.#store = store
    this.#clock = clock
    this.#isFirst = isFirst
    this.#counted = readCounts(metrics.copy(COUNTED))
    this.#countedAt = nowSeconds(clock)
    this.#schedule()
  }

  /** Counts and writes what happened so far. Rejects if the store cannot be written; the counts are kept. */
  flush(): Promise<void> {
    this.#count()
    return this.#inTurn(() => this.#write())
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
    const all = readCounts(this.#metrics.copy(COUNTED))
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
    if (now - this.#purgedAt < HOUR || !this.#isFirst()) return
    this.#purgedAt = now
    for (const [step, seconds] of KEPT) await this.#store.purgeTotals(step, now - seconds)
  }
}
