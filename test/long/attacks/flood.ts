/**
 * Floods a listener with connections that send as much as it takes, and measures what another client notices of it. A
 * row is one listener, one way to attack and a number of connections. A script has a table of ways, and calls `runFlood`:
 *
 *     node test/long/attacks/pipelining.ts [--seconds 2] [--connections 10,100] [--listeners document,metrics-tls]
 *                                            [--ways read,reconnect] [--tree /path/of/another/checkout] [--json] [--one-server]
 *
 * Four processes: the server, the attacker, the other client, and this one. The server has a core of its own, and the
 * attacker gets the time that the other client leaves of another one: otherwise the figures would show what the attacker
 * takes. Each row has a server of its own, so that its memory is that of one attack, unless `--one-server` keeps that of
 * the listener. The first row of a listener has no
 * attack, and shows how busy the machine is. The listener `bare` is a minimal server of Node. Exits with 1 if a row of
 * Cardea misses a goal.
 */
import { execFileSync, fork } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync, writeFileSync } from 'node:fs'
import { Agent, request } from 'node:http'
import { request as requestTls, Agent as TlsAgent } from 'node:https'
import { connect, type Socket } from 'node:net'
import { setPriority } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { connect as connectTls } from 'node:tls'
import { parseArgs } from 'node:util'
import { OWN_CHECKOUT, startProgram, startServer } from '../../../bench/support/child.ts'
import { withCores } from '../../../bench/support/cores.ts'
import { withFolder } from '../../../bench/support/folder.ts'
import { toLocalUrl } from '../../../bench/support/gateway.ts'

const { values } = parseArgs({
  options: {
    role: { type: 'string', default: 'main' },
    seconds: { type: 'string', default: '2' },
    connections: { type: 'string', default: '10,100' },
    listeners: { type: 'string' },
    ways: { type: 'string' },
    tree: { type: 'string', default: OWN_CHECKOUT },
    json: { type: 'boolean', default: false },
    'one-server': { type: 'boolean', default: false },
  },
})

/** `turnMs`: CPU time of the turns of the event loop, p99: see turns.ts. */
const GOALS = { p99Ms: 50, maxMs: 300, recoveredMs: 200, memoryMiB: 300, turnMs: 50 }
/** After a disconnect, a request that takes longer than this is still delayed. */
const DELAYED_MS = 25
const AFTER_MS = 400

// ------------------------------------------------------------------------------------------------ the server

const LISTENERS = {
  document: { get: '/_session', post: '/_session' },
  multiModel: { get: '/_admin/server/availability', post: '/_open/auth' },
  admin: { get: '/_cardea/api/session', post: '/_cardea/api/session' },
  metrics: { get: '/metrics', post: '/metrics' },
  bare: { get: '/', post: '/' },
}
const findListener = (name) => LISTENERS[name.replace('-tls', '')] ?? LISTENERS.document
const BARE = join(OWN_CHECKOUT, 'bench/support/bare-versions.ts')

function writeConfig(folder) {
  // a handshake with RSA would cost more than the requests
  const pair = [
    '-newkey',
    'ec',
    '-pkeyopt',
    'ec_paramgen_curve:prime256v1',
    '-nodes',
    '-keyout',
    'key.pem',
    '-out',
    'cert.pem',
  ]
  const args = ['req', '-x509', '-subj', '/CN=localhost', '-days', '2', ...pair]
  execFileSync('openssl', args, { cwd: folder, stdio: 'ignore' })
  const both = ['key.pem', 'cert.pem'].map((name) => readFileSync(join(folder, name), 'utf8')).join('')
  writeFileSync(join(folder, 'both.pem'), both, { mode: 0o600 })
  const endpoint = 'endpoint = tcp://127.0.0.1:0, ssl://127.0.0.1:0'
  const lines = [
    '[store]',
    'url = sqlite:cardea.db',
    '[chttpd]',
    'port = 0',
    // proxies have no limits of their own
    'trusted_proxies = none',
    '[ssl]',
    'enable = true',
    'port = 0',
    `cert_file = ${join(folder, 'cert.pem')}`,
    `key_file = ${join(folder, 'key.pem')}`,
    `keyfile = ${join(folder, 'both.pem')}`,
    '[server]',
    endpoint,
    'jwt-secret = a-secret-of-tokens-for-attacks-only',
    '[admin]',
    endpoint,
    '[metrics]',
    endpoint,
    '[chttpd_auth]',
    // no attack sends a password
    'iterations = 1',
    'secret = a-secret-of-cookies-for-attacks-only',
    '[admins]',
    'admin = the-password-of-admin',
    '',
  ]
  writeFileSync(join(folder, 'local.ini'), lines.join('\n'), { mode: 0o600 })
}

