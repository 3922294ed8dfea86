// How long an acknowledged change takes with one, two and four workers. Sizes: changes of a round, changes at a time,
// numbers of workers.
import { appendFileSync } from 'node:fs'
import { join } from 'node:path'
import { median } from './figures.ts'
import { startServer } from './support/child.ts'
import { withFolder } from './support/folder.ts'
import { toBasic, writeGatewayConfig } from './support/gateway.ts'

const WORKERS = [1, 2, 4]
const MAX_MS = 20

function withServer(workers, work) {
  return withFolder(async (folder) => {
    writeGatewayConfig(folder, 'http://127.0.0.1:9')
    appendFileSync(join(folder, 'local.ini'), `[server]\nworkers = ${workers}\n`)
    const server = await startServer(folder)
    try {
      return await work(server.document)
    } finally {
      await server.stop()
    }
  })
}

async function request(url, method, path, body) {
  const headers = { Authorization: toBasic(), 'Content-Type': 'application/json' }
  const response = await fetch(`${url}/_cardea/api${path}`, { method, headers, body: JSON.stringify(body) })
  await response.arrayBuffer()
  if (!response.ok) throw new Error(`${method} ${path}: ${response.status}`)
}

/** The milliseconds that each change of roles took. */
async function measure(url, name, changes) {
  const times: number[] = []
  await request(url, 'POST', '/users', { name, password: 'a-password-of-benches' })
  for (let change = 0; change < changes; change += 1) {
    const startMs = performance.now()
    await request(url, 'PUT', `/users/${name}/roles`, { roles: [`r${change}`] })
    times.push(performance.now() - startMs)
  }
  return times
}

const render = (ms) => `${ms.toFixed(1)} ms`

async function measureRow(workers, rounds, changes, clients) {
  return withServer(workers, async (url) => {
    const [alone, together]: [number[], number[]] = [[], []]
    await measure(url, 'warm', changes)
    for (let round = 0; round < rounds; round += 1) {
      alone.push(...(await measure(url, `alone${round}`, changes)))
      const all = Array.from({ length: clients }, (_, client) => measure(url, `user${round}-${client}`, changes))
      together.push(...(await Promise.all(all)).flat())
    }
    const p99 = together.sort((a, b) => a - b)[Math.floor(together.length * 0.99)] ?? 0
    return { workers, alone: median(alone), together: median(together), p99 }
  })
}

export const bench = {
  title: 'Acknowledged changes',
  about:
    'Time of a change of roles until it is acknowledged, over SQLite: every worker has applied it then. One change at ' +
    'a time, and eight clients that change users all the time. The first row has one process, which tells no other. ' +
    `Goal: at most ${MAX_MS} ms for one change at a time (median).`,
  runs: 3,
  async run(rounds, [changes = 200, clients = 8, ...counts]: readonly number[] = []) {
    const measured: Awaited<ReturnType<typeof measureRow>>[] = []
    for (const workers of counts.length > 0 ? counts : WORKERS)
      measured.push(await measureRow(workers, rounds, changes, clients))
    return {
      columns: ['workers', 'one at a time', `${clients} clients`, `${clients} clients, p99`],
      rows: measured.map(({ workers, alone, together, p99 }) => [
        String(workers),
        render(alone),
        render(together),
        render(p99),
      ]),
      isGoalMet: measured.every(({ alone }) => alone <= MAX_MS),
    }
  },
}
