import type { Clock } from '../../base/clock.ts'
import { createCounters } from './counters.ts'

export interface BucketSettings {
  /** Failures allowed at once; 0 switches the limit off. */
  readonly burst: number
  /** Failures forgiven per minute. */
  readonly refillPerMinute: number
}

export interface BucketsOptions {
  settings(): BucketSettings
  readonly max: () => number
  readonly clock: Clock
}

/** One token bucket per key. Only failures take a token. */
export interface Buckets {
  /** Milliseconds until the key has a token again; 0: it has one. */
  waitMs(key: string): number
  /** Whether the key has failures that are not forgiven yet. */
  hasFailures(key: string): boolean
  isEmpty(): boolean
  /** Failures at a time that may lie in the past, as those of another node. */
  addFailures(key: string, count: number, atMs: number): void
}

interface Bucket {
  /** When all its failures will be forgiven. */
  readonly fullAtMs: number
}

const MINUTE_MS = 60_000

export function createBuckets({ settings, max, clock }: BucketsOptions): Buckets {
  const buckets = createCounters<Bucket>({ max, rank: ({ fullAtMs }) => fullAtMs })
  const tokenMs = () => MINUTE_MS / settings().refillPerMinute
  const debtMs = (key: string): number => {
    const bucket = buckets.get(key)
    return bucket ? Math.max(bucket.fullAtMs - clock.nowMs(), 0) : 0
  }
  return {
    waitMs(key) {
      const { burst } = settings()
      return burst === 0 ? 0 : Math.max(debtMs(key) - (burst - 1) * tokenMs(), 0)
    },
    isEmpty: buckets.isEmpty,
    hasFailures: (key) => debtMs(key) > 0,
    addFailures(key, count, atMs) {
      const fullAtMs = Math.max(buckets.get(key)?.fullAtMs ?? 0, atMs) + count * tokenMs()
      // checks that ran side by side may fail together; the debt is never more than the whole bucket
      const mostMs = clock.nowMs() + Math.max(settings().burst, 1) * tokenMs()
      buckets.set(key, { fullAtMs: Math.min(fullAtMs, mostMs) })
    },
  }
}
