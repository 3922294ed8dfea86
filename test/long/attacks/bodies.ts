/**
 * Sends the worst bodies an anonymous client can send, and measures what other requests notice of it.
 *
 *     node test/long/attacks/bodies.ts [--seconds 5] [--tree /path/of/another/checkout] [--sign-up] [--ways plain,tiny]
 *
 * Four processes: the server, the attacker, the one that measures, and this one, which reads the server's memory.
 * The report compares the latency of small requests before and during the attack, counted from when each was due.
 */
import { type ChildProcess, fork, spawn } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { Agent, request as openRequest } from 'node:http'
import { connect } from 'node:net'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { gzipSync } from 'node:zlib'

const OWN_TREE = new URL('../../..', import.meta.url).pathname

const { values } = parseArgs({
  options: {
    role: { type: 'string', default: 'main' },
    seconds: { type: 'string', default: '5' },
    connections: { type: 'string', default: '16' },
    bytes: { type: 'string', default: String(8 << 20) },
    ways: { type: 'string', default: '' },
    tree: { type: 'string', default: OWN_TREE },
    'sign-up': { type: 'boolean', default: false },
    json: { type: 'boolean', default: false },
  },
})
const seconds = Number(values.seconds)
const bytes = Number(values.bytes)

// ------------------------------------------------------------------------------------------------ the server

const SERVER = `
const { createTestCardea } = await import(process.argv[1])
const signUp = process.argv[2] === 'true'
const cardea = await createTestCardea({ options: { chttpd_auth: { allow_sign_up: signUp } } })
const urls = await cardea.listen()
process.send({ document: urls.document[0], multiModel: urls.multiModel[0] })
`

/** `npm test` gives a copy that loads in half the time (scripts/test-bundle.ts). */
const findBundled = () => process.env['TEST_PROGRAM'] && join(process.env['TEST_PROGRAM'], '../../dist/index.js')

type Urls = Readonly<Record<'document' | 'multiModel', string>>

function startServer() {
  const entry =
    (values.tree === OWN_TREE ? findBundled() : undefined) ?? new URL('src/index.ts', `file://${values.tree}/`).href
  const args = ['--input-type=module', '-e', SERVER, entry, String(values['sign-up'])]
  const child = spawn(process.execPath, args, { stdio: ['ignore', 'inherit', 'inherit', 'ipc'] })
  return new Promise<{ child: ChildProcess; urls: Urls }>((resolve, reject) => {
    child.once('message', (urls) => resolve({ child, urls: urls as Urls }))
    child.once('exit', (code) => reject(new Error(`the server ended with ${code}`)))
  })
}

// ------------------------------------------------------------------------------------------------ the attack

const JSON_TYPE = 'application/json'

const ROUTES = [
  ['document', 'POST', '/_session'],
  ['document', 'POST', '/_session', 'application/x-www-form-urlencoded'],
  ['document', 'PUT', '/_users/org.couchdb.user:eve'],
  ['document', 'POST', '/_users'],
  ['document', 'POST', '/_users/_bulk_docs'],
  ['document', 'POST', '/_users/_bulk_get'],
  ['document', 'POST', '/_users/_revs_diff'],
  ['document', 'POST', '/_users/_missing_revs'],
  ['document', 'POST', '/_users/_all_docs'],
  ['document', 'POST', '/_users/_changes?filter=_selector'],
  ['document', 'PUT', '/_users/_local/eve'],
  ['document', 'POST', '/_dbs_info'],
  ['document', 'PUT', '/_node/_local/_config/log/level'],
  ['document', 'POST', '/_cardea/api/users'],
  ['document', 'GET', '/_gate'],
  ['multiModel', 'POST', '/_open/auth'],
  ['multiModel', 'POST', '/_open/auth/below'],
  ['multiModel', 'POST', '/_db/_system/_open/auth'],
  ['multiModel', 'POST', '/_api/user'],
  ['multiModel', 'PATCH', '/_api/user/eve'],
  ['multiModel', 'POST', '/_api/token/eve'],
  ['multiModel', 'PUT', '/_api/user/eve/config/a'],
  ['multiModel', 'POST', '/_admin/server/jwt'],
  ['multiModel', 'POST', '/_cardea/api/users'],
].map(([door, method, path, type = JSON_TYPE]) => ({ door, method, path, type }))

