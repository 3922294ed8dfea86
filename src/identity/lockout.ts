import type { Clock } from '../base/clock.ts'
import { frame } from '../base/encoding.ts'
import { type Log, SILENT_LOG } from '../base/log.ts'
import { createLiveCache } from './live-cache.ts'
import { digestHex } from './password/password-digest.ts'

export interface LockoutOptions {
  readonly mode: () => 'enforce' | 'warn' | 'off'
  /** From how many failures on an account is locked. */
  readonly threshold: () => number
  readonly maxObjects: () => number
  /** How long a count lives after its first failure. */
  readonly maxLifetimeMs: () => number
  readonly clock: Clock
  readonly log?: Log
}

/** Whose failures are counted together. A new salt, so a new password, starts afresh; a name nobody has has none. */
export interface LockoutKey {
  readonly peer: string
  readonly name: string
  readonly salt?: string
}

export interface Lockout {
  /**
   * Ask before a password is verified, and again when it was: guesses sent side by side all pass the first question,
   * and only the second keeps a right one among them from being told apart.
   */
  isLocked(key: LockoutKey): boolean
  countFailure(key: LockoutKey): void
}

interface Count {
  readonly failures: number
  readonly sinceMs: number
}

/** Counts failed passwords in memory. A success does not reset a count: it ends by time alone. */
export function createLockout(options: LockoutOptions): Lockout {
  const { mode, threshold, clock, log = SILENT_LOG } = options
  const counts = createLiveCache<Count>(options.maxObjects)

  const findCount = (id: string): Count | undefined => {
    const count = counts.get(id)
    return count && clock.nowMs() - count.sinceMs < options.maxLifetimeMs() ? count : undefined
  }

  const isLocked = (key: LockoutKey): boolean => {
    // nobody has failed lately: the digest is saved on every request of everybody
    if (counts.isEmpty() || mode() === 'off') return false
    const count = findCount(toId(key))
    if (!count || count.failures < threshold()) return false
    if (mode() === 'enforce') return true
    log.warn('account would be locked after too many failures', { name: key.name, peer: key.peer })
    return false
  }

  const countFailure = (key: LockoutKey): void => {
    if (mode() === 'off') return
    const id = toId(key)
    const { failures, sinceMs } = findCount(id) ?? { failures: 0, sinceMs: clock.nowMs() }
    counts.set(id, { failures: failures + 1, sinceMs })
  }

  return { isLocked, countFailure }
}

// a digest, so that names as long as a request allows do not fill the memory
const toId = ({ peer, name, salt = '' }: LockoutKey): string => digestHex('sha256', frame([peer, name, salt]))
