// How long changes take to reach all nodes of one PostgreSQL. Sizes: seconds of a row, nodes and changes a second at most.
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { SILENT_LOG } from '../src/base/log.ts'
import { openStore } from '../src/store/create-store.ts'
import { createIn } from '../test/contract/store-values.ts'
import { startPostgres } from '../test/store/postgres-server.ts'
import { startProgram } from './support/child.ts'
import { readCpuSeconds } from './support/postgres-cpu.ts'

const NODES = [1, 4, 16, 64, 128]
const RATES = [10, 100, 1000]
const MODES = ['notify', 'poll']
/** Light nodes in one process. */
const IN_PROCESS = 32
const MAX_P99_MS = 1000
const WRITERS = 16

const nowMs = () => performance.timeOrigin + performance.now()

/** Sends changes at this rate, until the time is over. Returns how many were acknowledged. */
async function write(store, rate: number, seconds: number): Promise<number> {
  const startedMs = nowMs()
  const total = Math.max(1, Math.round(rate * seconds))
  let next = 0
  let done = 0
  const run = async () => {
    for (let number = next++; number < total && nowMs() - startedMs < seconds * 1000; number = next++) {
      const waitMs = startedMs + (number / rate) * 1000 - nowMs()
      if (waitMs > 1) await pause(waitMs)
      await createIn(store, `${startedMs}-${number} ${nowMs()}`)
      done += 1
    }
  }
  await Promise.all(Array.from({ length: Math.min(WRITERS, total) }, run))
  return done
}

async function startFollowers(url: string, nodes: number, mode: string) {
  const processes = Math.ceil(nodes / IN_PROCESS)
  const counts = Array.from({ length: processes }, (_, index) => Math.floor((nodes + index) / processes))
  const program = join(import.meta.dirname, 'support/followers.ts')
  const children = counts.map((count) =>
    startProgram(program, [url, String(count), mode], { cwd: import.meta.dirname }),
  )
  await Promise.all(children.map((child) => child.says(/following\n/)))
  return async () => {
    for (const { child } of children) child.kill('SIGTERM')
    return Promise.all(
      children.map(async ({ ended, output }) => {
        await ended
        return JSON.parse(output().split('following\n')[1] ?? '')
      }),
    )
  }
}

const percentile = (sorted: readonly number[], part: number) =>
  sorted[Math.floor((sorted.length - 1) * part)] ?? Number.NaN

async function measureRow(server, { nodes, rate, mode, seconds }) {
  const url = await server.createPlace()
  const store = await openStore(url, { log: SILENT_LOG })
  const stop = await startFollowers(url, nodes, mode)
  const ask = async (column: string) => Number(Object.values((await server.execute(url, `SELECT ${column}`))[0])[0])
  const pid = await ask(`pid FROM pg_stat_activity WHERE application_name = 'cardea' LIMIT 1`)
  const [cpu, startedMs] = [readCpuSeconds(pid), nowMs()]
  const changes = await write(store, rate, seconds)
  const lastedSeconds = (nowMs() - startedMs) / 1000
  const cores = (readCpuSeconds(pid) - cpu) / lastedSeconds
  const connections = await ask(`count(*) FROM pg_stat_activity WHERE application_name = 'cardea'`)
  // the last change arrives by then, or is left out
  await pause(Math.min(2000, seconds * 1000))
  const reports = await stop()
  await store.close()
  const last = new Map<string, number>()
  for (const { delays } of reports) for (const [key, ms] of delays) last.set(key, Math.max(last.get(key) ?? 0, ms))
  const sorted = [...last.values()].sort((a, b) => a - b)
  const bytes = reports.reduce((sum, report) => sum + report.bytes, 0)
  return {
    nodes,
    mode,
    rate,
    reached: changes / lastedSeconds,
    cores,
    p99: percentile(sorted, 0.99),
    cells: [
      String(nodes),
      toName(mode),
      String(rate),
      (changes / lastedSeconds).toFixed(0),
      `${percentile(sorted, 0.5).toFixed(0)} ms`,
      `${percentile(sorted, 0.99).toFixed(0)} ms`,
      cores.toFixed(2),
      String(connections),
      `${(bytes / nodes / lastedSeconds / 1024).toFixed(0)} KiB`,
    ],
  }
}

const CORES = [2, 8, 32]

/** The cores that a node takes, and that the changes take without nodes; `undefined`: the machine was too slow. */
function findCost(rows, rate: number) {
  const [few, ...more] = rows.filter((row) => row.rate === rate && row.reached >= 0.8 * rate)
  const many = more.at(-1)
  if (!many || many.cores <= few.cores) return undefined
  const node = (many.cores - few.cores) / (many.nodes - few.nodes)
  return { node, changes: Math.max(0, few.cores - few.nodes * node) }
}

/** `nodes = (cores / 2 - changes) / node` */
function renderCapacity(measured): string {
  const lines = MODES.flatMap((mode) => {
    const costs = RATES.map((rate) =>
      findCost(
        measured.filter((row) => row.mode === mode),
        rate,
      ),
    )
    const renderLine = (title: string, render) =>
      `| ${[title, toName(mode), ...costs.map((cost) => (cost ? render(cost) : '-'))].join(' | ')} |`
    return [
      renderLine('one node takes', ({ node }) => `${(node * 1000).toFixed(1)} ms/s`),
      renderLine('the changes take', ({ changes }) => `${(changes * 1000).toFixed(0)} ms/s`),
      ...CORES.map((cores) =>
        renderLine(
          `half of ${cores} cores`,
          ({ node, changes }) => `${Math.max(0, Math.floor((cores / 2 - changes) / node))} nodes`,
        ),
      ),
    ]
  })
  const head = [
    `| | by | ${RATES.map((rate) => `${rate} changes/s`).join(' | ')} |`,
    `|---|---|${'---:|'.repeat(RATES.length)}`,
  ]
  return `What follows, for the rows that reached their rate: nodes = (cores / 2 - changes) / node.\n\n${[...head, ...lines].join('\n')}`
}

const toName = (mode: string) => (mode === 'notify' ? 'NOTIFY' : 'polling')

export const bench = {
  title: 'Nodes',
  about:
    'Followers of one PostgreSQL, with a real store each, while one process creates users. The delay is from sending the ' +
    'change until the last node has it. `polling` is without LISTEN: a node looks every 250 ms. Processor time is that ' +
    `of PostgreSQL alone, in cores; all run on the same machine. Goal: p99 below ${MAX_P99_MS / 1000} s.`,
  page: 'how-far-it-goes.md',
  runs: 1,
  async run(_runs, [seconds = 5, maxNodes = 128, maxRate = 1000]: readonly number[] = []) {
    const server = await startPostgres({ isDurable: true, maxConnections: 400 })
    const measured: Awaited<ReturnType<typeof measureRow>>[] = []
    try {
      for (const nodes of NODES.filter((each) => each <= maxNodes))
        for (const mode of MODES)
          for (const rate of RATES.filter((each) => each <= maxRate))
            measured.push(await measureRow(server, { nodes, rate, mode, seconds }))
    } finally {
      await server.stop()
    }
    const columns = [
      'nodes',
      'by',
      'changes/s',
      'reached',
      'p50',
      'p99',
      'PostgreSQL',
      'connections',
      'each node, a second',
    ]
    return {
      columns,
      rows: measured.map(({ cells }) => cells),
      after: renderCapacity(measured),
      isGoalMet: measured.every(({ p99 }) => p99 < MAX_P99_MS),
    }
  },
}
