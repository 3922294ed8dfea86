import type { Clock } from '../../base/clock.ts'
import type { Guess } from './guess.ts'

/** Which locks this node has reported, and when each of them ends. */
export interface LockEnds {
  note(guess: Guess, ms: number): void
  /** For an account whose limits were lifted. */
  forget(name: string): void
  /** Calls `onEnded` for each lock that is over by now. */
  report(): void
}

export interface LockEndsDeps {
  /** For how long the name is still locked for this peer; 0: it is not. */
  lockedMs(guess: Guess): number
  onEnded(guess: Guess): void
  readonly clock: Clock
}

/** Failed sign-ins cost a client nothing, so the number is bounded. The ends of further locks are not reported. */
const MAX_LOCKS = 1000

export function createLockEnds({ lockedMs, onEnded, clock }: LockEndsDeps): LockEnds {
  const locks = new Map<string, { readonly guess: Guess; endsAtMs: number }>()
  return {
    note(guess, ms) {
      const key = `${guess.peer} ${guess.name}`
      if (locks.size < MAX_LOCKS || locks.has(key)) locks.set(key, { guess, endsAtMs: clock.nowMs() + ms })
    },
    forget(name) {
      for (const [key, { guess }] of locks) if (guess.name === name) locks.delete(key)
    },
    report() {
      for (const [key, lock] of locks) {
        if (lock.endsAtMs > clock.nowMs()) continue
        // further failures, also on other nodes, may have extended it
        const ms = lockedMs(lock.guess)
        lock.endsAtMs = clock.nowMs() + ms
        if (ms > 0) continue
        locks.delete(key)
        onEnded(lock.guess)
      }
    },
  }
}