/** The URL of each listener by its name: `document`, `document-tls`, … */
function listUrls(output) {
  const addresses = JSON.parse(/^\{.*"msg":"listening"\}$/m.exec(output)?.[0] ?? '{}')
  const named = Object.keys(LISTENERS).flatMap((name) =>
    (addresses[name] ?? []).map((url) => [url.startsWith('https') ? `${name}-tls` : name, url]),
  )
  return Object.fromEntries(named)
}

async function startAttacked(name, folder, { protocol }: Flood) {
  const flags = ['--import', TURNS]
  if (name === 'bare') {
    const server = startProgram(BARE, [], { cwd: folder, flags })
    const [line] = await server.says(/^\{.*\}$/m)
    const [http1, http2] = JSON.parse(line).ports.map(toLocalUrl)
    return { ...server, url: protocol === 'h2' ? http2 : http1, probed: http1, stop: () => server.child.kill() }
  }
  writeConfig(folder)
  const server = await startServer(folder, { checkout: values.tree, flags })
  return { ...server, url: listUrls(server.output())[name] }
}

/** Resident memory of a process in MiB. Linux only. */
function readMemory(pid) {
  const kibibytes = /^VmRSS:\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]
  return Math.round(Number(kibibytes) / 1024)
}

/** Seconds of CPU time that a process has used. Linux counts hundredths. */
function readCpuTime(pid) {
  const [, after = ''] = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')
  const [user, system] = after.split(' ').slice(11, 13).map(Number)
  return ((user ?? 0) + (system ?? 0)) / 100
}

// ------------------------------------------------------------------------------------------------ the attacker

/** A burst is about this long. */
export const BURST_BYTES = 65_536
const RECONNECT_MS = 50
const LOWEST_PRIORITY = 19

export interface Burst {
  readonly bytes: Buffer
  readonly requests: number
}

export interface Way {
  readonly ignoresReplies?: boolean
  readonly reconnects?: boolean
  /** What a new connection sends to a row of `LISTENERS`. After the last burst it stays open. */
  bursts(listener: (typeof LISTENERS)['document']): Iterator<Burst>
}

export interface Flood {
  readonly ways: Readonly<Record<string, Way>>
  /** Names of `LISTENERS`, with `-tls` or without. */
  readonly listeners?: readonly string[]
  /** That the client offers in the handshake of TLS. */
  readonly protocol?: string
}

/** Not the address of the other client, because clients have limits of their own. */
const ADDRESSES = { attack: '127.0.0.2', warmUp: '127.0.0.3' }

function openConnection(url, localAddress: string, { protocol = 'http/1.1' }: Flood) {
  const { port, protocol: scheme } = new URL(url)
  const to = { host: '127.0.0.1', localAddress, port: Number(port), rejectUnauthorized: false }
  const socket = scheme === 'https:' ? connectTls({ ...to, ALPNProtocols: [protocol] }) : connect(to)
  return socket.on('error', () => {})
}

/** Sends as much as the server takes, until it is to reconnect or `signal`. Returns how many requests that were. */
async function attackOnce(
  socket: Socket,
  { ignoresReplies, reconnects }: Way,
  waiting: Iterator<Burst>,
  signal,
  onSent,
) {
  let requests = 0
  const end = () => socket.destroy()
  signal.addEventListener('abort', end)
  if (reconnects) socket.setTimeout(RECONNECT_MS, end).once('data', () => setTimeout(end, RECONNECT_MS))
  if (!ignoresReplies) socket.resume()
  const write = () => {
    while (!socket.destroyed) {
      const { value, done } = waiting.next()
      if (done) return
      const hasRoom = socket.write(value.bytes, (error) => {
        if (error) return
        requests += value.requests
        if (requests > 0) onSent()
      })
      if (!hasRoom) return
    }
  }
  socket.on('drain', write)
  write()
  await new Promise((resolve) => socket.once('close', resolve))
  signal.removeEventListener('abort', end)
  return requests
}

