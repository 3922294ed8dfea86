/** What happened at the doors, counted by minute and by hour for charts. */
import type { MetricOf } from './metric-table.ts'
import type { Metrics } from './metrics.ts'

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
  /** Of all processes, from this time on, the oldest first. */
  listTotals(step: Totals['step'], from: number): Promise<readonly Totals[]>
  /** Deletes those before this time. Returns how many. */
  purgeTotals(step: Totals['step'], before: number): Promise<number>
}

interface SeriesRow {
  readonly metric: MetricOf<'counter' | 'histogram'>
  /** The series that a value with these labels is part of; `undefined`: none. */
  toSeries(labels: Readonly<Record<string, string | number>>): string | undefined
}

/** Which metrics are kept, and under which names. */
const SERIES: readonly SeriesRow[] = [
  {
    metric: 'cardea_sign_ins_total',
    toSeries: ({ outcome, door, handler }) => `${outcome === 'accepted' ? 'signIns' : 'refusals'}/${door}/${handler}`,
  },
  { metric: 'cardea_requests_total', toSeries: ({ door, status }) => `requests/${door}/${status}` },
  { metric: 'cardea_decision_seconds', toSeries: ({ le }) => `decision/${le}` },
  { metric: 'cardea_upstream_seconds', toSeries: ({ le }) => `upstream/${le}` },
  {
    metric: 'cardea_sessions_revoked_total',
    toSeries: ({ what }) => (what === 'sign-out' ? 'signOuts' : 'revocations'),
  },
  { metric: 'cardea_limits_reached_total', toSeries: ({ limit }) => `lockouts/${limit}` },
]

/** All counts since the start of the process. */
export function readCounts(metrics: Pick<Metrics, 'read'>): Counts {
  const counts: Record<string, number> = {}
  for (const { metric, toSeries } of SERIES) {
    for (const { labels, value } of metrics.read(metric)) {
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
