// CPU time of one forwarded request. With `--against=DIR`, also that of other checkouts, in alternating batches: for
// the gain of a single change. Sizes: requests of a batch, connections, batches of warm-up.
import { once } from 'node:events'
import { readdirSync, readFileSync } from 'node:fs'
import { connect } from 'node:net'
import { basename, resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import { median } from './figures.mjs'

const OWN_CHECKOUT = resolve(import.meta.dirname, '../..')

/** CPU time of all threads of a process, in microseconds. Linux only. */
function readCpuUs(pid) {
  const threads = readdirSync(`/proc/${pid}/task`)
  const nanoseconds = threads.map((id) =>
    Number(readFileSync(`/proc/${pid}/task/${id}/schedstat`, 'utf8').split(' ')[0]),
  )
  return nanoseconds.reduce((sum, each) => sum + each, 0) / 1000
}

const KINDS = {
  JWT: ({ signToken }) => `Authorization: Bearer ${signToken()}\r\n`,
  cookie: async ({ signIn }, gateway) => `Cookie: ${await signIn(gateway)}\r\n`,
  Basic: ({ toBasic }) => `Authorization: ${toBasic()}\r\n`,
  anonymous: () => '',
}

/** One kept connection, on which a request follows each response. Much cheaper than an HTTP client. */
async function openConnection({ hostname, port }) {
  const socket = connect({ host: hostname, port: Number(port), noDelay: true })
  await once(socket, 'connect')
  let received = ''
  let onResponse
  socket.setEncoding('latin1').on('data', (text) => {
    received += text
    if (!isWhole(received)) return
    if (!received.startsWith('HTTP/1.1 200 ')) throw new Error(`unexpected response: ${received.slice(0, 200)}`)
    received = ''
    onResponse()
  })
  return {
    send(request, done) {
      onResponse = done
      socket.write(request)
    },
    close: () => socket.destroy(),
  }
}

function isWhole(text) {
  const headEnd = text.indexOf('\r\n\r\n')
  const [, length] = /\r\ncontent-length: (\d+)/i.exec(text) ?? []
  return headEnd >= 0 && (length === undefined ? text.endsWith('\r\n0\r\n\r\n') : text.length >= headEnd + 4 + +length)
}

/** Sends a batch of requests over all connections. Returns the CPU time of one request. */
async function measureBatch({ pid, connections, createRequest }, batch) {
  // with a new session: a cookie older than a minute would be renewed by every response
  const request = await createRequest()
  const before = readCpuUs(pid)
  let left = batch
  const sendAll = async (connection) => {
    while (left > 0) {
      left -= 1
      await new Promise((done) => connection.send(request, done))
    }
  }
  await Promise.all(connections.map(sendAll))
  return (readCpuUs(pid) - before) / batch
}

async function openContestant({ name, url, pid, createHeader }, count) {
  const { hostname, port, host } = new URL(url)
  const opening = Array.from({ length: count }, () => openConnection({ hostname, port }))
  const createRequest = async () => `GET /db/doc HTTP/1.1\r\nHost: ${host}\r\n${await createHeader()}\r\n`
  return { name, pid, connections: await Promise.all(opening), createRequest, values: [] }
}

function listContestants(support, servers, checkout) {
  const isOwn = checkout === OWN_CHECKOUT
  const gateways = Object.entries(KINDS).map(([kind, createHeader]) => ({
    name: isOwn ? `gateway, ${kind}` : `gateway, ${kind} (${basename(checkout)})`,
    url: servers.gateway,
    pid: servers.child.pid,
    createHeader: () => createHeader(support, servers.gateway),
  }))
  if (!isOwn) return gateways
  const { proxy: url, proxyChild } = servers
  return [{ name: 'minimal proxy', url, pid: proxyChild.pid, createHeader: () => '' }, ...gateways]
}

/** Starts the servers of every checkout, then runs `work` with all of them. */
async function withCheckouts([checkout, ...others], work, contestants = []) {
  if (checkout === undefined) return work(contestants)
  const support = await import(pathToFileURL(`${checkout}/scripts/bench/support/gateway.mjs`).href)
  return support.withGateway((servers) =>
    withCheckouts(others, work, [...contestants, ...listContestants(support, servers, checkout)]),
  )
}

async function compare(given, rounds, { batch, connections, warmBatches }) {
  const contestants = await Promise.all(given.map((each) => openContestant(each, connections)))
  for (let round = -warmBatches; round < rounds; round += 1)
    for (const each of contestants) {
      const us = await measureBatch(each, batch)
      if (round >= 0) each.values.push(us)
    }
  for (const each of contestants) for (const connection of each.connections) connection.close()
  return contestants
}

const quantile = (values, share) => values.toSorted((a, b) => a - b)[Math.floor(values.length * share)]

export const bench = {
  title: 'CPU time of the gateway',
  about:
    'CPU time of a small document through the gateway, all threads together, in alternating batches. The lower ' +
    'quartile is the steadiest figure on a busy machine. The ratio is the median of the ratios to the minimal proxy ' +
    'within one round. There is no goal.',
  runs: 40,
  async run(rounds, [batch = 640, connections = 32, warmBatches = 40] = [], checkouts = []) {
    const all = [OWN_CHECKOUT, ...checkouts.map((each) => resolve(each))]
    const results = await withCheckouts(all, (given) => compare(given, rounds, { batch, connections, warmBatches }))
    const [minimal] = results
    const toRatio = ({ values }) => median(values.map((us, round) => us / minimal.values[round]))
    return {
      columns: ['', 'lower quartile', 'median', 'of the minimal proxy'],
      rows: results.map((each) => [
        each.name,
        `${quantile(each.values, 0.25).toFixed(1)} µs`,
        `${median(each.values).toFixed(1)} µs`,
        `${toRatio(each).toFixed(2)} ×`,
      ]),
      isGoalMet: true,
    }
  },
}
