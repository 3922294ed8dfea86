// Upstream servers and clients that fail in every way, thousands of times, at both doors: each must get the response that
// docs/reference/gateway.md promises, and afterwards no socket may be open and no memory in use.
//   npm run test:long -- faults [count]     (10 000 unless given)
import { fork } from 'node:child_process'
import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'
import { setTimeout as pause } from 'node:timers/promises'

const FRONT = new URL('./faults-front.ts', import.meta.url).pathname
const AT_ONCE = 40
/** Longer than idle connections to an upstream server are kept. */
const MAX_SETTLING_MS = 60_000
/** Growth of the heap beside noise. If one fault in ten leaked a kilobyte, thousands of faults would exceed it. */
const MAX_BYTES_PER_FAULT = 100
const NOISE_BYTES = 1_000_000

const OK = 'HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}'
const HALF = 'HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhalf'
const HALF_CHUNK = 'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nhalf\r\n'
const ENDLESS = 'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n'
const PIECE = Buffer.concat([Buffer.from('10000\r\n'), Buffer.alloc(0x10000, 'x'), Buffer.from('\r\n')])

function sendEndlessBody(socket) {
  const more = () => {
    while (!socket.destroyed && socket.write(PIECE));
  }
  socket.on('drain', more).write(ENDLESS)
  more()
}

function sendEndlessHints(socket) {
  const timer = setInterval(() => socket.write('HTTP/1.1 103 Early Hints\r\nLink: a\r\n\r\n'), 50)
  socket.on('close', () => clearInterval(timer))
}

/** What the upstream server does with a request, by the last part of its path. */
const UPSTREAMS = new Map([
  ['ok', (socket) => socket.write(OK)],
  ['reset', (socket) => socket.resetAndDestroy()],
  ['nothing', (socket) => socket.end()],
  ['garbage', (socket) => socket.end('garbage\r\n\r\n')],
  ['half', (socket) => socket.end(HALF)],
  ['half-chunk', (socket) => socket.write(HALF_CHUNK, () => socket.resetAndDestroy())],
  ['never', () => {}],
  ['early', sendEndlessHints],
  ['none', (socket) => socket.write('HTTP/1.1 099 W\r\nContent-Length: 2\r\n\r\n{}')],
  ['continue', (socket) => socket.write('HTTP/1.1 100 Continue\r\n\r\n')],
  ['refused', (socket) => socket.write('HTTP/1.1 413 No\r\nContent-Length: 2\r\n\r\nno')],
  ['endless', sendEndlessBody],
])

const request = (path, ...lines) =>
  [`${lines.length > 0 ? 'PUT' : 'GET'} ${path} HTTP/1.1`, 'Host: a', 'Connection: close', ...lines, '', ''].join(
    '\r\n',
  )

const disconnectAfter = (ms) => async (socket) => {
  await pause(ms)
  socket.destroy()
}

const readNothing = async (socket) => {
  socket.pause()
  await disconnectAfter(300)(socket)
}

const disconnectAfterFirst = (socket) => {
  socket.once('data', () => socket.destroy())
}

const LENGTH = 'Content-Length: 10'
const WAITING = ['Content-Length: 3', 'Expect: 100-continue']

interface Fault {
  readonly title: string
  /** What the upstream server does. */
  readonly upstream: string
  /** Header lines and the body that the client sends. */
  readonly lines?: readonly string[]
  readonly body?: string
  /** What the client does then. */
  act?(socket: Socket): unknown
  readonly outcome: string
}

