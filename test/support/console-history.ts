// What happened at the demonstration server before it was started, the same in every run.
import { SILENT_LOG } from '../../src/base/log.ts'
import { CHAIN_START, sealAll } from '../../src/observe/audit/audit-record.ts'
import { MINUTE } from '../../src/observe/record-totals.ts'
import { openStore } from '../../src/store/create-store.ts'
import { DEMO_NAMES } from './console-demo.ts'

type Store = Awaited<ReturnType<typeof openStore>>

const OTHER_NODE = 'cardea@db2.example.com'
const MINUTES = 60
const HOUR = 3600

/** An hour of traffic for the charts of the overview, and sign-ins and refusals of the last days for the users. */
export const addHistory = (storeUrl: string): Promise<void> =>
  withStore(storeUrl, async (store) => {
    await addTraffic(store)
    await addSignIns(store)
    await addRefusals(store)
  })

/** A second node that has not been seen for two minutes. */
export const addLostNode = (storeUrl: string): Promise<void> =>
  withStore(storeUrl, (store) => {
    const seenAt = nowSeconds() - 2 * MINUTE
    const state = { version: '0.1.0', startedAt: seenAt - 40 * HOUR, lagMs: 12, keysHash: 'b'.repeat(64), problems: [] }
    return store.putNode({ instance: 'lost', name: OTHER_NODE, seenAt, state })
  })

async function withStore(url: string, work: (store: Store) => Promise<unknown>): Promise<void> {
  const store = await openStore(url, { log: SILENT_LOG })
  try {
    await work(store)
  } finally {
    await store.close()
  }
}

const nowSeconds = (): number => Math.floor(Date.now() / 1000)

function addTraffic(store: Store): Promise<void> {
  const now = nowSeconds()
  const start = now - (now % MINUTE) - MINUTES * MINUTE
  return store.putTotals(
    Array.from({ length: MINUTES }, (_, minute) => ({
      step: MINUTE,
      at: start + minute * MINUTE,
      instance: 'demo',
      counts: toCounts(minute),
    })),
  )
}

const addSignIns = (store: Store): Promise<void> =>
  store.putSignIns(
    DEMO_NAMES.filter((_, at) => at % 4 !== 3).map((name, at) => ({
      name,
      at: nowSeconds() - (at * at + 1) * HOUR,
      peer: `10.4.${at % 3}.${30 + at}`,
    })),
  )

/** Users who mistype now and then, and one whose password is guessed. */
const REFUSED: readonly (readonly [name: string, hoursAgo: readonly number[], count: number])[] = [
  ['alan', [20, 9], 1],
  ['grace', [14, 13, 12, 6, 5, 4, 3, 2, 1], 9],
  ['katherine', [17, 16, 2], 2],
  ['radia', [23, 11, 10], 1],
]

async function addRefusals(store: Store): Promise<void> {
  const now = Date.now()
  const opened = REFUSED.flatMap(([subject, hours, count], at) =>
    hours.map((hour) => ({
      time: now - hour * HOUR * 1000,
      event: 'sign-in.refused',
      outcome: 'failure' as const,
      node: OTHER_NODE,
      fields: {
        ...{ subject, reason: 'wrong password', peer: `10.4.1.${40 + at}`, handler: 'default', door: 'document' },
        ...(count > 1 && { count: count + (hour % 3) * 4 }),
      },
    })),
  )
  const [first, ...others] = sealAll(
    opened.toSorted((a, b) => a.time - b.time),
    CHAIN_START,
  )
  if (!first) return
  await store.appendAudit({
    ...{ node: OTHER_NODE, after: CHAIN_START, records: [first, ...others], nowMs: now },
    sign: () => undefined,
  })
}

function toCounts(minute: number) {
  const wave = (period: number, base: number, height: number) =>
    Math.max(Math.round(base + height * Math.sin(minute / period) + ((minute * 7) % 5)), 0)
  const isAttack = minute >= 38 && minute <= 41
  return {
    'signIns/document/cookie': wave(9, 40, 18),
    'signIns/document/default': wave(5, 12, 6),
    'signIns/multi-model/bearer': wave(7, 24, 9),
    'refusals/document/default': isAttack ? 31 : wave(3, 1, 1),
    'refusals/multi-model/bearer': wave(6, 0, 1),
    'requests/document/2xx': wave(9, 620, 260),
    'requests/document/4xx': wave(4, 14, 8),
    'requests/multi-model/2xx': wave(7, 340, 120),
    'decision/0.0005': wave(9, 480, 190),
    'decision/0.001': wave(9, 320, 120),
    'decision/0.005': wave(5, 40, 22),
    'decision/0.01': isAttack ? 90 : wave(4, 6, 5),
    'upstream/0.005': wave(9, 520, 220),
    'upstream/0.01': wave(7, 280, 110),
    'upstream/0.05': wave(5, 30, 20),
    revocations: minute % 11 === 0 ? 1 : 0,
  }
}
