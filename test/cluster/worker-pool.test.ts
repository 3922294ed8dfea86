import assert from 'node:assert/strict'
import { generateKeyPairSync } from 'node:crypto'
import { it, type TestContext } from 'node:test'
import { WorkerPool, type WorkerPoolDeps } from '../../src/cluster/worker-pool.ts'
import { createMetrics } from '../../src/observe/metrics.ts'
import { waitUntil } from '../support/wait.ts'

/** A pool of one worker that does what `behaviour` says: see stub-worker.ts. */
function openPool(t: TestContext, behaviour: string) {
  const lines: string[] = []
  const write = (message: string) => void lines.push(message)
  const metrics = createMetrics()
  const deps = {
    count: 1,
    program: new URL('stub-worker.ts', import.meta.url),
    log: { debug: write, info: write, warn: write, error: write },
    metrics,
    generatedKey: generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey,
    relayPath: '',
    readState: () => ({}),
    timeoutMs: () => 500,
    onEvent: () => {},
  }
  // the worker asks for nothing of the other parts
  const pool = new WorkerPool(deps as unknown as WorkerPoolDeps)
  t.after(() => pool.close(1000))
  pool.addListener({ door: behaviour, endpoint: { kind: 'tcp', host: '', port: 0 }, limits: {} as never })
  pool.start()
  return { pool, lines, countReady: () => metrics.read('cardea_workers')[0]?.value }
}

it('a worker that dies is started again', async (t) => {
  const { lines, countReady } = openPool(t, 'dies')
  await waitUntil(() => lines.includes('a worker thread has ended and is started again'))
  await waitUntil(() => countReady() === 1)
  assert.ok(lines.includes('a worker thread has failed'))
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
