// What audit trail and metrics add to a request with a session cookie. Sizes: requests of a batch, connections, batches
// of warm-up.
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { median } from './figures.mjs'
import { closeAll, measureBatch, openTarget } from './support/cpu-time.mjs'
import { withFolder } from './support/folder.mjs'
import { killChild, signIn, startScript, writeGatewayConfig } from './support/gateway.mjs'

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

/** One of the two servers, for all requests. */
async function startServer(folder, kind, upstream) {
  const own = join(folder, kind)
  mkdirSync(own)
  writeGatewayConfig(own, upstream)
  const { child, url } = await startScript('composed-server.mjs', own, kind)
  return { child, url, pid: child.pid, createHeader: createCookieHeader(url) }
}

/** Microseconds of each batch: [with, without] for each round, in alternating order. */
async function compare(targets, { rounds, batch, warmBatches }) {
  const results = []
  for (let round = -warmBatches; round < rounds; round += 1) {
    const values = []
    for (const index of round % 2 === 0 ? [0, 1] : [1, 0]) values[index] = await measureBatch(targets[index], batch)
    if (round >= 0) results.push(values)
  }
  return results
}

/** The results of each request, from one pair of servers, which are started in this order. */
const measurePair = (kinds, sizes) =>
  withFolder(async (folder) => {
    await using started = new AsyncDisposableStack()
    const upstream = started.adopt(await startScript('upstream.mjs'), killChild)
    const byKind = {}
    for (const kind of kinds) byKind[kind] = started.adopt(await startServer(folder, kind, upstream.url), killChild)
    const servers = [byKind.observed, byKind.unobserved]
    const results = []
    for (const { path } of REQUESTS) {
      const targets = await Promise.all(servers.map((server) => openTarget({ ...server, path }, sizes.connections)))
      results.push(await compare(targets, sizes))
      closeAll(targets)
    }
    return results
  })

/** Two processes with the same code differ by some percent for as long as they run: so there are several pairs. */
const PAIRS = 6

function summarize(results) {
  const [observed, unobserved] = [0, 1].map((index) => median(results.map((values) => values[index])))
  return { observed, unobserved, ratio: median(results.map((values) => values[0] / values[1])) }
}

const renderPercent = (ratio) => `${((ratio - 1) * 100).toFixed(1)} %`

export const bench = {
  title: 'Overhead of audit trail and metrics',
  about:
    'CPU time of a request with a session cookie, all threads together: of the server, and of the same server put\n' +
    'together without audit trail and metrics. Several pairs of them, in alternating batches; figures are medians, and\n' +
    `the overhead is the median of the ratios within one round. Goal: at most ${renderPercent(MAX_RATIO)}.`,
  runs: 120,
  async run(rounds, [batch = 640, connections = 32, warmBatches = 20] = []) {
    const sizes = { rounds: Math.ceil(rounds / PAIRS), batch, connections, warmBatches }
    const pairs = []
    while (pairs.length < Math.min(PAIRS, rounds)) {
      const kinds = ['observed', 'unobserved']
      pairs.push(await measurePair(pairs.length % 2 === 0 ? kinds : kinds.toReversed(), sizes))
    }
    const results = REQUESTS.map(({ name }, index) => ({ name, ...summarize(pairs.flatMap((pair) => pair[index])) }))
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
  },
}