const FAULTS: readonly Fault[] = [
  { title: 'no fault', upstream: 'ok', outcome: '200' },
  { title: 'upstream resets the connection', upstream: 'reset', outcome: '502' },
  { title: 'upstream closes without a response', upstream: 'nothing', outcome: '502' },
  { title: 'upstream sends garbage', upstream: 'garbage', outcome: '502' },
  { title: 'upstream closes within a body', upstream: 'half', outcome: 'broken' },
  { title: 'upstream resets within a body', upstream: 'half-chunk', outcome: 'broken' },
  { title: 'upstream never responds', upstream: 'never', outcome: '504' },
  { title: 'upstream sends early hints without end', upstream: 'early', outcome: '504' },
  { title: 'upstream sends an invalid status', upstream: 'none', outcome: '502' },
  { title: 'client stalls within its body', upstream: 'never', lines: [LENGTH], body: 'abc', outcome: '408' },
  {
    title: 'client disconnects within its body',
    upstream: 'never',
    lines: [LENGTH],
    body: 'abc',
    act: disconnectAfter(20),
    outcome: 'disconnected',
  },
  {
    title: 'the upstream refuses an expectation',
    upstream: 'refused',
    lines: WAITING,
    act: disconnectAfter(300),
    outcome: 'disconnected',
  },
  { title: 'expectation, and the upstream resets', upstream: 'reset', lines: WAITING, body: 'abc', outcome: '502' },
  {
    title: 'expectation, and the upstream sends garbage',
    upstream: 'garbage',
    lines: WAITING,
    body: 'abc',
    outcome: '502',
  },
  { title: 'expectation, and an invalid status', upstream: 'none', lines: WAITING, body: 'abc', outcome: '502' },
  {
    title: 'client disconnects before 100 Continue',
    upstream: 'never',
    lines: WAITING,
    act: disconnectAfter(20),
    outcome: 'disconnected',
  },
  {
    title: 'client disconnects after 100 Continue',
    upstream: 'continue',
    lines: WAITING,
    act: disconnectAfterFirst,
    outcome: 'disconnected',
  },
  { title: 'client disconnects while it waits', upstream: 'never', act: disconnectAfter(20), outcome: 'disconnected' },
  {
    title: 'client disconnects within the response',
    upstream: 'endless',
    act: disconnectAfterFirst,
    outcome: 'disconnected',
  },
  { title: 'client stops reading, then disconnects', upstream: 'endless', act: readNothing, outcome: 'disconnected' },
]

function track(sockets, socket) {
  sockets.add(socket)
  socket.on('error', () => {}).on('close', () => sockets.delete(socket))
}

async function openUpstream() {
  const sockets = new Set<Socket>()
  const server = createServer((socket) => {
    track(sockets, socket)
    let head = ''
    socket.on('data', (chunk) => {
      head += chunk.toString('latin1')
      const [, behaviour] = /^[A-Z]+ \/[^ ]*\/([a-z-]+) [\s\S]*?\r\n\r\n/.exec(head) ?? []
      if (behaviour === undefined) return
      head = ''
      UPSTREAMS.get(behaviour)?.(socket)
    })
  })
  await once(server.listen(0, '127.0.0.1'), 'listening')
  return { sockets, server, url: `http://127.0.0.1:${(server.address() as AddressInfo).port}` }
}

function readOutcome(text) {
  const [, status, length] = /^HTTP\/1\.1 (\d{3})[\s\S]*?\r\ncontent-length: (\d+)\r\n/i.exec(text) ?? []
  const body = text.slice(text.indexOf('\r\n\r\n') + 4)
  return length !== undefined && body.length === Number(length) ? status : 'broken'
}

async function sendFault({ upstream, lines = [], body = '', act, outcome }: Fault, door: string, sockets: Set<Socket>) {
  const { port } = new URL(door)
  const socket = connect(Number(port), '127.0.0.1')
  track(sockets, socket)
  let text = ''
  const closed = once(socket, 'close')
  if (outcome !== 'disconnected')
    socket.on('data', (chunk) => {
      text += chunk.toString('latin1')
    })
  socket.write(request(`/faults/${upstream}`, ...lines) + body)
  await Promise.all([closed, act?.(socket)])
  return outcome === 'disconnected' ? 'disconnected' : readOutcome(text)
}

