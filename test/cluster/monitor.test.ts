import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { test } from 'node:test'
import { SYSTEM_CLOCK } from '../../src/base/clock.ts'
import { SILENT_LOG } from '../../src/base/log.ts'
import { type MonitorDeps, openMonitor } from '../../src/cluster/monitor.ts'
import { Router } from '../../src/cluster/router.ts'
import type { Store } from '../../src/directory/store-port/store.ts'
import { joinMetrics } from '../../src/observe/joined-metrics.ts'
import { createMetrics } from '../../src/observe/metrics.ts'
import { createServerErrors } from '../../src/observe/server-errors.ts'
import { openStore } from '../../src/store/create-store.ts'
import type { Scope } from '../support/scope.ts'
import { joinWorker } from '../support/siblings.ts'

const OWN_KEY = randomBytes(32)
const SECRETS: ReturnType<MonitorDeps['secrets']> = {
  ownKey: OWN_KEY,
  // no token is signed here
  tokens: { version: 'v', verifying: [] } as unknown as ReturnType<MonitorDeps['secrets']>['tokens'],
  upstream: undefined,
  cookies: ['c'],
}

async function openShared(scope: Scope): Promise<Store> {
  const store = await openStore('sqlite::memory:', { log: SILENT_LOG })
  scope.after(() => store.close())
  return store
}

/** A worker that serves. */
async function start(router: Router, store: Store, engine = 'postgres') {
  const { siblings, member } = await joinWorker(router)
  const metrics = createMetrics()
  const serverErrors = createServerErrors()
  const joined = await joinMetrics(metrics, siblings)
  const monitor = await openMonitor({
    // the claim of a name on SQLite relies on the lock of the store
    store: { ...store, engine },
    siblings,
    metrics,
    readMetrics: joined.read,
    serverErrors,
    clock: SYSTEM_CLOCK,
    nodeName: () => 'cardea',
    stalenessMs: () => 3,
    isServing: () => true,
    secrets: () => SECRETS,
    checkHealth: async () => [],
  })
  member.setReady()
  return {
    monitor,
    metrics,
    serverErrors,
    place: siblings.place,
    retire: () => member.setLeaving(),
    kill: () => member.leave(),
  }
}

type Worker = Awaited<ReturnType<typeof start>>

async function startTwo(scope: Scope) {
  const store = await openShared(scope)
  const router = new Router(2)
  const [one, two] = [await start(router, store), await start(router, store)]
  return { store, router, one, two }
}

const findWorkersProblem = async ({ monitor }: Worker) =>
  (await monitor.checks.find(({ name }) => name === 'workers')?.find())?.reason

test('the list of nodes has one row with all processes, whichever is asked', async (t) => {
  const { one, two } = await startTwo(t)
  for (const { monitor } of [one, two]) {
    const nodes = await monitor.listNodes()
    assert.deepEqual(
      nodes.map(({ instance, name, state }) => [instance, name, state.processes?.map(({ place }) => place)]),
      [[monitor.instance, 'cardea', [1, 2]]],
    )
    assert.deepEqual(
      (await monitor.listProcesses()).map(({ place, pid, lagMs, memoryBytes }) => [place, pid, lagMs, memoryBytes > 0]),
      [
        [1, process.pid, 3, true],
        [2, process.pid, 3, true],
      ],
    )
  }
  await one.monitor.close()
  await two.monitor.close()
})

test('the row stays until the last process has closed, and only that one was the last', async (t) => {
  const { store, one, two } = await startTwo(t)
  await one.monitor.close()
  assert.equal(one.monitor.isLast(), false)
  assert.equal((await store.listNodes()).length, 1)
  await two.monitor.close()
  assert.equal(two.monitor.isLast(), true)
  assert.deepEqual(await store.listNodes(), [])
})

test('of two processes that close at the same time one is the last', async (t) => {
  const { store, one, two } = await startTwo(t)
  await Promise.all([one.monitor.close(), two.monitor.close()])
  assert.equal([one, two].filter(({ monitor }) => monitor.isLast()).length, 1)
  assert.deepEqual(await store.listNodes(), [])
})

test('a process that is started again keeps the name of its server, another server is refused', async (t) => {
  const { store, router, one, two } = await startTwo(t)
  one.kill()
  const three = await start(router, store)
  assert.equal((await three.monitor.listNodes()).length, 1)
  await assert.rejects(start(new Router(2), store), /Another node with the name cardea is running/)
  await two.monitor.close()
  await three.monitor.close()
})

test('a warning says how many workers serve while one is missing', async (t) => {
  const store = await openShared(t)
  const router = new Router(2)
  const one = await start(router, store)
  assert.equal(await findWorkersProblem(one), undefined, 'while the server starts')
  const two = await start(router, store)
  // both have served, although neither was asked meanwhile
  two.kill()
  assert.equal(await findWorkersProblem(one), 'only 1 of 2 workers serve requests')
  assert.deepEqual(one.metrics.read('cardea_workers'), [{ labels: {}, value: 1 }])
  const three = await start(router, store)
  assert.equal(await findWorkersProblem(one), undefined)
  one.kill()
  assert.equal(await findWorkersProblem(three), 'only 1 of 2 workers serve requests')
  await one.monitor.close()
  await three.monitor.close()
})

test('server errors of all processes are listed, the newest first, also of one that has left', async (t) => {
  const { one, two } = await startTwo(t)
  const error = { request: 'a', door: 'document', method: 'GET', path: '/', status: 502 }
  one.serverErrors.add({ ...error, time: 1 }, { ...error, time: 3 })
  two.serverErrors.add({ ...error, time: 2 })
  const listTimes = async ({ monitor }: Worker) => (await monitor.listServerErrors()).map(({ time }) => time)
  assert.deepEqual(
    [await listTimes(one), await listTimes(two)],
    [
      [3, 2, 1],
      [3, 2, 1],
    ],
  )
  one.retire()
  await one.monitor.close()
  one.kill()
  assert.deepEqual(await listTimes(two), [3, 2, 1])
  await two.monitor.close()
})

test('totals have what every process has counted up to now', async (t) => {
  const { one, two } = await startTwo(t)
  for (const { metrics } of [one, two])
    metrics.counter('cardea_sign_ins_total', { door: 'document', outcome: 'accepted', handler: 'cookie' }).count += 1
  const totals = await one.monitor.listTotals(60, 0)
  assert.equal(
    totals.reduce((sum, { counts }) => sum + (counts['signIns/document/cookie'] ?? 0), 0),
    2,
  )
  assert.equal((await two.monitor.readCounts())['signIns/document/cookie'], 2)
  await one.monitor.close()
  await two.monitor.close()
})
