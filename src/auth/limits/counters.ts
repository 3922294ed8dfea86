/** Counters of failed attempts, by key: locks and token buckets, each in a bounded table; and what other nodes get. */
import type { Clock } from '../../base/clock.ts'
import type { Failure } from '../../directory/store-port/sign-ins.ts'

/** Part of the table that is cleared when it is full, so that sorting is rare. */
const CLEARED_PART = 16

/**
 * When the table is full, the counters with the lowest rank are removed, the oldest first. So an attacker who fills
 * the table with made-up names removes other made-up names: to reach a counter with n failures, n failures under
 * every other key are needed first, and each of them costs the attacker a password check. An LRU cache would not do.
 * `rank`: how much a counter matters now; 0: nothing is lost with it.
 */
function createTable<V>(max: () => number, rank: (value: V) => number) {
  const counters = new Map<string, V>()
  const makeRoom = () => {
    const surplus = counters.size + 1 - max()
    if (surplus <= 0) return
    const count = Math.max(surplus, Math.floor(max() / CLEARED_PART))
    const ranked = [...counters].map(([key, value]) => [key, rank(value)] as const)
    ranked.sort(([, one], [, other]) => one - other)
    for (const [key] of ranked.slice(0, count)) counters.delete(key)
  }
  return {
    get: (key: string): V | undefined => counters.get(key),
    set(key: string, value: V): void {
      if (!counters.has(key)) makeRoom()
      counters.set(key, value)
    },
    isEmpty: (): boolean => counters.size === 0,
    keysWith: (prefix: string): readonly string[] => [...counters.keys()].filter((key) => key.startsWith(prefix)),
    delete: (key: string): void => void counters.delete(key),
  }
}

interface CounterOptions<S> {
  settings(): S
  readonly max: () => number
  readonly clock: Clock
}

type Table = Pick<ReturnType<typeof createTable>, 'keysWith' | 'delete'>

/**
 * What locks and buckets do with all keys that begin alike. `waitMs`: the milliseconds until an attempt is allowed again;
 * 0: it is allowed now.
 */
const createPrefixOperations = (table: Table, waitMs: (key: string) => number) => ({
  /** The keys with this beginning that have to wait, and the longest wait. */
  findWaits(prefix: string) {
    const keys = table.keysWith(prefix).filter((key) => waitMs(key) > 0)
    return { keys, ms: keys.reduce((longest, key) => Math.max(longest, waitMs(key)), 0) }
  },
  /** All keys that have to wait. */
  listWaiting: (): readonly string[] => table.keysWith('').filter((key) => waitMs(key) > 0),
  /** Forgets all failures of the keys with this beginning. */
  forget(prefix: string): void {
    for (const key of table.keysWith(prefix)) table.delete(key)
  },
})

export interface LockSettings {
  readonly mode: 'enforce' | 'warn' | 'off'
  /** The number of failures that locks. */
  readonly threshold: number
  /** How long failures count, from the first on. */
  readonly lifetimeMs: number
}

interface LockCount {
  readonly failures: number
  readonly sinceMs: number
}

export type Locks = ReturnType<typeof createLocks>

/** Locks a key for a while after too many failures. A success does not end a lock. */
export function createLocks({ settings, max, clock }: CounterOptions<LockSettings>) {
  const isCounted = ({ sinceMs }: LockCount) => clock.nowMs() - sinceMs < settings().lifetimeMs
  const counts = createTable<LockCount>(max, (count) => (isCounted(count) ? count.failures : 0))
  const findCount = (key: string): LockCount | undefined => {
    const count = counts.get(key)
    return count && isCounted(count) ? count : undefined
  }
  const waitMs = (key: string): number => {
    const { mode, threshold, lifetimeMs } = settings()
    const count = mode === 'enforce' ? findCount(key) : undefined
    return count && count.failures >= threshold ? count.sinceMs + lifetimeMs - clock.nowMs() : 0
  }
  return {
    isEmpty: counts.isEmpty,
    waitMs,
    ...createPrefixOperations(counts, waitMs),
    /** Whether the last failure would have locked the key in mode `enforce`. For mode `warn`. */
    isOverlooked: (key: string): boolean =>
      settings().mode === 'warn' && findCount(key)?.failures === settings().threshold,
    /** `atMs` may be in the past, for failures at another node. A negative count takes back what was counted. */
    addFailures(key: string, count: number, atMs: number): void {
      if (settings().mode === 'off') return
      const { failures, sinceMs } = findCount(key) ?? { failures: 0, sinceMs: atMs }
      counts.set(key, { failures: Math.max(failures + count, 0), sinceMs })
    },
  }
}

export interface BucketSettings {
  /** Failures allowed at once; 0 switches the limit off. */
  readonly burst: number
  /** Failures forgiven per minute. */
  readonly refillPerMinute: number
}

const MINUTE_MS = 60_000

/** One token bucket per key. Only failures take a token. */
export function createBuckets({ settings, max, clock }: CounterOptions<BucketSettings>) {
  // when all failures of the key will be forgiven, by a clock that may begin at 0
  const buckets = createTable<number>(max, (fullAtMs) => fullAtMs)
  const tokenMs = () => MINUTE_MS / settings().refillPerMinute
  const fullAt = (key: string): number => buckets.get(key) ?? Number.NEGATIVE_INFINITY
  const debtMs = (key: string): number => Math.max(fullAt(key) - clock.nowMs(), 0)
  const waitMs = (key: string): number => {
    const { burst } = settings()
    return burst === 0 ? 0 : Math.max(debtMs(key) - (burst - 1) * tokenMs(), 0)
  }
  return {
    waitMs,
    isEmpty: buckets.isEmpty,
    ...createPrefixOperations(buckets, waitMs),
    /** Whether the key has failures that are not forgiven yet. */
    hasFailures: (key: string): boolean => debtMs(key) > 0,
    addFailures(key: string, count: number, atMs: number): void {
      const fullAtMs = Math.max(fullAt(key), atMs) + count * tokenMs()
      // parallel attempts may fail together; the debt is never more than the whole bucket
      const maxFullAtMs = clock.nowMs() + Math.max(settings().burst, 1) * tokenMs()
      buckets.set(key, Math.min(fullAtMs, maxFullAtMs))
    },
  }
}

const MAX_BATCH = 1000
/** While the store is unreachable and the outbox is full, further failures count on this node only. */
const MAX_WAITING = 10_000

/** Failures of this node that the others do not know yet. */
export type Outbox = ReturnType<typeof createOutbox>

export function createOutbox() {
  const waiting = new Map<string, Failure>()
  const add = (failure: Failure): void => {
    const id = `${failure.counter} ${failure.key}`
    const known = waiting.get(id)
    if (known || waiting.size < MAX_WAITING) waiting.set(id, { ...failure, count: (known?.count ?? 0) + failure.count })
  }
  return {
    add,
    /** Drops the waiting failures of these keys, and tells the other nodes to forget theirs. */
    lift(counter: Failure['counter'], prefix: string): void {
      for (const [id, failure] of waiting)
        if (failure.counter === counter && failure.key.startsWith(prefix)) waiting.delete(id)
      waiting.set(`${counter} ${prefix}`, { counter, key: prefix, count: 0 })
    },
    /** Takes up to a batch of this node's failures that the others do not know yet. */
    take(): readonly Failure[] {
      const batch = [...waiting].slice(0, MAX_BATCH)
      for (const [id] of batch) waiting.delete(id)
      return batch.map(([, failure]) => failure)
    },
    /** Puts back what could not be shared. */
    putBack: (failures: readonly Failure[]): void => failures.forEach(add),
  }
}
