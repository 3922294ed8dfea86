// Upstreams and clients that fail in every way, thousands of times, at both doors: each must get the answer the page of
// the gateway promises, and afterwards no socket may be left and no memory be held.
//   node scripts/faults.mjs [count]     (10 000 unless given)
import { fork } from 'node:child_process'
import { once } from 'node:events'
import { connect, createServer } from 'node:net'
import { setTimeout as pause } from 'node:timers/promises'

const FRONT = new URL('./faults-front.mjs', import.meta.url).pathname
const AT_ONCE = 40
/** Longer than connections to an upstream are kept. */
const MAX_SETTLING_MS = 15_000
/** What may be left beside noise: one fault in ten that kept a kilobyte would be noticed, in thousands of them. */
const MAX_BYTES_A_FAULT = 100
const NOISE_BYTES = 1_000_000

const OK = 'HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}'
const HALF = 'HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhalf'
const HALF_CHUNK = 'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nhalf\r\n'
const ENDLESS = 'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n'
const PIECE = Buffer.concat([Buffer.from('10000\r\n'), Buffer.alloc(0x10000, 'x'), Buffer.from('\r\n')])

function pourForEver(socket) {
  const more = () => {
    while (!socket.destroyed && socket.write(PIECE));
  }
  socket.on('drain', more).write(ENDLESS)
  more()
}

function announceForEver(socket) {
  const timer = setInterval(() => socket.write('HTTP/1.1 103 Early Hints\r\nLink: a\r\n\r\n'), 50)
  socket.on('close', () => clearInterval(timer))
}

/** What the upstream does with a request, by the last part of its path. */
const UPSTREAMS = new Map([
  ['ok', (socket) => socket.write(OK)],
  ['reset', (socket) => socket.resetAndDestroy()],
  ['nothing', (socket) => socket.end()],
  ['garbage', (socket) => socket.end('rubbish\r\n\r\n')],
  ['half', (socket) => socket.end(HALF)],
  ['half-chunk', (socket) => socket.write(HALF_CHUNK, () => socket.resetAndDestroy())],
  ['never', () => {}],
  ['early', announceForEver],
  ['none', (socket) => socket.write('HTTP/1.1 099 W\r\nContent-Length: 2\r\n\r\n{}')],
  ['continue', (socket) => socket.write('HTTP/1.1 100 Continue\r\n\r\n')],
  ['refused', (socket) => socket.write('HTTP/1.1 413 No\r\nContent-Length: 2\r\n\r\nno')],
  ['endless', pourForEver],
])

const request = (path, ...lines) =>
  [`${lines.length > 0 ? 'PUT' : 'GET'} ${path} HTTP/1.1`, 'Host: a', 'Connection: close', ...lines, '', ''].join(
    '\r\n',
  )

const goAway = (ms) => async (socket) => {
  await pause(ms)
  socket.destroy()
}

const readNothing = async (socket) => {
  socket.pause()
  await goAway(300)(socket)
}

const goAfterFirst = (socket) => {
  socket.once('data', () => socket.destroy())
}

const LENGTH = 'Content-Length: 10'
const WAITING = ['Content-Length: 3', 'Expect: 100-continue']

/** Title, the upstream's part, the client's part, and what must come of it. */
const FAULTS = [
  { title: 'all is well', upstream: 'ok', outcome: '200' },
  { title: 'upstream resets', upstream: 'reset', outcome: '502' },
  { title: 'upstream closes without a word', upstream: 'nothing', outcome: '502' },
  { title: 'upstream answers garbage', upstream: 'garbage', outcome: '502' },
  { title: 'upstream closes within a body', upstream: 'half', outcome: 'broken' },
  { title: 'upstream resets within a body', upstream: 'half-chunk', outcome: 'broken' },
  { title: 'upstream never answers', upstream: 'never', outcome: '504' },
  { title: 'upstream is about to answer, for ever', upstream: 'early', outcome: '504' },
  { title: 'upstream answers a status that is none', upstream: 'none', outcome: '502' },
  { title: 'client stalls within its body', upstream: 'never', lines: [LENGTH], body: 'abc', outcome: '408' },
  {
    title: 'client goes within its body',
    upstream: 'never',
    lines: [LENGTH],
    body: 'abc',
    act: goAway(20),
    outcome: 'gone',
  },
  { title: 'an expectation is refused', upstream: 'refused', lines: WAITING, act: goAway(300), outcome: 'gone' },
  { title: 'an expectation meets a reset', upstream: 'reset', lines: WAITING, body: 'abc', outcome: '502' },
  { title: 'an expectation meets garbage', upstream: 'garbage', lines: WAITING, body: 'abc', outcome: '502' },
  { title: 'an expectation meets no status', upstream: 'none', lines: WAITING, body: 'abc', outcome: '502' },
  { title: 'client goes while it expects', upstream: 'never', lines: WAITING, act: goAway(20), outcome: 'gone' },
  { title: 'client goes once it may go on', upstream: 'continue', lines: WAITING, act: goAfterFirst, outcome: 'gone' },
  { title: 'client goes while it waits', upstream: 'never', act: goAway(20), outcome: 'gone' },
  { title: 'client goes within the answer', upstream: 'endless', act: goAfterFirst, outcome: 'gone' },
  { title: 'client stops reading, then goes', upstream: 'endless', act: readNothing, outcome: 'gone' },
]

