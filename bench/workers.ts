// Two workers beside one process alone: requests for the same CPU time, time to start, memory.
// Sizes: requests of a batch, connections, batches of warm-up.
import { appendFileSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { median, milliseconds, ratio } from './figures.ts'
import { startServer } from './support/child.ts'
import { closeAll, openTarget, readThreadsUs, sendBatch } from './support/cpu-time.ts'
import { withFolder } from './support/folder.ts'
import {
  killChild,
  signIn,
  signToken,
  startScript,
  toBasic,
  toLocalUrl,
  writeGatewayConfig,
} from './support/gateway.ts'

const GOALS = { median: 0.95, least: 0.9, startMs: 1500, mebibytes: 120 }
const WORKERS = 2

const HEADERS = {
  cookie: async (url) => `Cookie: ${await signIn(url)}\r\n`,
  Basic: () => `Authorization: ${toBasic()}\r\n`,
  JWT: () => `Authorization: Bearer ${signToken()}\r\n`,
}

const PATHS = { '`GET /_session`': '/_session', gateway: '/db/doc' }

/** A server with this number of workers that serve, and how long it took until it listened. */
function withServer(upstream, workers, work) {
  return withFolder(async (folder) => {
    writeGatewayConfig(folder, upstream)
    appendFileSync(join(folder, 'local.ini'), `[server]\nworkers = ${workers}\n`)
    const startedMs = performance.now()
    const server = await startServer(folder)
    const startMs = performance.now() - startedMs
    try {
      if (workers > 1) await waitForWorkers(server.document, workers)
      return await work({ url: server.document, pids: listProcesses(server.child.pid), startMs })
    } finally {
      await server.stop()
    }
  })
}

/** The process that was started, and its workers. */
const listProcesses = (pid) => [
  pid,
  ...readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim().split(' ').filter(Boolean).map(Number),
]

async function waitForWorkers(url, workers) {
  const headers = { Authorization: toBasic() }
  const read = async () => (await fetch(`${url}/_cardea/metrics`, { headers })).text()
  while (!(await read()).includes(`cardea_workers ${workers}\n`)) await pause(20)
}

/** CPU time of one request in microseconds: of all threads, and of the busiest one. */
async function measure({ pids, connections, createRequest }, batch) {
  const request = await createRequest()
  await sendBatch(connections, request, batch / 10)
  const readAll = () => new Map<string, number>(pids.flatMap((pid) => [...readThreadsUs(pid)]))
  const before = readAll()
  await sendBatch(connections, request, batch)
  const each = [...readAll()].map(([id, us]) => (us - (before.get(id) ?? 0)) / batch)
  return { all: each.reduce((sum, us) => sum + us, 0), busiest: Math.max(...each) }
}

const readMebibytes = ({ pids }) =>
  pids
    .map((pid) => Number(/^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]) / 1024)
    .reduce((sum, each) => sum + each, 0)

/** As many cores as workers serve this many times as many requests as one core serves one process alone. */
const toFactor = (alone, shared) => Math.min((WORKERS * alone.all) / shared.all, alone.all / shared.busiest)

const openTargets = (servers, path, kind, { connections }) =>
  Promise.all(
    servers.map(({ url, pids }) =>
      openTarget({ url, pids, path, createHeader: () => HEADERS[kind](url) }, connections),
    ),
  )

/** A minimal server alone, and as two workers: what this machine makes of two cores. */
const openMinimal = (alone, shared, { connections }) =>
  Promise.all(
    [alone, shared].map(({ port, child }) =>
      openTarget({ url: toLocalUrl(port), pids: listProcesses(child.pid), path: '/' }, connections),
    ),
  )

async function warmUp(targets, { batch, warmUps }) {
  // each worker gets as many as one process alone
  for (let round = 0; round < warmUps; round += 1)
    for (const { connections, createRequest } of targets)
      await sendBatch(connections, await createRequest(), WORKERS * batch)
}

async function compareRequests(targets, { rounds, batch }) {
  const values: { readonly alone: number; readonly shared: number; readonly factor: number }[] = []
  for (let round = 0; round < rounds; round += 1) {
    const [alone, shared] = [await measure(targets[0], batch), await measure(targets[1], batch)]
    values.push({ alone: alone.all, shared: shared.all, factor: toFactor(alone, shared) })
  }
  const medianOf = (key) => median(values.map((each) => each[key]))
  return { alone: medianOf('alone'), shared: medianOf('shared'), factor: medianOf('factor') }
}

