// A worker thread that does what its listeners are named after.
import { setTimeout as pause } from 'node:timers/promises'
import { parentPort, workerData } from 'node:worker_threads'
import { BEATS, type WorkerStart } from '../../src/cluster/messages.ts'

const { counters, slot, listeners }: WorkerStart = workerData
const [first] = listeners
parentPort?.postMessage({ kind: 'ready' })
// only the first worker of the slot: its successor finds that it has run
if (Atomics.add(counters, BEATS + slot, 1) === 0 && first?.door === 'dies') {
  await pause(50)
  throw new Error('this worker dies')
}
if (Atomics.load(counters, BEATS + slot) === 1 && first?.door === 'hangs') for (;;);
parentPort?.on('message', ({ kind }) => {
  if (kind === 'retire' || kind === 'stop') process.exit(0)
})
setInterval(() => Atomics.add(counters, BEATS + slot, 1), 20)
