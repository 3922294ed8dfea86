/** What the limits remember beside their counters: clients that are known, names that failed, locks that were reported. */
import { createLiveCache } from '../../base/caches.ts'
import type { Clock } from '../../base/clock.ts'
import type { Failure } from '../../directory/store-port/sign-ins.ts'
import type { Guess } from './guess.ts'

const LIFETIME_MS = 24 * 60 * 60 * 1000
/** Every request with a password proves it again. */
const MS_BETWEEN_NOTES = 60_000
/** One account must not use up the memory of all. */
const MAX_PEERS_PER_NAME = 16

export type KnownPeers = ReturnType<typeof createKnownPeers>

/**
 * Peers that proved the password of an account. They can still sign in while others attack the account. `version` is that
 * of the stored password.
 */
export function createKnownPeers(max: () => number, clock: Clock) {
  const names = createLiveCache<{ readonly version: string; readonly atMs: Map<string, number> }>(max)
  return {
    isKnown(name: string, version: string, peer: string): boolean {
      const proofs = names.get(name)
      const atMs = proofs?.version === version ? proofs.atMs.get(peer) : undefined
      return atMs !== undefined && clock.nowMs() - atMs < LIFETIME_MS
    },
    /** `false`: it was remembered a short time ago. */
    remember(name: string, version: string, peer: string): boolean {
      const known = names.get(name)
      const proofs = known?.version === version ? known : { version, atMs: new Map<string, number>() }
      if (proofs !== known) names.set(name, proofs)
      if (clock.nowMs() - (proofs.atMs.get(peer) ?? Number.NEGATIVE_INFINITY) < MS_BETWEEN_NOTES) return false
      // deleted first, so that the map stays in the order of use
      proofs.atMs.delete(peer)
      proofs.atMs.set(peer, clock.nowMs())
      const [oldest] = proofs.atMs.keys()
      if (proofs.atMs.size > MAX_PEERS_PER_NAME && oldest !== undefined) proofs.atMs.delete(oldest)
      return true
    },
    forget: (name: string, peer: string): void => void names.get(name)?.atMs.delete(peer),
  }
}

const MAX_NAMES = 1000

export type FailedNames = ReturnType<typeof createFailedNames>

/** Names of existing accounts with the newest failures. The counters store only digests of names. */
export function createFailedNames() {
  const names = new Map<string, string>()
  return {
    note({ key, name }: Pick<Failure, 'key' | 'name'>): void {
      if (name === undefined) return
      const prefix = key.slice(0, key.indexOf(' ') + 1)
      names.delete(prefix)
      names.set(prefix, name)
      const oldest = names.keys().next().value
      if (names.size > MAX_NAMES && oldest !== undefined) names.delete(oldest)
    },
    /** The beginning of the lock keys of each account, and its name. */
    entries: () => names.entries(),
  }
}

/** Failed sign-ins cost a client nothing, so the number is bounded. The ends of further locks are not reported. */
const MAX_LOCKS = 1000

export type LockEnds = ReturnType<typeof createLockEnds>

/**
 * Which locks this node has reported, and when each of them ends. `lockedMs`: for how long the name is still locked for
 * this peer; 0: it is not.
 */
export function createLockEnds(lockedMs: (guess: Guess) => number, onEnded: (guess: Guess) => void, clock: Clock) {
  const locks = new Map<string, { readonly guess: Guess; endsAtMs: number }>()
  return {
    note(guess: Guess, ms: number): void {
      const key = `${guess.peer} ${guess.name}`
      if (locks.size < MAX_LOCKS || locks.has(key)) locks.set(key, { guess, endsAtMs: clock.nowMs() + ms })
    },
    /** For an account whose limits were lifted. */
    forget(name: string): void {
      for (const [key, { guess }] of locks) if (guess.name === name) locks.delete(key)
    },
    /** Calls `onEnded` for each lock that is over by now. */
    report(): void {
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
