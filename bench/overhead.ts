// What audit trail and metrics add to a request with a session cookie. Sizes: requests of a batch, connections, batches
// of warm-up.
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { median } from './figures.ts'
import { closeAll, measureBatch, openTarget } from './support/cpu-time.ts'
import { withFolder } from './support/folder.ts'
import { killChild, signIn, startScript, toLocalUrl, writeGatewayConfig } from './support/gateway.ts'

const MAX_RATIO = 1.05

const REQUESTS = [
  { name: '`GET /_session`', path: '/_session' },
  { name: 'a document through the gateway', path: '/db/doc' },
]

/** A cookie older than a minute would be renewed by every response. */
const SESSION_MS = 30_000

function createCookieHeader(url) {
  let header = ''
  let openedAtMs = -Infinity
  return async () => {
    if (performance.now() - openedAtMs > SESSION_MS) {
      header = `Cookie: ${await signIn(url)}\r\n`
      openedAtMs = performance.now()
    }
    return header
  }
}

/** The doors with and without, in this order. */
async function startDoors(folder, upstream) {
  const folders = ['with', 'without'].map((name) => join(folder, name))
  for (const own of folders) {
    mkdirSync(own)
    writeGatewayConfig(own, upstream)
  }
  const { child, ports = [] } = await startScript('two-doors.ts', ...folders)
  const urls = ports.map(toLocalUrl)
  return { child, doors: urls.map((url) => ({ url, pids: [child.pid], createHeader: createCookieHeader(url) })) }
}

/** Microseconds of each batch: [with, without] for each round, in alternating order. */
async function compare(targets, { rounds, batch, warmBatches }) {
  const results: number[][] = []
  for (let round = -warmBatches; round < rounds; round += 1) {
    const values: number[] = []
    for (const index of round % 2 === 0 ? [0, 1] : [1, 0]) values[index] = await measureBatch(targets[index], batch)
    if (round >= 0) results.push(values)
  }
  return results
}

function summarize(results: readonly number[][]) {
  const [observed, unobserved] = [0, 1].map((index) => median(results.map((values) => values[index])))
  return { observed, unobserved, ratio: observed / unobserved }
}

const renderPercent = (ratio) => `${((ratio - 1) * 100).toFixed(1)} %`

export const bench = {
  title: 'Overhead of audit trail and metrics',
  about:
    'CPU time of a request with a session cookie, all threads together: of the document door, and of the same door put\n' +
    'together without audit trail and metrics, in one process and in alternating batches. Figures are medians of the\n' +
    `batches. Goal: at most ${renderPercent(MAX_RATIO)}.`,
  runs: 200,
  run: (rounds, [batch = 640, connections = 32, warmBatches = 40] = []) =>
    withFolder(async (folder) => {
      await using started = new AsyncDisposableStack()
      const upstream = started.adopt(await startScript('upstream.ts'), killChild)
      const { doors } = started.adopt(await startDoors(folder, toLocalUrl(upstream.port)), killChild)
      const results: (ReturnType<typeof summarize> & { readonly name: string })[] = []
      for (const { name, path } of REQUESTS) {
        const targets = await Promise.all(doors.map((door) => openTarget({ ...door, path }, connections)))
        results.push({ name, ...summarize(await compare(targets, { rounds, batch, warmBatches })) })
        closeAll(targets)
      }
      return {
        columns: ['', 'with', 'without', 'overhead'],
        rows: results.map(({ name, observed, unobserved, ratio }) => [
          name,
          `${observed.toFixed(1)} µs`,
          `${unobserved.toFixed(1)} µs`,
          renderPercent(ratio),
        ]),
        isGoalMet: results.every(({ ratio }) => ratio <= MAX_RATIO),
      }
    }),
}