/** How much later the server with workers listened: of the two that run, and of more starts. */
async function measureStarts([alone, shared], upstream, runs) {
  const values = [shared.startMs - alone.startMs]
  for (let run = 1; run < runs; run += 1) {
    const alone = await withServer(upstream, 1, async ({ startMs }) => startMs)
    values.push((await withServer(upstream, WORKERS, async ({ startMs }) => startMs)) - alone)
  }
  return median(values)
}

const microseconds = (us) => `${us.toFixed(1)} µs`

/** Runs `work` with connections to both servers for each row. */
async function forEachRow(servers, sizes, work) {
  for (const [name, path] of Object.entries(PATHS))
    for (const kind of Object.keys(HEADERS)) {
      const targets = await openTargets(servers, path, kind, sizes)
      await work(targets, `${name}, ${kind}`)
      closeAll(targets)
    }
}

async function compareAll(servers, openBare, sizes) {
  const compared = new Map()
  // all of them before the first is measured: they share most of the code
  await forEachRow(servers, sizes, (targets) => warmUp(targets, sizes))
  await forEachRow(servers, sizes, async (targets, name) => {
    compared.set(name, await compareRequests(targets, sizes))
  })
  // only now: a minimal server closes connections that were idle for five seconds
  const minimal = await openBare()
  await warmUp(minimal, sizes)
  const bare = await compareRequests(minimal, sizes)
  closeAll(minimal)
  const shares = [...compared.values()].map(({ factor }) => factor / bare.factor)
  const rows = [...compared, ['minimal server', bare] as const].map(([name, { alone, shared, factor }]) => [
    name,
    microseconds(alone),
    microseconds(shared),
    ratio(factor),
    ratio(factor / bare.factor),
  ])
  return { rows, areSharesMet: median(shares) >= GOALS.median && Math.min(...shares) >= GOALS.least }
}

export const bench = {
  title: 'Workers',
  about:
    'CPU time of one request of a server of one process and of one with two workers, all processes together, in ' +
    'alternating batches. The factor is how many times as many requests two cores serve with two workers as one core ' +
    'does without: twice the ratio of these times, or less if one thread takes more than half of the work. It is the ' +
    'median of the rounds. The last row is a minimal `node:http` server, alone and as two workers of `node:cluster`: ' +
    'what this machine makes of two cores. The last column is the share of it that Cardea reaches. ' +
    `Goals: a share of ${GOALS.median} (median) and ${GOALS.least} (least), a start at most ${GOALS.startMs} ms ` +
    `later, at most ${GOALS.mebibytes} MiB for each worker.`,
  runs: 20,
  async run(rounds, [batch = 2000, connections = 32, warmUps = 10]: readonly number[] = []) {
    await using started = new AsyncDisposableStack()
    const open = async (...script: [string, ...string[]]) => started.adopt(await startScript(...script), killChild)
    const [bare, bareWorkers] = [await open('upstream.ts'), await open('cluster.ts', String(WORKERS))]
    const upstream = toLocalUrl(bare.port)
    return await withServer(upstream, 1, (alone) =>
      withServer(upstream, WORKERS, async (shared) => {
        const sizes = { rounds, batch, connections, warmUps }
        const openBare = () => openMinimal(bare, bareWorkers, sizes)
        const { rows, areSharesMet } = await compareAll([alone, shared], openBare, sizes)
        const starts = await measureStarts([alone, shared], upstream, Math.min(rounds, 5))
        const [before, after] = [readMebibytes(alone), readMebibytes(shared)]
        const perWorker = (after - before) / WORKERS
        return {
          columns: ['', 'one process', 'two workers', 'factor', 'share'],
          rows: [
            ...rows,
            ['start', '', '', `${milliseconds(starts)} later`, ''],
            ['memory', `${before.toFixed(0)} MiB`, `${after.toFixed(0)} MiB`, `${perWorker.toFixed(0)} MiB each`, ''],
          ],
          isGoalMet: areSharesMet && starts <= GOALS.startMs && perWorker <= GOALS.mebibytes,
        }
      }),
    )
  },
}
