import assert from 'node:assert/strict'
import { test } from 'node:test'
import { SILENT_LOG } from '../../src/base/log.ts'
import { createMetrics, type Metrics } from '../../src/observe/metrics.ts'
import { readCounts, type Totals, TotalsRecorder, type TotalsStore } from '../../src/observe/record-totals.ts'
import { RANGES, startOf, toPercentileMs, toSteps, toTotalSeries } from '../../src/observe/total-series.ts'
import { openStore } from '../../src/store/create-store.ts'
import type { Scope } from '../support/scope.ts'

const START = 1_800_000_000

const signIn = (metrics: Metrics, count = 1) => {
  metrics.counter('cardea_sign_ins_total', { door: 'document', outcome: 'accepted', handler: 'cookie' }).count += count
}

async function startRecorder(scope: Scope, replaced: Partial<TotalsStore> = {}) {
  const store = await openStore('sqlite::memory:', { log: SILENT_LOG })
  const metrics = createMetrics()
  const clock = { now: START, nowMs: () => clock.now * 1000 }
  const recorder = new TotalsRecorder(metrics, { ...store, ...replaced }, clock, () => true)
  scope.after(async () => {
    await recorder.stop()
    await store.close()
  })
  const list = async (step: Totals['step']) =>
    (await store.listTotals(step, 0)).map(({ at, counts }) => [at - START, counts['signIns/document/cookie'] ?? 0])
  return { metrics, clock, recorder, list }
}

test('counts what happened in each minute and hour', async (t) => {
  const { metrics, clock, recorder, list } = await startRecorder(t)
  signIn(metrics)
  clock.now += 30
  await recorder.flush()
  signIn(metrics, 2)
  clock.now += 30
  await recorder.flush()
  signIn(metrics, 4)
  clock.now += 60
  await recorder.flush()
  clock.now += 60
  await recorder.flush()
  assert.deepEqual(await list(60), [
    [0, 3],
    [60, 4],
    [120, 0],
  ])
  assert.deepEqual(await list(3600), [[0, 7]])
})

test('keeps counts while the store cannot be written', async (t) => {
  let isDown = true
  const written: Totals[] = []
  const putTotals: TotalsStore['putTotals'] = async (totals) => {
    if (isDown) throw new Error('no store')
    written.push(...totals)
  }
  const { metrics, clock, recorder } = await startRecorder(t, { putTotals })
  for (let minute = 0; minute < 3; minute += 1) {
    signIn(metrics)
    clock.now += 60
    await assert.rejects(recorder.flush())
  }
  isDown = false
  await recorder.flush()
  const minutes = written.filter(({ step }) => step === 60)
  assert.deepEqual(
    minutes.map(({ at, counts }) => [at - START, counts['signIns/document/cookie'] ?? 0]),
    [
      [0, 1],
      [60, 1],
      [120, 1],
      [180, 0],
    ],
  )
})

test('removes minutes after two days and hours after 30 days', async (t) => {
  const purged: [number, number][] = []
  const purgeTotals: TotalsStore['purgeTotals'] = async (step, before) => {
    purged.push([step, START - before])
    return 0
  }
  const { recorder } = await startRecorder(t, { purgeTotals })
  await recorder.flush()
  await recorder.flush()
  assert.deepEqual(purged, [
    [60, 2 * 86_400],
    [3600, 30 * 86_400],
  ])
})

test('reads the series from the metrics', () => {
  const metrics = createMetrics()
  signIn(metrics)
  metrics.counter('cardea_sign_ins_total', { door: 'multi-model', outcome: 'refused', handler: 'basic' }).count += 2
  metrics.counter('cardea_limits_reached_total', { limit: 'lockout' }).count += 3
  metrics.counter('cardea_sessions_revoked_total', { what: 'one' }).count += 4
  metrics.counter('cardea_sessions_revoked_total', { what: 'all' }).count += 5
  metrics.counter('cardea_sessions_revoked_total', { what: 'sign-out' }).count += 6
  metrics.histogram('cardea_decision_seconds', { door: 'document' }).observe(0.0002)
  metrics.histogram('cardea_decision_seconds', { door: 'multi-model' }).observe(0.0002)
  for (const [route, status] of [
    ['a', '2xx'],
    ['b', '2xx'],
    ['a', '5xx'],
    ['/_up', '5xx'],
    ['/_cardea/ready', '2xx'],
  ] as const)
    metrics.counter('cardea_requests_total', {
      door: 'document',
      route,
      method: 'GET',
      status,
      handler: 'x',
    }).count += 1
  assert.deepEqual(readCounts(metrics.copy()), {
    'signIns/document/cookie': 1,
    'refusals/multi-model/basic': 2,
    'lockouts/lockout': 3,
    revocations: 9,
    signOuts: 6,
    'decision/0.00025': 2,
    'requests/document/2xx': 2,
    'requests/document/5xx': 1,
    'requests/document/probe': 2,
  })
})

for (const [name, range] of Object.entries(RANGES)) {
  test(`${name} has at most 300 points, of which the last contains the present`, () => {
    const from = startOf(range, START + 17)
    const steps = toSteps([{ step: range.stored, at: START, instance: 'a', counts: { revocations: 1 } }], range, from)
    assert.ok(steps.length <= 300)
    assert.equal(from + steps.length * range.stepSeconds, START - (START % range.stepSeconds) + range.stepSeconds)
    assert.deepEqual(steps.at(-1), { revocations: 1 })
    assert.equal(steps.at(-2), undefined)
  })
}

test('adds the totals of all nodes, and shows steps without any as gaps', () => {
  const steps = [
    undefined,
    { 'signIns/document/cookie': 1, 'signIns/multi-model/basic': 2, 'requests/document/5xx': 3 },
    {},
  ]
  const { signIns, signInsByHandler, requests, serverErrors, lockouts, latencyMs } = toTotalSeries(steps)
  assert.deepEqual(signIns, { document: [null, 1, 0], 'multi-model': [null, 2, 0] })
  assert.deepEqual(signInsByHandler, { basic: [null, 2, 0], cookie: [null, 1, 0] })
  assert.deepEqual(requests['document'], [null, 3, 0])
  assert.deepEqual(
    [serverErrors, lockouts, latencyMs.p50],
    [
      [null, 3, 0],
      [null, 0, 0],
      [null, null, null],
    ],
  )
})

const PERCENTILES: readonly [
  name: string,
  counts: Readonly<Record<string, number>>,
  part: number,
  ms: number | null,
][] = [
  ['no value', {}, 0.5, null],
  ['within a bucket', { 'decision/0.01': 10 }, 0.5, 7.5],
  ['in a later bucket', { 'decision/0.001': 90, 'decision/1': 10 }, 0.95, 750],
  ['above all bounds', { 'decision/+Inf': 1 }, 0.5, 10_000],
]

for (const [name, counts, part, ms] of PERCENTILES) {
  test(`percentile: ${name}`, () => assert.equal(toPercentileMs(counts, 'decision', part), ms))
}
