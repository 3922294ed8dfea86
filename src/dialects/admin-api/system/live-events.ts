// Server-sent events for the console: what happens at this node, for each client that follows it.
import { type Clock, MONOTONIC_CLOCK, nowSeconds } from '../../../base/clock.ts'
import { Refusal } from '../../../base/errors.ts'
import { API_PREFIX } from '../../../base/own-paths.ts'
import type { Siblings, Topic } from '../../../base/siblings.ts'
import { createWakeableSleep } from '../../../base/sleep.ts'
import type { Feed, Route } from '../../../http/request-context.ts'
import { type AuditRecord, toShownRecord } from '../../../observe/audit/audit-record.ts'
import { type Counts, subtractCounts } from '../../../observe/record-totals.ts'
import { toPercentileMs } from '../../../observe/total-series.ts'
import type { OperationDeps } from '../operation.ts'
import { requireRight } from '../rights.ts'
import { toSums } from './overview.ts'

/** A client of another process follows, for some seconds more. */
const FOLLOW: Topic<undefined> = { name: 'live.follow' }
/** What this process has recorded, for those that follow. */
const RECORDS: Topic<readonly AuditRecord[]> = { name: 'live.records' }

export interface LiveEventsDeps {
  readonly clock: Clock
  readonly siblings: Siblings
  /** What this node has counted since its start. */
  readCounts(): Promise<Counts>
  countLocked(): number
  countFailingUpstreams(): Promise<number>
  /** Both return a function that removes the listener. */
  onRecord(listener: (record: AuditRecord) => void): () => void
  onRevoked(listener: () => void): () => void
  /** The time between two overviews. */
  readonly everyMs?: number
}

export type LiveEvents = ReturnType<typeof createLiveEvents>

export interface EventFollower {
  /** Rejects if the credential is no longer accepted, or not with the same rights. */
  confirm(): Promise<unknown>
  /** Called when the client has disconnected. */
  onGone(listener: () => void): void
}

const EVERY_MS = 5000
const MAX_STREAMS = 50

export function createLiveEvents(deps: LiveEventsDeps) {
  const streams = new Set<EventStream>()
  let sending: ReturnType<typeof startSending> | undefined
  const sendAll = (event: string, value: unknown) => {
    for (const stream of streams) stream.send(event, value)
  }
  const forwarding = createForwarding(deps)
  deps.siblings.answer(FOLLOW, forwarding.prolong)
  deps.siblings.answer(RECORDS, (records) => {
    for (const record of records) sendAll('audit', toShownRecord(record))
  })
  const confirmAll = () => {
    for (const stream of streams) void stream.confirm()
  }
  const remove = (stream: EventStream) => {
    streams.delete(stream)
    if (streams.size > 0) return
    sending?.stop()
    sending = undefined
  }
  return {
    /** Throws `overloaded` if too many clients follow. */
    open(follower: EventFollower): Feed {
      if (streams.size >= MAX_STREAMS) throw new Refusal('overloaded')
      sending ??= startSending(deps, sendAll, confirmAll)
      const stream = createEventStream(follower)
      streams.add(stream)
      follower.onGone(() => {
        stream.end()
        remove(stream)
      })
      void countProblems(deps).then((counts) => stream.send('counts', counts))
      return stream.read(sending.begun)
    },
    close() {
      forwarding.stop()
      for (const stream of streams) stream.end()
    },
  }
}

/** Sends figures and audit records until it is stopped. */
function startSending(deps: LiveEventsDeps, sendAll: (event: string, value: unknown) => void, confirmAll: () => void) {
  const takeOverview = createOverview(deps)
  const follow = () => deps.siblings.askAll(FOLLOW, undefined)
  const tick = () => {
    void follow()
    void takeOverview().then((overview) => sendAll('overview', overview))
    void countProblems(deps).then((counts) => sendAll('counts', counts))
    confirmAll()
  }
  const timer = setInterval(tick, deps.everyMs ?? EVERY_MS).unref()
  const stops = [
    deps.onRecord((record) => sendAll('audit', toShownRecord(record))),
    deps.onRevoked(confirmAll),
    () => clearInterval(timer),
  ]
  return {
    /** Resolves when the other processes send their records. */
    begun: follow(),
    stop(): void {
      for (const each of stops) each()
    },
  }
}

