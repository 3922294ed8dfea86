/**
 * Shares failed attempts with other nodes through the store. Sign-ins never wait for it: while the store is
 * unreachable, each node counts with the failures it knows.
 */
import { randomUUID } from 'node:crypto'
import { nowSeconds, type SharedClock } from '../../base/clock.ts'
import type { Log } from '../../base/log.ts'
import { keepRepeating } from '../../base/sleep.ts'
import { confirmChange } from '../../directory/confirm-change.ts'
import type { Failure, FailureStore, StoredFailures } from '../../directory/store-port/sign-ins.ts'
import type { SecurityEvents } from '../../observe/security-events.ts'
import type { LimitedAccount } from './guess.ts'
import { createLimits, HOUR_MS, type LimitSettings, type SharedCounters } from './limits.ts'

const REPORT_ENDED_MS = 1000

export type SharedLimits = ReturnType<typeof openLimits>['accounts']

interface LimitDeps {
  settings(): LimitSettings
  readonly store: FailureStore
  readonly clock: SharedClock
  readonly events: SecurityEvents
  readonly log: Log
}

/** The limits on password checks, shared with other nodes through the store. */
export function openLimits({ settings, store, clock, events, log }: LimitDeps) {
  const limits = createLimits({
    settings,
    clock,
    log,
    onReached: ({ limit, name, seconds }) => events.record('limit.started', { limit, subject: name, seconds }),
    onEnded: ({ name, peer }) =>
      events.record('limit.ended', { limit: 'lockout', subject: name, peer: peer || undefined }),
  })
  const timer = setInterval(limits.reportEnded, REPORT_ENDED_MS).unref()
  const sharing = shareFailures({ counters: limits, store, settings, clock })
  return {
    guesses: limits,
    /** The limits of accounts on every node, for the administrator. */
    accounts: {
      async find(account: LimitedAccount) {
        await sharing.shareNow()
        return limits.findLimit(account)
      },
      countLocked: limits.countLocked,
      listNames: limits.listLocked,
      async lift(account: LimitedAccount): Promise<void> {
        await confirmChange(events)
        limits.lift(account)
        await sharing.shareNow()
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
  readonly everyMs?: number
}

const EVERY_MS = 250
const EVERY_MS_WITHOUT_STORE = 2000
const PURGE_EVERY_MS = 60_000
const PAGE = 100

export function shareFailures({ everyMs = EVERY_MS, ...options }: SharingOptions) {
  const shareNow = createTurn(options)
  const stopSharing = keepRepeating(() =>
    shareNow().then(
      () => everyMs,
      // the store logs that it is unreachable
      () => Math.max(everyMs, EVERY_MS_WITHOUT_STORE),
    ),
  )
  return {
    /** Sends and receives once, in addition to the regular turns. */
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
 * Counts the batches of other nodes, each once. If the one that was read last is not in its place, it was purged, or the
 * store has another history: then all batches are read again.
 */
function createReceiver({ counters, store }: SharingOptions, node: string) {
  const counted = new Map<string, number>()
  let last: StoredFailures | undefined
  const list = (after: number) => store.listFailures(after, PAGE)
  const count = (batch: StoredFailures) => {
    const key = keyOf(batch)
    if (batch.node !== node && !counted.has(key)) counters.addFailures(batch.failures, batch.atMs)
    counted.set(key, batch.expiresAt)
  }
  return {
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
        if (!last || batches.length < PAGE) return
        batches = await list(last.sequence)
      }
    },
    forgetExpired(nowSeconds: number): void {
      for (const [key, expiresAt] of counted) if (expiresAt <= nowSeconds) counted.delete(key)
    },
  }
}

function createTurn(options: SharingOptions): () => Promise<void> {
  const { counters, store, settings, clock } = options
  // new with every start, so that a restarted node reads its own earlier failures
  const node = randomUUID()
  const { receive, forgetExpired } = createReceiver(options, node)
  let purgedAtMs = Number.NEGATIVE_INFINITY

  const send = async () => {
    const failures = counters.take()
    if (failures.length === 0) return
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
    await store.purgeFailures(nowSeconds(clock.purge))
    forgetExpired(nowSeconds(clock.purge))
  }
  return async () => {
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