const fill = (open, item, close) => Buffer.from(open + item.repeat((bytes - open.length) / item.length) + close)

/** Each is within the size limit of the doors, and costs as much work as possible. */
const createBodies = () => [
  Buffer.from('['.repeat(bytes / 2) + ']'.repeat(bytes / 2)),
  Buffer.from(`${'{"a":'.repeat(bytes / 6)}1${'}'.repeat(bytes / 6)}`),
  fill('{"docs":[', '{},', '{}]}').subarray(0, bytes),
  fill('{"docs":[', '{"id":"a"},', '{"id":"a"}]}'),
  fill('{"docs":[', '1,', '1]}'),
  Buffer.from(`{${Array.from({ length: bytes / 16 }, (_, i) => `"k${i}":[0]`).join(',')}}`),
  fill('{"a":"', '\\u0041', '"}'),
  fill('{"a":', '1', '}'),
  fill('{"a":"', 'é', '"}'),
  fill('', 'a=b&', ''),
]

/** Ways to send a body: at once, in chunks of 1 or 32 bytes, as a gzip bomb, or only its first 100 bytes. */
const WAYS = {
  plain: (body) => ({ headers: [`Content-Length: ${body.length}`], pieces: [body] }),
  small: (body) => {
    const part = body.subarray(0, 16_000)
    return { headers: [`Content-Length: ${part.length}`], pieces: [part] }
  },
  chunked: (body) => ({
    headers: ['Transfer-Encoding: chunked'],
    pieces: [Buffer.from(`${body.length.toString(16)}\r\n`), body, Buffer.from('\r\n0\r\n\r\n')],
  }),
  tiny: () => ({ headers: ['Transfer-Encoding: chunked'], pieces: [TINY_CHUNKS] }),
  short: () => ({ headers: ['Transfer-Encoding: chunked'], pieces: [SHORT_CHUNKS] }),
  gzip: () => ({ headers: [`Content-Length: ${BOMB.length}`, 'Content-Encoding: gzip'], pieces: [BOMB] }),
  silent: (body) => ({ headers: [`Content-Length: ${body.length}`], pieces: [body.subarray(0, 100)] }),
}
const TINY_CHUNKS = Buffer.from('1\r\n[\r\n'.repeat(100_000))
const SHORT_CHUNKS = Buffer.from(`20\r\n${'['.repeat(32)}\r\n`.repeat(100_000))
const BOMB = gzipSync(Buffer.alloc(bytes, '['))

/** Sends one request on a new connection. Resolves with the response or the end of the connection. */
function attackOnce(url, { method, path, type }, { headers, pieces }, signal) {
  return new Promise<void>((resolve) => {
    const socket = connect({ host: '127.0.0.1', port: Number(new URL(url).port) })
    const finish = () => {
      socket.destroy()
      resolve()
    }
    signal.addEventListener('abort', finish, { once: true })
    socket
      .setTimeout(3000, finish)
      .on('error', () => {})
      .on('data', finish)
    socket.on('close', () => {
      signal.removeEventListener('abort', finish)
      resolve()
    })
    socket.write(
      [`${method} ${path} HTTP/1.1`, 'Host: localhost', `Content-Type: ${type}`, ...headers, '', ''].join('\r\n'),
    )
    for (const piece of pieces) socket.write(piece)
  })
}

async function attack(urls) {
  const bodies = createBodies()
  process.send?.('ready')
  await new Promise((resolve) => process.once('message', resolve))
  const names = values.ways === '' ? Object.keys(WAYS) : values.ways.split(',')
  const ways = names.map((name) => WAYS[name])
  const stop = AbortSignal.timeout(seconds * 1000)
  let next = 0
  const run = async () => {
    while (!stop.aborted) {
      const turn = next++
      const route = ROUTES[turn % ROUTES.length]
      const body = bodies[Math.floor(turn / ROUTES.length) % bodies.length]
      const way = ways[Math.floor(turn / (ROUTES.length * bodies.length) + turn) % ways.length]
      await attackOnce(urls[route.door], route, way(body), stop)
    }
  }
  await Promise.all(Array.from({ length: Number(values.connections) }, run))
  process.send?.({ requests: next })
}

// ------------------------------------------------------------------------------------------------ the measure

const EVERY_MS = 10
const PROBES = [
  ['document', '/_session'],
  ['multiModel', '/_admin/server/availability'],
]

