/**
 * All limits on password checks. Guesses enter before, during and after a check; what may not be checked is refused.
 * Three counters: a lock of name and peer, and token buckets over the failures of an account and of a peer.
 */
import type { Clock } from '../../base/clock.ts'
import { frame } from '../../base/encoding.ts'
import { Refusal } from '../../base/errors.ts'
import { type Log, SILENT_LOG } from '../../base/log.ts'
import { toPeerKey } from '../../base/peer-key.ts'
import { createLiveCache } from '../live-cache.ts'
import { digestHex } from '../password/password-digest.ts'
import type { Failure } from '../ports.ts'
import { type BucketSettings, createBuckets } from './buckets.ts'
import { createKnownPeers } from './known-peers.ts'
import { createLocks, type LockSettings } from './lock.ts'
import { createOutbox, type Outbox } from './outbox.ts'

export interface LimitSettings {
  readonly lock: LockSettings
  readonly account: BucketSettings
  readonly peer: BucketSettings
  /** How many counters of each kind are kept. */
  readonly maxCounters: number
}

/** A name and the secret given for it: a password, a one-time code or an access token. */
export interface Guess {
  readonly name: string
  /** Address of the client. */
  readonly peer: string
  /** Address of the connection, where the client's is only the claim of a peer that was never named as a proxy. */
  readonly directPeer?: string | undefined
  /** The salt and version of the stored password, where the name has one. A new password starts with no failures. */
  readonly salt?: string | undefined
  readonly version?: string | undefined
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
  const max = () => settings().maxCounters
  const locks = createLocks({ settings: () => settings().lock, max, clock })
  const accounts = createBuckets({ settings: () => settings().account, max, clock })
  const peers = createBuckets({ settings: () => settings().peer, max, clock })
  const counters = { lock: locks, account: accounts, peer: peers }
  const known = createKnownPeers(max, clock)
  const outbox = createOutbox()
  const tell = createTeller(options, max)

  const isKnown = ({ name, version, peer, directPeer }: Guess): boolean =>
    version !== undefined && known.isKnown(name, version, joinPeers(peer, directPeer))

  // no digest is made while nothing is counted: every request with a password comes by here
  const findReached = (guess: Guess): Wait | undefined => {
    const lockMs = locks.isEmpty() ? 0 : locks.waitMs(toLockKey(guess))
    if (lockMs > 0) return { limit: 'lockout', ms: lockMs }
    if (isKnown(guess)) return undefined
    const accountMs = accounts.isEmpty() ? 0 : accounts.waitMs(toAccountKey(guess))
    const peerMs = Math.max(...findPeers(guess).map(peers.waitMs), 0)
    if (accountMs === 0 && peerMs === 0) return undefined
    return accountMs < peerMs ? { limit: 'peer', ms: peerMs } : { limit: 'account', ms: accountMs }
  }

  return {
    requireAllowed(guess) {
      const wait = findReached(guess)
      if (!wait) return
      tell(guess, wait)
      if (wait.limit === 'lockout') throw new Refusal('account_locked')
      throw new Refusal('too_many_requests', { retryAfterSeconds: toSeconds(wait) })
    },
    countFailure(guess) {
      const { name, peer, directPeer } = guess
      known.forget(name, joinPeers(peer, directPeer))
      for (const { counter, key } of toKeys(guess)) {
        outbox.add(counter, key)
        counters[counter].addFailures(key, 1, clock.nowMs())
      }
      if (locks.isOverlooked(toLockKey(guess)))
        log.warn('account would be locked after too many failures', { name, peer })
      tell(guess, findReached(guess))
    },
    countSuccess({ name, version, peer, directPeer }) {
      if (version !== undefined) known.remember(name, version, joinPeers(peer, directPeer))
    },
    isClean: (guess) => !findPeers(guess).some(peers.hasFailures),
    addFailures(failures, atMs) {
      // a newer version may count what this one does not know
      const own = failures.filter(({ counter }) => Object.hasOwn(counters, counter))
      for (const { counter, key, count } of own) counters[counter].addFailures(key, count, atMs)
    },
    take: outbox.take,
    putBack: outbox.putBack,
  }
}

interface Wait {
  readonly limit: ReachedLimit['limit']
  readonly ms: number
}

const toSeconds = ({ ms }: Wait): number => Math.ceil(ms / 1000)

/** How long a limit that is reached again and again is not told of again. */
const QUIET_MS = 300_000

function createTeller({ onReached, clock }: LimitsOptions, max: () => number) {
  const told = createLiveCache<{ readonly atMs: number }>(max)
  return (guess: Guess, wait: Wait | undefined): void => {
    if (!wait || !onReached) return
    const { limit } = wait
    const key =
      limit === 'lockout' ? toLockKey(guess) : limit === 'account' ? toAccountKey(guess) : findPeers(guess).join(' ')
    const before = told.get(`${limit} ${key}`)
    if (before && clock.nowMs() - before.atMs < QUIET_MS) return
    told.set(`${limit} ${key}`, { atMs: clock.nowMs() })
    onReached({ limit, seconds: toSeconds(wait), ...(limit === 'peer' ? {} : { name: guess.name }) })
  }
}

function toKeys(guess: Guess): readonly Omit<Failure, 'count'>[] {
  return [
    { counter: 'lock', key: toLockKey(guess) },
    { counter: 'account', key: toAccountKey(guess) },
    ...findPeers(guess).map((key) => ({ counter: 'peer', key }) as const),
  ]
}

// digests, so that names as long as a request allows fill neither the memory nor the store
const toLockKey = ({ peer, name, salt = '' }: Guess): string =>
  digestHex('sha256', frame([toPeerKey(peer) ?? '', name, salt]))

const toAccountKey = ({ name }: Guess): string => digestHex('sha256', name)

/** The peers a guess counts for. */
function findPeers({ peer, directPeer }: Guess): readonly string[] {
  const keys = [toPeerKey(peer), directPeer === undefined ? undefined : toPeerKey(directPeer)]
  return [...new Set(keys.filter((key) => key !== undefined))]
}

const joinPeers = (peer: string, directPeer: string | undefined): string =>
  directPeer === undefined || directPeer === peer ? peer : `${peer} ${directPeer}`