/** The same bursts for every connection: building them for each would slow the attacker down. */
function shareBursts(bursts: Iterator<Burst>): () => Iterator<Burst> {
  const made: IteratorResult<Burst>[] = []
  return () => {
    let sent = 0
    return {
      next: () => {
        const next = made[sent] ?? bursts.next()
        made[sent] = next
        sent += 1
        return next
      },
    }
  }
}

/** A server may take nothing of an attack. */
const MAX_BEGIN_MS = 60_000

async function attack(flood: Flood, { name, url, way, connections, seconds, address }) {
  const chosen = flood.ways[way] as Way
  const { promise: hasBegun, resolve: begin } = Promise.withResolvers<void>()
  const openBursts = shareBursts(chosen.bursts(findListener(name)))
  setPriority(LOWEST_PRIORITY)
  const stop = new AbortController()
  let requests = 0
  const run = async () => {
    while (!stop.signal.aborted) {
      const sent = await attackOnce(openConnection(url, address, flood), chosen, openBursts(), stop.signal, begin)
      requests += sent
      await pause(1)
    }
  }
  const all = Array.from({ length: connections }, run)
  // on a busy machine it takes a while until the first bytes are sent
  if (connections > 0) await Promise.race([hasBegun, pause(MAX_BEGIN_MS, undefined, { ref: false })])
  await pause(seconds * 1000)
  const endedAt = now()
  stop.abort()
  await Promise.all(all)
  return { endedAt, requests }
}

// ------------------------------------------------------------------------------------------------ the other client

const EVERY_MS = 10
/** What a request without a response counts as. */
const FAILED_MS = 60_000
/** The same for all processes. */
const now = () => performance.timeOrigin + performance.now()

const probe = (url, agent) =>
  new Promise((settle, reject) => {
    const options = { agent, timeout: FAILED_MS, rejectUnauthorized: false }
    const send = url.startsWith('https') ? requestTls : request
    send(url, options, (response) => response.resume().on('end', settle))
      .on('error', reject)
      .on('timeout', reject)
      .end()
  })

interface Probe {
  readonly from: number
  readonly ms: number
}

/**
 * One request every ten milliseconds, whether the earlier ones are answered or not, and each second one on a new
 * connection. Returns when each was due.
 */
async function measure(_flood: Flood, { url, ms }) {
  const agent = url.startsWith('https') ? new TlsAgent({ keepAlive: true }) : new Agent({ keepAlive: true })
  const start = now()
  const all: Promise<Probe>[] = []
  for (let turn = 0; turn * EVERY_MS < ms; turn += 1) {
    const due = start + turn * EVERY_MS
    await pause(Math.max(0, due - now()))
    // of its own delays only this process knows
    const from = Math.max(due, now() - 1)
    all.push(
      probe(url, turn % 2 === 0 && agent).then(
        () => ({ from, ms: now() - from }),
        () => ({ from, ms: FAILED_MS }),
      ),
    )
  }
  const probes = await Promise.all(all)
  agent.destroy()
  return probes
}

// ------------------------------------------------------------------------------------------------ the run

const TURNS = join(import.meta.dirname, 'turns.ts')

const ROLES = { attack, measure }

/** Another process that does one thing at a time. */
function startPart(role) {
  const child = fork(process.argv[1] ?? '', ['--role', role])
  const ended = once(child, 'exit').then(() => {
    throw new Error(`the process for ${role} ended`)
  })
  ended.catch(() => {})
  const run = async (job) => {
    child.send(job)
    const [result] = await Promise.race([once(child, 'message'), ended])
    return result
  }
  return { run, pid: child.pid, end: () => child.disconnect() }
}

function summarize(probes, { endedAt, requests }) {
  const during = probes.filter(({ from }) => from < endedAt).map(({ ms }) => ms)
  during.sort((a, b) => a - b)
  const at = (share) => Math.round((during[Math.ceil(during.length * share) - 1] ?? 0) * 10) / 10
  const delayed = probes.filter(({ from, ms }) => from + ms > endedAt && ms > DELAYED_MS)
  const recoveredMs = Math.round(Math.max(0, ...delayed.map(({ from, ms }) => from + ms - endedAt)))
  const failed = probes.filter(({ ms }) => ms === FAILED_MS).length
  return { p50Ms: at(0.5), p99Ms: at(0.99), maxMs: at(1), recoveredMs, requests, failed }
}

