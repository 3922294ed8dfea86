// Totals as lines of a chart. A step without totals of any process is a gap, `null`.
import { METRICS } from './metric-table.ts'
import { addCounts, type Counts, HOUR, MINUTE, type Totals } from './record-totals.ts'

export interface RangeRow {
  readonly seconds: number
  /** The totals it is made of. */
  readonly stored: Totals['step']
  /** The time from one point to the next. */
  readonly stepSeconds: number
}

/** The ranges of charts, each of at most 300 points. */
export const RANGES = {
  '1h': { seconds: HOUR, stored: MINUTE, stepSeconds: MINUTE },
  '24h': { seconds: 24 * HOUR, stored: MINUTE, stepSeconds: 5 * MINUTE },
  '7d': { seconds: 7 * 24 * HOUR, stored: HOUR, stepSeconds: HOUR },
  '30d': { seconds: 30 * 24 * HOUR, stored: HOUR, stepSeconds: 3 * HOUR },
} as const satisfies Record<string, RangeRow>

/** Listeners of Cardea's own paths have no line. */
const DOORS = ['document', 'multi-model'] as const

/** The beginning of the first step. The last one has begun and may not be over. */
export const startOf = ({ seconds, stepSeconds }: RangeRow, nowSeconds: number): number =>
  nowSeconds - (nowSeconds % stepSeconds) + stepSeconds - seconds

/** The counts of each step; `undefined`: no process has written any. */
export function toSteps(
  totals: readonly Totals[],
  { seconds, stepSeconds }: RangeRow,
  from: number,
): readonly (Counts | undefined)[] {
  const steps: (Counts | undefined)[] = Array.from({ length: seconds / stepSeconds })
  for (const { at, counts } of totals) {
    const index = Math.floor((at - from) / stepSeconds)
    if (index >= 0 && index < steps.length) steps[index] = addCounts(steps[index] ?? {}, counts)
  }
  return steps
}

/** Lines, some of them by the name of a door or credential handler. */
export function toTotalSeries(steps: readonly (Counts | undefined)[]) {
  const toLine = (read: (counts: Counts) => number | null) => steps.map((counts) => (counts ? read(counts) : null))
  const sum = (prefix: string, suffix = '') => toLine((counts) => sumOf(counts, prefix, suffix))
  const percentiles = (timing: Timing) => ({
    p50: toLine((counts) => toPercentileMs(counts, timing, 0.5)),
    p95: toLine((counts) => toPercentileMs(counts, timing, 0.95)),
  })
  const doors = (prefix: string) => Object.fromEntries(DOORS.map((door) => [door, sum(`${prefix}/${door}/`)]))
  const handlers = (prefix: string) =>
    Object.fromEntries(listHandlers(steps, prefix).map((handler) => [handler, sum(`${prefix}/`, `/${handler}`)]))
  return {
    signIns: doors('signIns'),
    signInsByHandler: handlers('signIns'),
    refusals: doors('refusals'),
    refusalsByHandler: handlers('refusals'),
    requests: doors('requests'),
    serverErrors: sum('requests/', '/5xx'),
    // the time until Cardea replied or forwarded
    latencyMs: percentiles('decision'),
    // the time until an upstream server replied
    upstreamMs: percentiles('upstream'),
    lockouts: sum('lockouts/'),
    // without sign-outs
    revokedSessions: sum('revocations'),
  }
}

export function sumOf(counts: Counts, prefix: string, suffix = ''): number {
  let sum = 0
  for (const [series, count] of Object.entries(counts))
    if (series.startsWith(prefix) && series.endsWith(suffix)) sum += count
  return sum
}

const listHandlers = (steps: readonly (Counts | undefined)[], prefix: string): readonly string[] => {
  const names = steps.flatMap((counts) => Object.keys(counts ?? {})).filter((name) => name.startsWith(`${prefix}/`))
  return [...new Set(names.map((name) => name.split('/')[2] ?? ''))].sort()
}

/**
 * The value that this fraction of the observations does not exceed, in milliseconds; `null`: there are none. As in
 * Prometheus, values are assumed to be spread evenly in their bucket. Those above all bounds count as the last bound.
 */
export function toPercentileMs(counts: Counts, timing: Timing, fraction: number): number | null {
  const buckets = listBuckets(counts, timing)
  const total = buckets.reduce((sum, { count }) => sum + count, 0)
  if (total === 0) return null
  let rank = fraction * total
  let lower = 0
  for (const { bound, count } of buckets) {
    if (count >= rank) return toMs(Number.isFinite(bound) ? lower + (bound - lower) * (rank / count) : lower)
    rank -= count
    lower = Number.isFinite(bound) ? bound : lower
  }
  return toMs(lower)
}

const BOUNDS = {
  decision: METRICS.cardea_decision_seconds.buckets,
  upstream: METRICS.cardea_upstream_seconds.buckets,
}

export type Timing = keyof typeof BOUNDS

const listBuckets = (counts: Counts, timing: Timing) => [
  ...BOUNDS[timing].map((bound) => ({ bound, count: counts[`${timing}/${bound}`] ?? 0 })),
  { bound: Number.POSITIVE_INFINITY, count: counts[`${timing}/+Inf`] ?? 0 },
]

const toMs = (seconds: number): number => Math.round(seconds * 1_000_000) / 1000
