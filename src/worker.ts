// The program of a worker thread.
import { workerData } from 'node:worker_threads'
import { runWorker } from './wiring/worker.ts'

await runWorker(workerData)