/** A process that follows asks again with each overview. */
const MISSED_OVERVIEWS = 3

/** Sends the records of this process to the others, while one of them follows. */
function createForwarding({ siblings, onRecord, everyMs = EVERY_MS }: LiveEventsDeps) {
  let waiting: AuditRecord[] = []
  let remove: (() => void) | undefined
  let timer: NodeJS.Timeout | undefined
  const send = () => {
    void siblings.askAll(RECORDS, waiting)
    waiting = []
  }
  const stop = () => {
    clearTimeout(timer)
    remove?.()
    remove = undefined
  }
  return {
    prolong(): void {
      clearTimeout(timer)
      timer = setTimeout(stop, MISSED_OVERVIEWS * everyMs).unref()
      remove ??= onRecord((record) => {
        // those of one batch together
        if (waiting.push(record) === 1) queueMicrotask(send)
      })
    },
    stop,
  }
}

const countProblems = async ({ countLocked, countFailingUpstreams }: LiveEventsDeps) => ({
  lockedAccounts: countLocked(),
  failingUpstreams: await countFailingUpstreams(),
})

/** The function it returns tells what happened since its last call. */
function createOverview({ readCounts, clock }: LiveEventsDeps) {
  const read = async () => ({ counts: await readCounts(), atMs: MONOTONIC_CLOCK.nowMs() })
  let latest = read()
  return async () => {
    const earlier = latest
    latest = read()
    const [last, now] = await Promise.all([earlier, latest])
    const since = subtractCounts(now.counts, last.counts)
    const seconds = Math.max((now.atMs - last.atMs) / 1000, 1)
    return {
      at: nowSeconds(clock),
      seconds,
      ...toSums(since),
      latencyMs: { p50: toPercentileMs(since, 'decision', 0.5), p95: toPercentileMs(since, 'decision', 0.95) },
    }
  }
}

const HEARTBEAT_MS = 15_000
/** While the client does not read, the oldest events beyond this number are dropped. */
const MAX_WAITING = 500

type EventStream = ReturnType<typeof createEventStream>

function createEventStream(follower: EventFollower) {
  const sleep = createWakeableSleep()
  let waiting: string[] = []
  let dropped = 0
  let isEnded = false
  const end = () => {
    isEnded = true
    waiting = []
    sleep.wake()
  }
  const take = (): string | undefined => {
    if (dropped === 0) return waiting.shift()
    const data = JSON.stringify({ count: dropped })
    dropped = 0
    return `event: dropped\ndata: ${data}\n\n`
  }
  return {
    end,
    send(event: string, value: unknown): void {
      waiting.push(`event: ${event}\ndata: ${JSON.stringify(value)}\n\n`)
      if (waiting.length > MAX_WAITING) {
        waiting.shift()
        dropped += 1
      }
      sleep.wake()
    },
    confirm: () => follower.confirm().catch(end),
    /** Yields a piece only when the client has read the one before, so that events wait in the bounded list. */
    async *read(begun: Promise<unknown>): AsyncGenerator<string> {
      await begun
      yield ': open\n\n'
      while (!isEnded) {
        sleep.beginWork()
        const next = take()
        if (next !== undefined) {
          yield next
          continue
        }
        await sleep.sleep(HEARTBEAT_MS)
        if (waiting.length === 0 && !isEnded) yield ':\n\n'
      }
    },
  }
}

export interface EventsDeps {
  readonly core: OperationDeps
  readonly live: LiveEvents
}

/** A stream of server-sent events, for administrators. It ends with the session or the rights of the client. */
export const eventsRoute = ({ live, core }: EventsDeps): Route => ({
  path: `${API_PREFIX}/events`,
  methods: {
    GET: (context) => {
      requireRight(context, { allowed: 'administrator' }, core.userAdminRole())
      const body = live.open({
        confirm: () => context.confirm(),
        onGone: (listener) => context.onGone(listener),
      })
      // a proxy that gathers the response would keep the events back
      return {
        status: 200,
        headers: [
          ['Content-Type', 'text/event-stream'],
          ['X-Accel-Buffering', 'no'],
        ],
        body,
      }
    },
  },
})
