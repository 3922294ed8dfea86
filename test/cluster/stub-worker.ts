// A worker thread that does what its listeners are named after.
import { getCompileCacheDir } from 'node:module'
import { setTimeout as pause } from 'node:timers/promises'
import { parentPort, workerData } from 'node:worker_threads'
import { FAILURES, type WorkerStart } from '../../src/cluster/messages.ts'

const { counters, beats, listeners }: WorkerStart = workerData
const [first] = listeners
parentPort?.postMessage({ kind: 'ready' })
// only the first worker: its successor finds that it has run
const isFirst = Atomics.add(counters, FAILURES, 1) === 0
if (isFirst && first?.door === 'dies') {
  await pause(50)
  throw new Error('this worker dies')
}
if (first?.door === 'reports')
  parentPort?.postMessage({ kind: 'event', event: 'report', fields: { compiled: getCompileCacheDir() } })
if (first?.door === 'fails') {
  const error = { time: 1, request: 'r1', door: 'document', method: 'GET', path: '/db', status: 500 }
  parentPort?.postMessage({ kind: 'metrics', copy: [], serverErrors: [error] })
}
if (isFirst && first?.door === 'hangs') for (;;);
parentPort?.on('message', ({ kind }) => {
  if (kind === 'retire' || kind === 'stop') process.exit(0)
  if (isFirst && kind === 'changed' && first?.door === 'dies at a change') throw new Error('this worker dies')
})
setInterval(() => Atomics.add(beats, 0, 1), 20)