async function startFront(url) {
  const child = fork(FRONT, [url], { execArgv: ['--expose-gc'] })
  const ended = once(child, 'exit').then(() => Promise.reject(new Error('Cardea ended')))
  // handled where a message is awaited
  ended.catch(() => {})
  const receive = async () => (await Promise.race([once(child, 'message'), ended]))[0]
  const doors = await receive()
  return {
    doors: [doors.document, doors.multiModel],
    async measure() {
      child.send('measure')
      return receive()
    },
    async stop() {
      if (child.connected) child.send('stop')
      await ended.catch(() => {})
    },
  }
}

async function sendFaults(count, doors, sockets, note) {
  let next = 0
  const worker = async () => {
    while (next < count) {
      const turn = next++
      const fault = FAULTS[turn % FAULTS.length]
      const door = doors[Math.floor(turn / FAULTS.length) % doors.length]
      note(fault, await sendFault(fault, door, sockets))
    }
  }
  await Promise.all(Array.from({ length: AT_ONCE }, worker))
}

/** Waits until no socket is open, or for the longest time allowed. */
async function settle(front, ...sides) {
  const deadline = Date.now() + MAX_SETTLING_MS
  for (;;) {
    const measured = await front.measure()
    const left = measured.sockets + sides.reduce((sum, { size }) => sum + size, 0)
    if (left === 0 || Date.now() > deadline) return measured
    await pause(100)
  }
}

/** Returns the outcomes of each fault, the sockets that are left, the heap, and the verdicts. */
export async function runFaults(count) {
  const upstream = await openUpstream()
  const clients = new Set<Socket>()
  const front = await startFront(upstream.url)
  const outcomes = new Map(FAULTS.map((fault) => [fault, new Map<string | undefined, number>()]))
  const note = (fault, outcome) => {
    const seen = outcomes.get(fault)
    seen?.set(outcome, (seen.get(outcome) ?? 0) + 1)
  }
  try {
    // creates what is kept for the life of a process: code, pools, caches
    await sendFaults(Math.min(Math.ceil(count / 4), 2000), front.doors, clients, () => {})
    const before = await settle(front, clients, upstream.sockets)
    await sendFaults(count, front.doors, clients, note)
    const after = await settle(front, clients, upstream.sockets)
    const left = { client: clients.size, upstream: upstream.sockets.size, cardea: after.sockets }
    return judge({ count, outcomes, left, before: before.heapUsed, after: after.heapUsed })
  } finally {
    await front.stop()
    for (const socket of [...clients, ...upstream.sockets]) socket.destroy()
    upstream.server.close()
  }
}

function judge(result) {
  const { count, outcomes, left, before, after } = result
  const wrong = [...outcomes].filter(([{ outcome }, seen]) => seen.size > 1 || (seen.size === 1 && !seen.has(outcome)))
  const isClean = Object.values(left).every((number) => number === 0)
  const isFreed = after - before < NOISE_BYTES + count * MAX_BYTES_PER_FAULT
  return { ...result, isRight: wrong.length === 0, isClean, isFreed }
}

const mib = (bytes) => `${(bytes / 2 ** 20).toFixed(2)} MiB`

function print({ count, outcomes, left, before, after, isRight, isClean, isFreed }) {
  for (const [{ title, outcome }, seen] of outcomes) {
    const summary = [...seen].map(([name, number]) => `${name} × ${number}`).join(', ')
    console.log(`${title.padEnd(40)} expected ${outcome.padEnd(12)} got ${summary}`)
  }
  console.log(`sockets left: ${left.client} of clients, ${left.upstream} of the upstream, ${left.cardea} of Cardea`)
  console.log(`heap: ${mib(before)} before, ${mib(after)} after ${count} faults (${mib(after - before)})`)
  console.log(isRight && isClean && isFreed ? 'no socket is open and no memory is in use' : 'FAILED')
}

if (import.meta.main) {
  const result = await runFaults(Number(process.argv[2] ?? 10_000))
  print(result)
  process.exitCode = result.isRight && result.isClean && result.isFreed ? 0 : 1
}