function follow(sockets, socket) {
  sockets.add(socket)
  socket.on('error', () => {}).on('close', () => sockets.delete(socket))
}

async function openUpstream() {
  const sockets = new Set()
  const server = createServer((socket) => {
    follow(sockets, socket)
    let head = ''
    socket.on('data', (chunk) => {
      head += chunk.toString('latin1')
      const [, word] = /^[A-Z]+ \/[^ ]*\/([a-z-]+) [\s\S]*?\r\n\r\n/.exec(head) ?? []
      if (word === undefined) return
      head = ''
      UPSTREAMS.get(word)?.(socket)
    })
  })
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve))
  return { sockets, server, url: `http://127.0.0.1:${server.address().port}` }
}

function readOutcome(text) {
  const [, status, length] = /^HTTP\/1\.1 (\d{3})[\s\S]*?\r\ncontent-length: (\d+)\r\n/i.exec(text) ?? []
  const body = text.slice(text.indexOf('\r\n\r\n') + 4)
  return length !== undefined && body.length === Number(length) ? status : 'broken'
}

async function commit({ upstream, lines = [], body = '', act, outcome }, door, sockets) {
  const { port } = new URL(door)
  const socket = connect(Number(port), '127.0.0.1')
  follow(sockets, socket)
  let text = ''
  const closed = once(socket, 'close')
  if (outcome !== 'gone')
    socket.on('data', (chunk) => {
      text += chunk.toString('latin1')
    })
  socket.write(request(`/faults/${upstream}`, ...lines) + body)
  await Promise.all([closed, act?.(socket)])
  return outcome === 'gone' ? 'gone' : readOutcome(text)
}

async function startFront(url) {
  const child = fork(FRONT, [url], { execArgv: ['--expose-gc'] })
  const ended = once(child, 'exit').then(() => Promise.reject(new Error('Cardea ended')))
  // whoever waits for it is told
  ended.catch(() => {})
  const answer = async () => (await Promise.race([once(child, 'message'), ended]))[0]
  const doors = await answer()
  return {
    doors: [doors.document, doors.multiModel],
    async measure() {
      child.send('measure')
      return answer()
    },
    async stop() {
      if (child.connected) child.send('stop')
      await ended.catch(() => {})
    },
  }
}

async function commitMany(count, doors, sockets, note) {
  let next = 0
  const worker = async () => {
    while (next < count) {
      const turn = next++
      const fault = FAULTS[turn % FAULTS.length]
      const door = doors[Math.floor(turn / FAULTS.length) % doors.length]
      note(fault, await commit(fault, door, sockets))
    }
  }
  await Promise.all(Array.from({ length: AT_ONCE }, worker))
}

/** Until nobody holds a socket any more, or it has taken too long. */
async function settle(front, ...sides) {
  const deadline = Date.now() + MAX_SETTLING_MS
  for (;;) {
    const measured = await front.measure()
    const left = measured.sockets + sides.reduce((sum, { size }) => sum + size, 0)
    if (left === 0 || Date.now() > deadline) return measured
    await pause(100)
  }
}

/** Gives what came of each kind, what is left, and whether all is as it should be. */
export async function runFaults(count) {
  const upstream = await openUpstream()
  const clients = new Set()
  const front = await startFront(upstream.url)
  const outcomes = new Map(FAULTS.map((fault) => [fault, new Map()]))
  const note = (fault, outcome) => {
    const seen = outcomes.get(fault)
    seen.set(outcome, (seen.get(outcome) ?? 0) + 1)
  }
  try {
    // what is made once and kept (code, pools, caches) is made here
    await commitMany(Math.min(Math.ceil(count / 4), 2000), front.doors, clients, () => {})
    const before = await settle(front, clients, upstream.sockets)
    await commitMany(count, front.doors, clients, note)
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
  const isForgotten = after - before < NOISE_BYTES + count * MAX_BYTES_A_FAULT
  return { ...result, isRight: wrong.length === 0, isClean, isForgotten }
}

const mib = (bytes) => `${(bytes / 2 ** 20).toFixed(2)} MiB`

function print({ count, outcomes, left, before, after, isRight, isClean, isForgotten }) {
  for (const [{ title, outcome }, seen] of outcomes) {
    const came = [...seen].map(([word, number]) => `${word} × ${number}`).join(', ')
    console.log(`${title.padEnd(40)} expected ${outcome.padEnd(7)} came ${came}`)
  }
  console.log(`sockets left: ${left.client} of clients, ${left.upstream} of the upstream, ${left.cardea} of Cardea`)
  console.log(`heap: ${mib(before)} before, ${mib(after)} after ${count} faults (${mib(after - before)})`)
  console.log(isRight && isClean && isForgotten ? 'nothing is left behind' : 'NOT as it should be')
}

if (import.meta.main) {
  const result = await runFaults(Number(process.argv[2] ?? 10_000))
  print(result)
  process.exitCode = result.isRight && result.isClean && result.isForgotten ? 0 : 1
}
