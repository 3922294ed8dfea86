/**
 * Shares failed attempts with other nodes through the store. Sign-ins never wait for it: while the store is
 * unreachable, each node counts with the failures it knows.
 */
import { type Clock, MONOTONIC_CLOCK, nowSeconds, type SharedClock } from '../../base/clock.ts'
import type { Log } from '../../base/log.ts'
import type { Siblings, Topic } from '../../base/siblings.ts'
import { keepRepeating } from '../../base/sleep.ts'
import { createTurns } from '../../base/turns.ts'
import { type Caller, requireChange } from '../../directory/caller.ts'
import type { Failure, FailureStore, StoredFailures } from '../../directory/store-port/sign-ins.ts'
import type { SecurityEvents } from '../../observe/security-events.ts'
import type { LimitedAccount } from './guess.ts'
import { type AccountLimit, createLimits, HOUR_MS, type LimitSettings, type SharedCounters } from './limits.ts'
import { type CommonLimits, countTogether } from './together.ts'

const REPORT_ENDED_MS = 1000

/** The limits of accounts on every node, for the administrator. */
export interface SharedLimits {
  find(account: LimitedAccount): Promise<(AccountLimit & { readonly untilMs: number }) | undefined>
  countLocked(): number
  listNames(): readonly string[]
  lift(account: LimitedAccount, caller: Caller): Promise<void>
}

export interface OpenLimits {
  /** What checks of passwords count, with the other processes. */
  readonly guesses: CommonLimits
  readonly accounts: SharedLimits
  close(): Promise<void>
}

interface LimitDeps {
  settings(): LimitSettings
  readonly store: FailureStore
  readonly clock: SharedClock
  readonly events: SecurityEvents
  readonly log: Log
  readonly siblings: Siblings
  readonly monotonic?: Clock
}

const SHARE: Topic<undefined> = { name: 'limits.share' }

/** The limits on password checks: of all siblings together, and shared with other nodes through the store. */
export async function openLimits({ monotonic = MONOTONIC_CLOCK, ...deps }: LimitDeps): Promise<OpenLimits> {
  const { settings, store, clock, events, log, siblings } = deps
  // every sibling notices; the first one records and logs it for all
  const record: SecurityEvents['record'] = (...event) => {
    if (siblings.isFirst()) events.record(...event)
  }
  const warn: Log['warn'] = (...line) => {
    if (siblings.isFirst()) log.warn(...line)
  }
  const limits = createLimits({
    settings,
    clock: monotonic,
    log: { warn },
    onReached: ({ limit, name, seconds }) => record('limit.started', { limit, subject: name, seconds }),
    onEnded: ({ name, peer }) => record('limit.ended', { limit: 'lockout', subject: name, peer: peer || undefined }),
  })
  const timer = setInterval(limits.reportEnded, REPORT_ENDED_MS).unref()
  const guesses = countTogether(limits, siblings)
  // a process that starts later reads in the store what its siblings have counted
  const isLater = !siblings.isFirst()
  if (isLater) await siblings.askFirst(SHARE, undefined)
  const sharing = shareFailures({ counters: limits, store, settings, clock, siblings })
  siblings.answer(SHARE, sharing.shareNow)
  // the store logs that it is unreachable
  if (isLater) await sharing.shareNow().catch(() => {})
  return {
    guesses,
    accounts: {
      async find(account: LimitedAccount) {
        await sharing.shareNow()
        const limit = limits.findLimit(account)
        return limit && { ...limit, untilMs: clock.nowMs() + limit.ms }
      },
      countLocked: limits.countLocked,
      listNames: limits.listLocked,
      async lift(account: LimitedAccount, caller: Caller): Promise<void> {
        await requireChange(caller, events)
        await guesses.lift(account)
        await siblings.askFirst(SHARE, undefined)
      },
    },
    async close() {
      clearInterval(timer)
      await sharing.stop()
    },
  }
}

interface SharingOptions {
  readonly counters: SharedCounters
  readonly store: FailureStore
  settings(): LimitSettings
  readonly clock: SharedClock
  readonly siblings: Pick<Siblings, 'instance' | 'isFirst'>
  readonly everyMs?: number
}

