/**
 * Follows what others write. Sequences enter, changes leave in their order, each at least once; a change is never
 * passed over, and whoever asks is told how old the knowledge is.
 */
import type { Clock } from '../base/clock.ts'
import { Refusal } from '../base/errors.ts'
import type { Change, ChangeFeed } from '../identity/ports.ts'
import { delayMsOf } from './retry.ts'

const MOST_AT_ONCE = 1000
const MOST_BACK_OFF_MS = 2000

export interface FollowOptions {
  /** The change up to which everything is known already. */
  readonly from: number
  readonly pollMs?: number
  /** Is told again, with what came meanwhile, if it fails. */
  readonly onChange: (changes: readonly Change[]) => void | Promise<void>
  /** The store has gone back behind what was known, as when a copy was restored: nothing known holds any longer. */
  readonly onReset: () => void | Promise<void>
  /** A poll failed. Must not throw. */
  readonly onStale: (failure: StaleFailure) => void
  readonly clock: Clock
}

export interface StaleFailure {
  readonly error: unknown
  /** Since the last good poll. */
  readonly ageMs: number
}

export interface Follower {
  /** The change up to which everything has been told. */
  position(): number
  /** Age of what is known: time since the beginning of the last good poll. Grows too while the store is silent. */
  stalenessMs(): number
  /** Answers when all that was written before this call has been told. Throws what kept it from being told. */
  catchUp(): Promise<void>
  stop(): Promise<void>
}

type Waiter = PromiseWithResolvers<void>

export function followChanges(feed: ChangeFeed, options: FollowOptions): Follower {
  const { pollMs = 250, onStale, clock } = options
  const nap = createNap()
  let position = options.from
  let lastGoodMs = clock.nowMs()
  let waiters: Waiter[] = []
  let isStopped = false

  const stalenessMs = () => Math.max(0, clock.nowMs() - lastGoodMs)
  const round = async (): Promise<void> => {
    const startedMs = clock.nowMs()
    position = await advance(feed, position, options)
    lastGoodMs = startedMs
  }
  const run = async (): Promise<void> => {
    for (let failures = 0; !isStopped; ) {
      // whoever comes from here on waits for the next round: this one may read before their write
      const served = waiters
      waiters = []
      nap.begin()
      const outcome = await settle(round())
      failures = outcome ? failures + 1 : 0
      if (outcome) onStale({ error: outcome.error, ageMs: stalenessMs() })
      for (const waiter of served) outcome ? waiter.reject(outcome.error) : waiter.resolve()
      if (!isStopped) await nap.sleep(failures === 0 ? pollMs : backOffMs(pollMs, failures))
    }
  }
  const endOfWake = feed.onWake(nap.wake)
  const running = run()

  return {
    position: () => position,
    stalenessMs,
    catchUp() {
      const waiter: Waiter = Promise.withResolvers()
      if (isStopped) waiter.reject(stopped())
      else waiters.push(waiter)
      nap.wake()
      return waiter.promise
    },
    async stop() {
      isStopped = true
      endOfWake()
      nap.wake()
      await running
      for (const waiter of waiters.splice(0)) waiter.reject(stopped())
    },
  }
}

/** Tells everything between the position and the latest change; gives the new position. */
async function advance(feed: ChangeFeed, from: number, { onChange, onReset }: FollowOptions): Promise<number> {
  const latest = await feed.sequence()
  if (latest < from) {
    await onReset()
    return latest
  }
  let position = from
  while (position < latest) {
    const changes = await feed.changesSince(position, MOST_AT_ONCE)
    if (changes.length > 0) await onChange(changes)
    const reached = changes.at(-1)?.sequence ?? latest
    // a short page holds all there is; what the sequence counts beyond has been replaced or purged since
    position = changes.length < MOST_AT_ONCE ? Math.max(reached, latest) : reached
  }
  return position
}

const settle = (promise: Promise<void>): Promise<{ readonly error: unknown } | undefined> =>
  promise.then(
    () => undefined,
    (error: unknown) => ({ error }),
  )

const backOffMs = (pollMs: number, failures: number): number =>
  delayMsOf({ firstDelayMs: pollMs, mostDelayMs: Math.max(pollMs, MOST_BACK_OFF_MS) }, failures)

const stopped = (): Refusal => new Refusal('store_unavailable', { detail: 'nobody follows the changes any longer' })

interface Nap {
  /** Calls from here on count for the next sleep. */
  begin(): void
  /** Until the time has passed, or somebody calls or has called since `begin`. */
  sleep(ms: number): Promise<void>
  wake(): void
}

function createNap(): Nap {
  let isCalled = false
  let rouse = () => {}
  return {
    begin() {
      isCalled = false
    },
    sleep: (ms) =>
      new Promise((resolve) => {
        const timer = setTimeout(resolve, isCalled ? 0 : ms)
        rouse = () => {
          clearTimeout(timer)
          resolve()
        }
      }),
    wake() {
      isCalled = true
      rouse()
    },
  }
}
