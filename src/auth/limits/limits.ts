/**
 * Limits on password checks, by three counters of failed attempts: a lock of name and peer together, and token buckets
 * of an account and of a peer. The limits on sign-ups are counted beside them, and shared with other nodes like them.
 */

import { createLiveCache } from '../../base/caches.ts'
import type { Clock } from '../../base/clock.ts'
import { Refusal } from '../../base/errors.ts'
import { type Log, SILENT_LOG } from '../../base/log.ts'
import type { Failure } from '../../directory/store-port/sign-ins.ts'
import { UNKNOWN_NAME } from '../../observe/security-event-table.ts'
import {
  type BucketSettings,
  createBuckets,
  createLocks,
  createOutbox,
  type LockSettings,
  type Outbox,
} from './counters.ts'
import {
  findPeers,
  type Guess,
  joinPeers,
  type LimitedAccount,
  toAccountKey,
  toKeys,
  toLockKey,
  toLockPrefix,
} from './guess.ts'
import {
  createFailedNames,
  createKnownPeers,
  createLockEnds,
  type FailedNames,
  type KnownPeers,
  type LockEnds,
} from './memory.ts'
import { createSignUps, type SignUpCounter, type Wait } from './sign-ups.ts'

/** What keeps the clients of an account from signing in. */
export interface AccountLimit {
  readonly lockedPeers: number
  /** Some of the clients that are locked. */
  readonly peers: readonly string[]
  readonly ms: number
}

export interface LimitSettings {
  readonly lock: LockSettings
  readonly account: BucketSettings
  readonly peer: BucketSettings
  /** Users that clients may create for themselves in an hour; 0 switches a limit off. */
  readonly signUps: { readonly perPeer: number; readonly total: number }
  /** How many counters of each kind are kept. */
  readonly maxCounters: number
}

export type Limits = ReturnType<typeof createLimits>

/** The failures that nodes share. */
export type SharedCounters = Pick<Limits, 'addFailures' | 'take' | 'putBack'>

/** A limit that a client reached. */
export interface ReachedLimit {
  readonly limit: 'lockout' | 'account' | 'peer' | SignUpCounter
  /** The account; absent where the limit is not on one. */
  readonly name?: string
  /** For how long. */
  readonly seconds: number
}

export interface LimitsOptions {
  settings(): LimitSettings
  /** For durations. */
  readonly clock: Clock
  readonly log?: Pick<Log, 'warn'>
  /** Called once when a limit is reached, not for each attempt it refuses. */
  onReached?(reached: ReachedLimit): void
  /** Called when a lock that was reached is over. */
  onEnded?(ended: Pick<Guess, 'name' | 'peer'>): void
}

export function createLimits(options: LimitsOptions) {
  const { clock, settings, log = SILENT_LOG } = options
  const counters = createAllCounters(options)
  const known = createKnownPeers(() => settings().maxCounters, clock)
  const outbox = createOutbox()
  const ends = createEnds(options, counters)
  const failed = createFailedNames()
  const report = createReporter(options, ends)
  return {
    /**
     * Throws `account_locked` or `too_many_requests`. Called before a check, when it starts and after it: parallel
     * attempts all pass the first call, and a right one among them must not stand out.
     */
    requireAllowed(guess: Guess): void {
      const wait = findWait(counters, known, guess)
      if (!wait) return
      report(guess, wait)
      throw toRefusal(wait)
    },
    /** Whether it would not throw. */
    isAllowed: (guess: Guess): boolean => findWait(counters, known, guess) === undefined,
    countFailure(guess: Guess): void {
      known.forget(guess.name, joinPeers(guess))
      for (const failure of toKeys(guess)) {
        outbox.add({ ...failure, count: 1 })
        failed.note(failure)
        counters[failure.counter].addFailures(failure.key, 1, clock.nowMs())
      }
      if (counters.lock.isOverlooked(toLockKey(guess)))
        log.warn('account would be locked after too many failures', { name: toLoggedName(guess), peer: guess.peer })
      report(guess, findWait(counters, known, guess))
    },
    /** Whether it was not known, or not lately. */
    countSuccess: (guess: Guess): boolean =>
      guess.version !== undefined && known.remember(guess.name, guess.version, joinPeers(guess)),
    /** Whether its peers have no failures that still count. Such checks are preferred. */
    isClean: (guess: Guess): boolean => !findPeers(guess).some(counters.peer.hasFailures),
    /** Adds failures that another node counted so long ago. */
    addFailures(failures: readonly Failure[], ageMs: number): void {
      addShared(counters, failures, clock.nowMs() - ageMs)
      for (const failure of failures) failed.note(failure)
    },
    ...createSignUps(counters, outbox, clock, (wait) => report(undefined, wait)),
    ...createAccountLimits(counters, failed, ends, outbox),
    /** Reports the locks that are over by now. To be called every few seconds. */
    reportEnded: ends.report,
    take: outbox.take,
    putBack: outbox.putBack,
  }
}

const createEnds = ({ onEnded, clock }: LimitsOptions, { lock }: AllCounters) =>
  createLockEnds(
    (guess) => lock.waitMs(toLockKey(guess)),
    (guess) => onEnded?.({ name: toLoggedName(guess), peer: guess.peer }),
    clock,
  )

function addShared(counters: AllCounters, failures: readonly Failure[], atMs: number): void {
  // a node of a newer version may have counters that this one does not know
  for (const { counter, key, count } of failures.filter((failure) => Object.hasOwn(counters, failure.counter))) {
    if (count === 0) counters[counter].forget(key)
    else counters[counter].addFailures(key, count, atMs)
  }
}