const EVERY_MS = 250
const EVERY_MS_WITHOUT_STORE = 2000
const PURGE_EVERY_MS = 60_000
const PAGE = 100

export function shareFailures({ everyMs = EVERY_MS, ...options }: SharingOptions) {
  const runTurn = createTurn(options)
  const inTurn = createTurns()
  const shareNow = () => inTurn(runTurn)
  const stopSharing = keepRepeating(() =>
    shareNow().then(
      () => everyMs,
      // the store logs that it is unreachable
      () => Math.max(everyMs, EVERY_MS_WITHOUT_STORE),
    ),
  )
  return {
    /** Sends and receives once, after the turn that runs now. */
    shareNow,
    async stop() {
      await stopSharing()
      // the failures since the last turn
      await shareNow().catch(() => {})
    },
  }
}

const keyOf = ({ sequence, node, atMs }: StoredFailures): string => `${sequence} ${node} ${atMs}`

/**
 * Counts the batches of other nodes, each once, and those that were written before this process began. If the one that
 * was read last is not in its place, it was purged, or the store has another history: then all batches are read again.
 */
function createReceiver({ counters, store, clock, siblings }: SharingOptions) {
  const counted = new Map<string, number>()
  let hasReceived = false
  let last: StoredFailures | undefined
  const list = (after: number) => store.listFailures(after, PAGE)
  const count = (batch: StoredFailures) => {
    const key = keyOf(batch)
    const isOwn = hasReceived && batch.node === siblings.instance
    // written while the clock was ahead, they count from now on
    const ageMs = Math.max(0, clock.nowMs() - batch.atMs)
    if (!isOwn && !counted.has(key)) counters.addFailures(batch.failures, ageMs)
    counted.set(key, batch.expiresAt)
  }
  return {
    hasReceived: () => hasReceived,
    async receive(): Promise<void> {
      let batches = await list(last ? last.sequence - 1 : 0)
      const [first] = batches
      if (last && (!first || keyOf(first) !== keyOf(last))) {
        last = undefined
        batches = await list(0)
      }
      for (;;) {
        for (const batch of batches) count(batch)
        last = batches.at(-1) ?? last
        if (!last || batches.length < PAGE) break
        batches = await list(last.sequence)
      }
      hasReceived = true
    },
    forgetExpired(nowSeconds: number): void {
      for (const [key, expiresAt] of counted) if (expiresAt <= nowSeconds) counted.delete(key)
    },
  }
}

function createTurn(options: SharingOptions): () => Promise<void> {
  const { counters, store, settings, clock, siblings } = options
  // new with every start, so that a restarted node reads its own earlier failures
  const node = siblings.instance
  const { hasReceived, receive, forgetExpired } = createReceiver(options)
  let purgedAtMs = Number.NEGATIVE_INFINITY

  const send = async () => {
    const failures = counters.take()
    // the first process sends what all have counted
    if (failures.length === 0 || !siblings.isFirst()) return
    const atMs = clock.nowMs()
    try {
      const expiresAt = Math.ceil((atMs + toLifetimeMs(failures, settings())) / 1000)
      await store.addFailures({ node, atMs, expiresAt, failures })
    } catch (error) {
      counters.putBack(failures)
      throw error
    }
  }
  const purge = async () => {
    const nowMs = clock.purge.nowMs()
    if (nowMs - purgedAtMs < PURGE_EVERY_MS) return
    purgedAtMs = nowMs
    if (siblings.isFirst()) await store.purgeFailures(nowSeconds(clock.purge))
    forgetExpired(nowSeconds(clock.purge))
  }
  return async () => {
    // what is sent now is not received
    if (!hasReceived()) await receive()
    await send()
    await receive()
    await purge()
  }
}

/** How long they can count: the lifetime of a lock, the time to refill a whole bucket, and an hour for sign-ups. */
function toLifetimeMs(failures: readonly Failure[], { lock, account, peer }: LimitSettings): number {
  const refillMs = [account, peer].map(({ burst, refillPerMinute }) => (burst / refillPerMinute) * 60_000)
  const hasSignUps = failures.some(({ counter }) => counter === 'all-sign-ups')
  return Math.max(lock.lifetimeMs, hasSignUps ? HOUR_MS : 0, ...refillMs)
}