/** The longest turns of the event loop since the last call. */
async function readTurns({ child, output, says }): Promise<number> {
  const from = output().length
  child.kill('SIGUSR2')
  const [line] = await says(/\{"turnMs":.*\}/, from)
  return JSON.parse(line).turnMs
}

async function runRow({ attacker, client, server }, { name, way, connections }) {
  const { pid } = server.child
  const seconds = Number(values.seconds)
  const job = { name, url: server.url, way, connections }
  // V8 has compiled nothing of a new server. Its first hundred connections would take 200 ms, and later ones 20.
  if (!values['one-server']) await attacker.run({ ...job, seconds: seconds / 4, address: ADDRESSES.warmUp })
  await readTurns(server)
  let memoryMiB = 0
  const watch = setInterval(() => {
    memoryMiB = Math.max(memoryMiB, readMemory(pid))
  }, 50)
  const cpuBefore = readCpuTime(pid)
  const [attacked, probes] = await Promise.all([
    attacker.run({ ...job, seconds, address: ADDRESSES.attack }),
    client.run({ url: server.probed ?? server.url + findListener(name).get, ms: seconds * 1000 + AFTER_MS }),
  ])
  clearInterval(watch)
  const cpuSeconds = Math.round((readCpuTime(pid) - cpuBefore) * 100) / 100
  const result = { ...summarize(probes, attacked), memoryMiB, cpuSeconds, turnMs: await readTurns(server) }
  const missed = name === 'bare' ? [] : Object.keys(GOALS).filter((goal) => result[goal] >= GOALS[goal])
  return { name: connections === 0 ? 'none' : name, way, connections, ...result, missed }
}

const render = ({ name, way, connections, missed, ...result }) =>
  `${name.padEnd(14)} ${way.padEnd(10)} ${String(connections).padStart(4)}   ` +
  `p50 ${result.p50Ms} ms, p99 ${result.p99Ms} ms, max ${result.maxMs} ms, turns ${result.turnMs} ms, ` +
  `recovered in ${result.recoveredMs} ms, ${result.memoryMiB} MiB, CPU ${result.cpuSeconds} s, ` +
  `${result.requests} requests${missed.length > 0 ? `   MISSED ${missed.join(', ')}` : ''}`

function listRows(name, { ways: all }: Flood) {
  const ways = values.ways?.split(',') ?? Object.keys(all)
  const counts = values.connections.split(',').map(Number)
  const attacks = ways.flatMap((way) => counts.map((connections) => ({ name, way, connections })))
  return [{ name, way: ways[0] ?? '', connections: 0 }, ...attacks]
}

async function attackListener(name, parts, flood: Flood) {
  const rows = listRows(name, flood)
  const results: Awaited<ReturnType<typeof attackRows>> = []
  for (const some of values['one-server'] ? [rows] : rows.map((row) => [row]))
    results.push(...(await attackRows(name, some, parts, flood)))
  return results
}

function attackRows(name, rows, parts, flood: Flood) {
  return withFolder(async (folder) => {
    const server = await startAttacked(name, folder, flood)
    const results: Awaited<ReturnType<typeof runRow>>[] = []
    try {
      for (const row of rows) {
        const run = () => runRow({ ...parts, server }, row)
        const result = await withCores([server.child], [parts.attacker, parts.client], run)
        results.push(result)
        if (!values.json) console.log(render(result))
      }
      return results
    } finally {
      await server.stop()
    }
  })
}

const ALL_LISTENERS = Object.keys(LISTENERS).flatMap((name) => (name === 'bare' ? name : [name, `${name}-tls`]))

async function attackAll(flood: Flood) {
  const parts = { attacker: startPart('attack'), client: startPart('measure') }
  try {
    const results: Awaited<ReturnType<typeof attackListener>> = []
    for (const name of values.listeners?.split(',') ?? flood.listeners ?? ALL_LISTENERS)
      results.push(...(await attackListener(name, parts, flood)))
    return results
  } finally {
    parts.attacker.end()
    parts.client.end()
  }
}

/** Runs all rows, or in another process the part that its arguments name. */
export async function runFlood(flood: Flood): Promise<void> {
  if (values.role !== 'main')
    return void process.on('message', async (job) => process.send?.(await ROLES[values.role](flood, job)))
  const results = await attackAll(flood)
  if (values.json) console.log(JSON.stringify(results))
  else console.log(`Goals, each below: ${JSON.stringify(GOALS)}`)
  process.exitCode = results.every(({ missed }) => missed.length === 0) ? 0 : 1
}