/** The limits of one account, for the administrator. */
const createAccountLimits = ({ lock, account }: AllCounters, failed: FailedNames, ends: LockEnds, outbox: Outbox) => ({
  /**
   * How many addresses are locked out (0: clients of every address have to wait), and some of them; of IPv6, the
   * network. `undefined`: nothing keeps clients from signing in.
   */
  findLimit(limited: LimitedAccount): AccountLimit | undefined {
    const { keys, ms: lockedMs } = lock.findWaits(toLockPrefix(limited))
    const ms = Math.max(lockedMs, account.waitMs(toAccountKey(limited)))
    const peers = keys.slice(0, MAX_PEERS).map((key) => key.slice(key.indexOf(' ') + 1))
    return ms === 0 ? undefined : { lockedPeers: keys.length, peers, ms }
  },
  /** Locked names that accounts have; of many, those with the newest failures. */
  listLocked: () => listLocked({ lock, account }, failed),
  /** How many names are locked for at least one client, including names that no account has, as far as this node knows. */
  countLocked: () => Math.max(listLockedParts(lock).size, account.listWaiting().length),
  /** Forgets the failures of the account. Failures of addresses stay. */
  lift(limited: LimitedAccount): void {
    const [lockPrefix, accountKey] = [toLockPrefix(limited), toAccountKey(limited)]
    ends.forget(limited.name)
    lock.forget(lockPrefix)
    outbox.lift('lock', lockPrefix)
    account.forget(accountKey)
    outbox.lift('account', accountKey)
  },
})

const MAX_PEERS = 3

/** The beginnings of the keys of all locks, which have no address. */
const listLockedParts = (lock: AllCounters['lock']): ReadonlySet<string> =>
  new Set(lock.listWaiting().map((key) => key.slice(0, key.indexOf(' ') + 1)))

function listLocked({ lock, account }: Pick<AllCounters, 'lock' | 'account'>, failed: FailedNames): readonly string[] {
  const locked = listLockedParts(lock)
  const isLocked = (prefix: string, name: string) => locked.has(prefix) || account.waitMs(toAccountKey({ name })) > 0
  const names = [...failed.entries()].flatMap(([prefix, name]) => (isLocked(prefix, name) ? [name] : []))
  return [...new Set(names)]
}

type AllCounters = ReturnType<typeof createAllCounters>

function createAllCounters({ settings, clock }: LimitsOptions) {
  const max = () => settings().maxCounters
  return {
    lock: createLocks({ settings: () => settings().lock, max, clock }),
    account: createBuckets({ settings: () => settings().account, max, clock }),
    peer: createBuckets({ settings: () => settings().peer, max, clock }),
    'sign-up': createLocks({ settings: () => toHourly(settings().signUps.perPeer), max, clock }),
    'all-sign-ups': createLocks({ settings: () => toHourly(settings().signUps.total), max, clock }),
  }
}

export const HOUR_MS = 3_600_000

const toHourly = (threshold: number): LockSettings => ({
  mode: threshold === 0 ? 'off' : 'enforce',
  threshold,
  lifetimeMs: HOUR_MS,
})

type AnyWait = Wait<ReachedLimit['limit']>

const toSeconds = ({ ms }: AnyWait): number => Math.ceil(ms / 1000)

const toRefusal = (wait: AnyWait): Refusal =>
  new Refusal(wait.limit === 'lockout' ? 'account_locked' : 'too_many_requests', {
    retryAfterSeconds: toSeconds(wait),
  })

/** The lock, else the longest wait. While a table is empty no digest is made, because every Basic request asks. */
function findWait({ lock, account, peer }: AllCounters, known: KnownPeers, guess: Guess): AnyWait | undefined {
  const lockKey = lock.isEmpty() ? '' : toLockKey(guess)
  const lockMs = lock.waitMs(lockKey)
  if (lockMs > 0) return { limit: 'lockout', key: lockKey, ms: lockMs }
  const { name, version } = guess
  if (version !== undefined && known.isKnown(name, version, joinPeers(guess))) return undefined
  const accountKey = account.isEmpty() ? '' : toAccountKey(guess)
  const waits: readonly AnyWait[] = [
    { limit: 'account', key: accountKey, ms: account.waitMs(accountKey) },
    ...findPeers(guess).map((key) => ({ limit: 'peer', key, ms: peer.waitMs(key) }) as const),
  ]
  const longest = waits.reduce((most, wait) => (wait.ms > most.ms ? wait : most))
  return longest.ms > 0 ? longest : undefined
}

/** A limit that is reached repeatedly is reported once in this time. */
const QUIET_MS = 300_000

function createReporter({ onReached, settings, clock }: LimitsOptions, ends: LockEnds) {
  const reported = createLiveCache<{ readonly atMs: number }>(() => settings().maxCounters)
  return (guess: Guess | undefined, wait: AnyWait | undefined): void => {
    if (!wait || !onReached) return
    const { limit, key } = wait
    const before = reported.get(`${limit} ${key}`)
    if (before && clock.nowMs() - before.atMs < QUIET_MS) return
    reported.set(`${limit} ${key}`, { atMs: clock.nowMs() })
    if (guess && limit === 'lockout') ends.note(guess, wait.ms)
    onReached({ limit, seconds: toSeconds(wait), ...(guess && limit !== 'peer' && { name: toLoggedName(guess) }) })
  }
}

/** An unknown name may be a password or token that was typed into the wrong field. */
const toLoggedName = ({ name, version }: Guess): string => (version === undefined ? UNKNOWN_NAME : name)
