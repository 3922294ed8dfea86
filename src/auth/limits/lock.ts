import type { Clock } from '../../base/clock.ts'
import { createCounters } from './counters.ts'

export interface LockSettings {
  readonly mode: 'enforce' | 'warn' | 'off'
  /** The number of failures that locks. */
  readonly threshold: number
  /** How long failures count, from the first on. */
  readonly lifetimeMs: number
}

export interface LocksOptions {
  settings(): LockSettings
  readonly max: () => number
  readonly clock: Clock
}

/** Locks a key for a while after too many failures. A success does not end a lock. */
export interface Locks {
  /** Milliseconds until the key is not locked any more; 0: it is not. */
  waitMs(key: string): number
  /** Whether the last failure would have locked the key, were it not for the mode `warn`. */
  isOverlooked(key: string): boolean
  isEmpty(): boolean
  addFailures(key: string, count: number, atMs: number): void
}

interface Count {
  readonly failures: number
  readonly sinceMs: number
}

export function createLocks({ settings, max, clock }: LocksOptions): Locks {
  const isLive = ({ sinceMs }: Count) => clock.nowMs() - sinceMs < settings().lifetimeMs
  const counts = createCounters<Count>({ max, rank: (count) => (isLive(count) ? count.failures : 0) })
  const findCount = (key: string): Count | undefined => {
    const count = counts.get(key)
    return count && isLive(count) ? count : undefined
  }
  return {
    isEmpty: counts.isEmpty,
    waitMs(key) {
      const { mode, threshold, lifetimeMs } = settings()
      const count = mode === 'enforce' ? findCount(key) : undefined
      return count && count.failures >= threshold ? count.sinceMs + lifetimeMs - clock.nowMs() : 0
    },
    isOverlooked: (key) => settings().mode === 'warn' && findCount(key)?.failures === settings().threshold,
    addFailures(key, count, atMs) {
      if (settings().mode === 'off') return
      const { failures, sinceMs } = findCount(key) ?? { failures: 0, sinceMs: atMs }
      counts.set(key, { failures: failures + count, sinceMs })
    },
  }
}