const probe = (agent, url) =>
  new Promise((resolve, reject) => {
    openRequest(url, { agent }, (response) => response.resume().on('end', resolve))
      .on('error', reject)
      .end()
  })

/** Sends one request every ten milliseconds, without waiting for the earlier responses. */
async function measure(urls) {
  const agent = new Agent({ keepAlive: true })
  const latencies: number[] = []
  const start = performance.now()
  const all: Promise<unknown>[] = []
  for (let turn = 0; turn * EVERY_MS < seconds * 1000; turn += 1) {
    const due = start + turn * EVERY_MS
    const wait = due - performance.now()
    if (wait > 0) await new Promise((resolve) => setTimeout(resolve, wait))
    const [door, path] = PROBES[turn % PROBES.length]
    const from = Math.max(due, performance.now() - 1)
    all.push(probe(agent, urls[door] + path).then(() => latencies.push(performance.now() - from)))
  }
  await Promise.all(all)
  agent.destroy()
  latencies.sort((a, b) => a - b)
  const at = (share) => Math.round((latencies[Math.ceil(latencies.length * share) - 1] ?? 0) * 10) / 10
  process.send?.({ requests: latencies.length, p50: at(0.5), p99: at(0.99), max: at(1) })
}

// ------------------------------------------------------------------------------------------------ the run

/** What a part sends: the attack only how many requests it sent. */
interface Report {
  readonly requests: number
  readonly p50?: number
  readonly p99?: number
  readonly max?: number
}

/** Starts one part in its own process. */
function startPart(role, urls) {
  const child = fork(new URL(import.meta.url).pathname, [...process.argv.slice(2), '--role', role])
  child.send(urls)
  const hear = () =>
    new Promise<Report>((resolve, reject) => {
      const onExit = (code) => reject(new Error(`${role} ended with ${code}`))
      child.once('exit', onExit).once('message', (message) => {
        child.off('exit', onExit)
        resolve(message as Report)
      })
    })
  return { hear, tell: (message) => child.send(message), end: () => child.connected && child.disconnect() }
}

/** Runs one part and returns its report. */
async function runPart(role, urls) {
  const part = startPart(role, urls)
  const report = await part.hear()
  part.end()
  return report
}

/** Resident memory of a process in MiB. Linux only. */
function readMemory(pid) {
  try {
    const kilobytes = /^VmRSS:\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]
    return Math.round(Number(kilobytes) / 1024)
  } catch {
    return 0
  }
}

/** Seconds of CPU time that a process has used. Linux only. */
function readCpu(pid) {
  try {
    const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1].split(' ')
    return (Number(fields[11]) + Number(fields[12])) / 100
  } catch {
    return 0
  }
}

async function main() {
  const { child, urls } = await startServer()
  try {
    const idle = await runPart('measure', urls)
    const before = readMemory(child.pid)
    const cpuBefore = readCpu(child.pid)
    let most = before
    const watch = setInterval(() => {
      most = Math.max(most, readMemory(child.pid))
    }, 50)
    const attacker = startPart('attack', urls)
    await attacker.hear()
    attacker.tell('begin')
    const [attacked, during] = await Promise.all([attacker.hear(), runPart('measure', urls)])
    attacker.end()
    clearInterval(watch)
    const cpuSeconds = Math.round((readCpu(child.pid) - cpuBefore) * 10) / 10
    return { idle, during, attacked: attacked.requests, memoryMiB: { before, most }, cpuSeconds }
  } finally {
    child.removeAllListeners('exit')
    child.kill()
  }
}

const render = ({ requests, p50, p99, max }: Report) =>
  `p50 ${p50} ms   p99 ${p99} ms   max ${max} ms   (${requests} requests)`

if (values.role === 'main') {
  const report = await main()
  if (values.json) console.log(JSON.stringify(report))
  else {
    console.log(`without attack   ${render(report.idle)}`)
    console.log(`during attack    ${render(report.during)}`)
    console.log(
      `hostile requests ${report.attacked}   memory ${report.memoryMiB.before} MiB, at most ${report.memoryMiB.most} MiB   server CPU ${report.cpuSeconds} s`,
    )
  }
} else {
  process.once('message', (urls) => (values.role === 'attack' ? attack(urls) : measure(urls)))
}
