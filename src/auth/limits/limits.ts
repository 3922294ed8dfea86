/**
 * All limits on password checks. Guesses enter before, during and after a check; what may not be checked is refused.
 * Three counters: a lock of name and peer, and token buckets over the failures of an account and of a peer.
 */
import type { Clock } from '../../base/clock.ts'
import { Refusal } from '../../base/errors.ts'
import { createLiveCache } from '../../base/live-cache.ts'
import { type Log, SILENT_LOG } from '../../base/log.ts'
import type { Failure } from '../../directory/store-port.ts'
import { type BucketSettings, createBuckets } from './buckets.ts'
import { findPeers, type Guess, joinPeers, toAccountKey, toKeys, toLockKey } from './guess.ts'
import { createKnownPeers, type KnownPeers } from './known-peers.ts'
import { createLocks, type LockSettings } from './lock.ts'
import { createOutbox, type Outbox } from './outbox.ts'

export interface LimitSettings {
  readonly lock: LockSettings
  readonly account: BucketSettings
  readonly peer: BucketSettings
  /** How many counters of each kind are kept. */
  readonly maxCounters: number
}

export interface PasswordLimits {
  /**
   * Throws `account_locked` or `too_many_requests`. Call it before a check, when the check starts and again after it:
   * guesses sent side by side pass the first call together, and a right one among them must not stand out.
   */
  requireAllowed(guess: Guess): void
  countFailure(guess: Guess): void
  countSuccess(guess: Guess): void
  /** Whether its peers have no failure that still counts: such a check goes first. */
  isClean(guess: Guess): boolean
}

/** The failures that nodes tell each other. */
export interface SharedCounters extends Outbox {
  /** Adds what another node counted at that time. */
  addFailures(failures: readonly Failure[], atMs: number): void
}

/** A limit that a client reached. */
export interface ReachedLimit {
  readonly limit: 'lockout' | 'account' | 'peer'
  /** The account; absent where the limit is on the peer alone. */
  readonly name?: string
  /** For how long. */
  readonly seconds: number
}

export interface LimitsOptions {
  settings(): LimitSettings
  readonly clock: Clock
  readonly log?: Log
  /** Called once when a limit is reached, not for each attempt it refuses. */
  onReached?(reached: ReachedLimit): void
}

export function createLimits(options: LimitsOptions): PasswordLimits & SharedCounters {
  const { clock, settings, log = SILENT_LOG } = options
  const counters = createAllCounters(options)
  const known = createKnownPeers(() => settings().maxCounters, clock)
  const outbox = createOutbox()
  const tell = createTeller(options)
  return {
    requireAllowed(guess) {
      const wait = findWait(counters, known, guess)
      if (!wait) return
      tell(guess, wait)
      if (wait.limit === 'lockout') throw new Refusal('account_locked')
      throw new Refusal('too_many_requests', { retryAfterSeconds: toSeconds(wait) })
    },
    countFailure(guess) {
      const { name, peer } = guess
      known.forget(name, joinPeers(guess))
      for (const { counter, key } of toKeys(guess)) {
        outbox.add(counter, key)
        counters[counter].addFailures(key, 1, clock.nowMs())
      }
      const isOverlooked = counters.lock.isOverlooked(toLockKey(guess))
      if (isOverlooked) log.warn('account would be locked after too many failures', { name, peer })
      tell(guess, findWait(counters, known, guess))
    },
    countSuccess(guess) {
      if (guess.version !== undefined) known.remember(guess.name, guess.version, joinPeers(guess))
    },
    isClean: (guess) => !findPeers(guess).some(counters.peer.hasFailures),
    addFailures(failures, atMs) {
      // a newer version may count what this one does not know
      const own = failures.filter(({ counter }) => Object.hasOwn(counters, counter))
      for (const { counter, key, count } of own) counters[counter].addFailures(key, count, atMs)
    },
    take: outbox.take,
    putBack: outbox.putBack,
  }
}

type AllCounters = ReturnType<typeof createAllCounters>

function createAllCounters({ settings, clock }: LimitsOptions) {
  const max = () => settings().maxCounters
  return {
    lock: createLocks({ settings: () => settings().lock, max, clock }),
    account: createBuckets({ settings: () => settings().account, max, clock }),
    peer: createBuckets({ settings: () => settings().peer, max, clock }),
  }
}

/** A limit that is reached, by which key, and for how long. */
interface Wait {
  readonly limit: ReachedLimit['limit']
  readonly key: string
  readonly ms: number
}

const toSeconds = ({ ms }: Wait): number => Math.ceil(ms / 1000)

/** The lock, else the longest wait. No digest is made while nothing is counted: every request with a password asks. */
function findWait({ lock, account, peer }: AllCounters, known: KnownPeers, guess: Guess): Wait | undefined {
  const lockKey = lock.isEmpty() ? '' : toLockKey(guess)
  const lockMs = lock.waitMs(lockKey)
  if (lockMs > 0) return { limit: 'lockout', key: lockKey, ms: lockMs }
  const { name, version } = guess
  if (version !== undefined && known.isKnown(name, version, joinPeers(guess))) return undefined
  const accountKey = account.isEmpty() ? '' : toAccountKey(guess)
  const waits: readonly Wait[] = [
    { limit: 'account', key: accountKey, ms: account.waitMs(accountKey) },
    ...findPeers(guess).map((key) => ({ limit: 'peer', key, ms: peer.waitMs(key) }) as const),
  ]
  const longest = waits.reduce((most, wait) => (wait.ms > most.ms ? wait : most))
  return longest.ms > 0 ? longest : undefined
}

/** How long a limit that is reached again and again is not told of again. */
const QUIET_MS = 300_000

function createTeller({ onReached, settings, clock }: LimitsOptions) {
  const told = createLiveCache<{ readonly atMs: number }>(() => settings().maxCounters)
  return ({ name }: Guess, wait: Wait | undefined): void => {
    if (!wait || !onReached) return
    const { limit, key } = wait
    const before = told.get(`${limit} ${key}`)
    if (before && clock.nowMs() - before.atMs < QUIET_MS) return
    told.set(`${limit} ${key}`, { atMs: clock.nowMs() })
    onReached({ limit, seconds: toSeconds(wait), ...(limit === 'peer' ? {} : { name }) })
  }
}
