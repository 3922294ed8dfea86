import assert from 'node:assert/strict'
import { generateKeyPairSync } from 'node:crypto'
import { enableCompileCache, getCompileCacheDir } from 'node:module'
import { it, type TestContext } from 'node:test'
import { type LogFields, SILENT_LOG } from '../../src/base/log.ts'
import { runStoreCall } from '../../src/cluster/remote-store.ts'
import { WorkerPool, type WorkerPoolDeps } from '../../src/cluster/worker-pool.ts'
import type { Store } from '../../src/directory/store-port/store.ts'
import { createMetrics } from '../../src/observe/metrics.ts'
import { createServerErrors } from '../../src/observe/server-errors.ts'
import { makeFolder } from '../support/scope.ts'
import { waitUntil } from '../support/wait.ts'

/** A pool of one worker that does what `behaviour` says: see stub-worker.ts. */
function openPool(t: TestContext, behaviour: string, readState: () => object = () => ({})) {
  const lines: string[] = []
  const events: object[] = []
  const write = (message: string) => void lines.push(message)
  const metrics = createMetrics()
  const serverErrors = createServerErrors()
  const deps = {
    count: 1,
    program: new URL('stub-worker.ts', import.meta.url),
    log: { debug: write, info: write, warn: write, error: write },
    metrics,
    serverErrors,
    generatedKey: generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey,
    relayPath: '',
    readState,
    events: { record: (_kind: string, fields: object) => void events.push(fields) },
    // a worker of a busy machine may beat late
    timeoutMs: () => (behaviour === 'hangs' ? 500 : 60_000),
  }
  // the worker asks for nothing of the other parts
  const pool = new WorkerPool(deps as unknown as WorkerPoolDeps)
  t.after(() => pool.close(1000))
  pool.addListener({ door: behaviour, endpoint: { kind: 'tcp', host: '', port: 0 }, limits: {} as never })
  pool.start()
  return { pool, lines, events, serverErrors, countReady: () => metrics.read('cardea_workers')[0]?.value }
}

const countPipes = () => process.getActiveResourcesInfo().filter((name) => name.startsWith('Pipe')).length

it('a worker that dies is started again', async (t) => {
  const { lines, countReady } = openPool(t, 'dies')
  await waitUntil(() => lines.includes('a worker thread has ended and is started again'))
  await waitUntil(() => countReady() === 1)
  assert.ok(lines.includes('a worker thread has failed'))
})

it('a worker uses the compiled modules of the main thread', async (t) => {
  // every worker would inherit it
  delete process.env['NODE_COMPILE_CACHE']
  // without effect if the runner of the tests has enabled it
  enableCompileCache(makeFolder(t))
  const { events } = openPool(t, 'reports')
  await waitUntil(() => events.length === 1)
  assert.ok(getCompileCacheDir())
  assert.deepEqual(events, [{ compiled: getCompileCacheDir() }])
})

it('the server errors of a worker are added to those of the main thread', async (t) => {
  const { serverErrors } = openPool(t, 'fails')
  await waitUntil(() => serverErrors.list().length === 1)
  assert.equal(serverErrors.list()[0]?.request, 'r1')
})

it('a worker that is stuck is replaced', async (t) => {
  const { lines, countReady } = openPool(t, 'hangs')
  await waitUntil(() => lines.includes('a worker thread is stuck'))
  await waitUntil(() => countReady() === 1)
})

it('workers are replaced when their successors serve', async (t) => {
  const { pool, lines, countReady } = openPool(t, 'serves')
  await waitUntil(() => countReady() === 1)
  await pool.roll(1000)
  assert.equal(countReady(), 1)
  assert.deepEqual(lines, ['worker threads were replaced'])
})

it('a replacement that is asked for during another follows it', async (t) => {
  let starts = 0
  const { pool, lines, countReady } = openPool(t, 'serves', () => {
    starts += 1
    if (starts === 2) asked = pool.roll(1000)
    return {}
  })
  let asked = Promise.resolve()
  await waitUntil(() => countReady() === 1)
  await pool.roll(1000)
  await asked
  assert.equal(starts, 3)
  assert.deepEqual(lines, ['worker threads were replaced', 'worker threads were replaced'])
})

it('a worker that dies while its successor starts leaves its slot to it', async (t) => {
  let starts = 0
  const { pool, lines, countReady } = openPool(t, 'dies at a change', () => {
    starts += 1
    if (starts === 2) pool.noteChange()
    return {}
  })
  await waitUntil(() => countReady() === 1)
  await pool.roll(1000)
  await waitUntil(() => lines.includes('a worker thread has failed'))
  assert.equal(countReady(), 1)
  assert.deepEqual(lines.toSorted(), ['a worker thread has failed', 'worker threads were replaced'])
})

it('a successor that cannot be started leaves the old worker, and another attempt succeeds', async (t) => {
  let starts = 0
  const { pool, lines, countReady } = openPool(t, 'serves', () => {
    starts += 1
    return starts === 2 ? assert.fail('this start fails') : {}
  })
  await waitUntil(() => countReady() === 1)
  const before = countPipes()
  await pool.roll(1000)
  assert.equal(countReady(), 1)
  await waitUntil(() => countPipes() === before)
  await pool.roll(1000)
  assert.deepEqual(lines, ['a worker thread cannot be started', 'worker threads were replaced'])
})

it('a pool that is closed starts no worker', async (t) => {
  const starts: string[] = []
  const { pool, lines } = openPool(t, 'serves', () => ({ count: starts.push('start') }))
  await pool.close(1000)
  assert.deepEqual([starts, lines], [[], []])
})

it('a failure of the store is logged in the main thread', async () => {
  const logged: unknown[] = []
  const log = { ...SILENT_LOG, error: (_message: string, fields?: LogFields) => void logged.push(fields?.['error']) }
  const error = new TypeError('the store is broken')
  const store = { listNodes: () => Promise.reject(error) } as unknown as Store
  const result = await runStoreCall(store, log, { kind: 'call', id: 1, method: 'listNodes', args: [] })
  assert.equal(result.error?.code, 'store_unavailable')
  assert.deepEqual(logged, [error])
})
