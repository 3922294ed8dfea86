// The minimal server as workers of `node:cluster`. Argument: how many.
import cluster from 'node:cluster'
import { join } from 'node:path'

cluster.setupPrimary({ exec: join(import.meta.dirname, 'upstream.ts'), args: [], silent: true })
let waiting = Number(process.argv[2])
cluster.on('listening', (_worker, { port }) => {
  waiting -= 1
  if (waiting === 0) process.stdout.write(`${JSON.stringify({ port })}\n`)
})
for (let left = waiting; left > 0; left -= 1) cluster.fork()
