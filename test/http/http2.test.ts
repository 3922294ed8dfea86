import assert from 'node:assert/strict'
import { once } from 'node:events'
import { type ClientHttp2Session, type ClientHttp2Stream, connect, type OutgoingHttpHeaders } from 'node:http2'
import { createConnection } from 'node:net'
import { Readable } from 'node:stream'
import { buffer, text } from 'node:stream/consumers'
import { test } from 'node:test'
import { setTimeout as pause } from 'node:timers/promises'
import { SILENT_LOG } from '../../src/base/log.ts'
import type { Dialect, Route } from '../../src/http/request-context.ts'
import { createAuthority } from '../support/certificates.ts'
import { block, exchange, FLAG, frame, START, TYPE, request as toFrame, toHead } from '../support/frames.ts'
import { sendRaw, request as toText } from '../support/raw.ts'
import { makeFolder, type Scope } from '../support/scope.ts'
import { waitUntil } from '../support/wait.ts'
import { echo, openTestDoor, type TestDoorOptions } from './bare-door.ts'

async function open(scope: Scope, { limits, ...options }: TestDoorOptions = {}) {
  const door = await openTestDoor(scope, { ...options, limits: { usesHttp2: true, ...limits } })
  const connectNow = (): ClientHttp2Session => {
    const session = connect(`http://127.0.0.1:${door.port}`)
    session.on('error', () => {})
    scope.after(() => session.destroy())
    return session
  }
  return { ...door, connect: connectNow }
}

const send = (session: ClientHttp2Session, path: string, headers: OutgoingHttpHeaders = {}): ClientHttp2Stream => {
  const stream = session.request({ ':path': path, ...headers })
  stream.on('error', () => {})
  return stream
}

async function load(stream: ClientHttp2Stream): Promise<{ status: number; body: string }> {
  const [headers] = await once(stream, 'response')
  return { status: headers[':status'], body: await text(stream) }
}

/** A route whose reply ends when the test says so. */
function createHeldRoute(path: string) {
  const release = Promise.withResolvers<void>()
  const started = { count: 0 }
  const route: Route = {
    path,
    methods: {
      GET: async () => {
        started.count += 1
        await release.promise
        return { status: 200, headers: [], body: 'held' }
      },
    },
  }
  return { route, release: release.resolve, started }
}

const feedOf = (pieces: () => AsyncIterable<string>): Route => ({
  path: '/feed',
  methods: { GET: () => ({ status: 200, headers: [], body: pieces() }) },
})

test('a slow request does not delay the others of its connection', async (t) => {
  const held = createHeldRoute('/held')
  const door = await open(t, { routes: [held.route, echo('/echo')] })
  const session = door.connect()
  const slow = load(send(session, '/held'))
  for (let i = 0; i < 20; i += 1) assert.equal((await load(send(session, '/echo'))).status, 200)
  held.release()
  assert.deepEqual(await slow, { status: 200, body: 'held' })
})

test('headers with the names of members of every object are headers', async (t) => {
  const door = await open(t)
  const session = door.connect()
  for (const name of ['constructor', 'tostring', '__proto__', 'hasownproperty', 'valueof']) {
    const headers = Object.fromEntries([[name, 'x']])
    assert.equal((await load(send(session, '/echo', headers))).status, 200, name)
  }
})

/** Fails before a reply can be found. */
const BROKEN: Dialect = {
  name: 'broken',
  get requestIdHeader(): string {
    throw new Error('broken')
  },
  readPath: (raw) => ({ raw, segments: [] }),
  steps: [],
  routes: [],
  fallback: () => ({ status: 200, headers: [] }),
  renderError: () => ({ status: 500, headers: [] }),
  defaultHeaders: () => [],
}

test('a failure while a request is built resets its stream alone, and is logged', async (t) => {
  const failures: string[] = []
  const log = { ...SILENT_LOG, error: (message: string) => void failures.push(message) }
  const door = await open(t, { log, mounts: [{ segment: 'broken', dialect: BROKEN }] })
  const session = door.connect()
  const [error] = await once(send(session, '/broken'), 'error')
  assert.equal(error.code, 'ERR_HTTP2_STREAM_ERROR')
  assert.deepEqual(failures, ['a request could not be answered'])
  assert.equal((await load(send(session, '/echo'))).status, 200)
})

test('a client that connects and sends nothing is disconnected when it ends', async (t) => {
  const door = await open(t)
  const socket = createConnection(door.port, '127.0.0.1').end()
  await once(socket.resume(), 'close')
})

test('cookies in several headers are one list', async (t) => {
  const door = await open(t)
  const { body } = await load(send(door.connect(), '/echo', { cookie: ['a=1', 'AuthSession=b', 'c=2'] }))
  assert.equal(JSON.parse(body).cookie, 'b')
})

test('`:authority` and forwarded headers describe the client as in HTTP/1.1', async (t) => {
  const door = await open(t)
  const headers = { ':authority': 'db.example', 'x-forwarded-for': '192.0.2.7', 'x-forwarded-proto': 'https' }
  const client = JSON.parse((await load(send(door.connect(), '/echo', headers))).body)
  assert.deepEqual([client.host, client.address, client.scheme], ['db.example', '192.0.2.7', 'https'])
})

test('`100 Continue` is sent when the body is read', async (t) => {
  const door = await open(t)
  const stream = send(door.connect(), '/echo', { ':method': 'POST', expect: '100-continue', 'content-length': 3 })
  const loaded = load(stream)
  await once(stream, 'continue')
  stream.end('abc')
  assert.deepEqual(await loaded, { status: 200, body: 'read 3' })
})

/** How a client ends a body of unknown length in which it sends nothing, or nothing more. */
const EMPTY_ENDS: Readonly<Record<string, readonly Buffer[]>> = {
  'an empty frame': [frame(TYPE.data, FLAG.endStream, 1)],
  'an empty frame after another': [frame(TYPE.data, 0, 1), frame(TYPE.data, FLAG.endStream, 1)],
  trailers: [frame(TYPE.headers, FLAG.endHeaders | FLAG.endStream, 1, block([['x-a', 'b']]))],
  'an empty frame with padding': [frame(TYPE.data, FLAG.endStream | FLAG.padded, 1, Buffer.of(2, 0, 0))],
}
const POST = frame(TYPE.headers, FLAG.endHeaders, 1, block([[':method', 'POST'], ...toHead('/echo').slice(1)]))

for (const [name, end] of Object.entries(EMPTY_ENDS))
  for (const dialect of ['document', 'multi-model'] as const)
    test(`${dialect}: a body without a length that ends with ${name} is empty`, async (t) => {
      const door = await open(t, { dialect })
      assert.equal(await exchange(door.port, [POST, ...end]), '200')
    })

test('a body that is too large ends its stream alone, with a reply', async (t) => {
  const door = await open(t)
  const session = door.connect()
  const upload = send(session, '/echo', { ':method': 'POST', 'content-length': 50_000_000 })
  upload.write(Buffer.alloc(60_000))
  const closed = once(upload, 'close')
  assert.equal((await load(upload)).status, 413)
  await closed
  assert.equal((await load(send(session, '/echo'))).status, 200)
})

/** Uploads that are legitimate, and look like floods if a byte of them is counted twice or not at all. */
const UPLOADS = [
  { name: 'a large one', count: 1, bytes: 8_000_000, pieceBytes: 16_000 },
  { name: 'one in small pieces', count: 1, bytes: 1_000_000, pieceBytes: 50 },
  { name: 'many at a time', count: 30, bytes: 200_000, pieceBytes: 10_000 },
]
const forward: Route = {
  path: '/forward',
  methods: {
    POST: async (context) => ({
      status: 200,
      headers: [],
      body: `${(await buffer(context.openBody() ?? Readable.from([]))).length}`,
    }),
  },
}
for (const { name, count, bytes, pieceBytes } of UPLOADS)
  test(`uploads are no floods: ${name}`, async (t) => {
    const door = await open(t, { routes: [forward] })
    const session = door.connect()
    const upload = async () => {
      const stream = send(session, '/forward', { ':method': 'POST' })
      const loaded = load(stream)
      for (let sent = 0; sent < bytes; sent += pieceBytes)
        if (!stream.write(Buffer.alloc(pieceBytes))) await once(stream, 'drain')
      stream.end()
      return loaded
    }
    for (const loaded of await Promise.all(Array.from({ length: count }, upload)))
      assert.deepEqual(loaded, { status: 200, body: `${bytes}` })
  })

test('uploads that are rejected while they are sent leave the connection', async (t) => {
  const door = await open(t)
  const session = door.connect()
  const rejected = Array.from({ length: 30 }, () => {
    const stream = send(session, '/echo', { ':method': 'POST' })
    stream.end(Buffer.alloc(200_000))
    return load(stream)
  })
  for (const { status } of await Promise.all(rejected)) assert.equal(status, 413)
  assert.equal((await load(send(session, '/echo'))).status, 200)
})

test('HEAD has the head of GET', async (t) => {
  const door = await open(t)
  const stream = send(door.connect(), '/echo', { ':method': 'HEAD' })
  const [headers] = await once(stream, 'response')
  assert.equal(headers[':status'], 200)
  assert.equal(await text(stream), '')
})

/** Far more than PouchDB cancels: twenty feeds of a page, two times in a second. */
const CANCELLED_AT_ONCE = 20
const MS_BETWEEN_CANCELS = 500
const ROUNDS = process.env['TEST_LONG'] ? 180 : 6

test('a page may cancel its long polls for hours', { timeout: 600_000 }, async (t) => {
  const held = createHeldRoute('/_changes')
  const door = await open(t, { routes: [held.route, echo('/echo')], limits: { 'max-connections': 1000 } })
  const session = door.connect()
  let isTold = false
  session.on('goaway', () => {
    isTold = true
  })
  const cancelPolls = async (count: number) => {
    const polls = Array.from({ length: count }, () => send(session, '/_changes'))
    assert.equal((await load(send(session, '/echo'))).status, 200)
    for (const poll of polls) poll.close(8)
    await Promise.all(polls.map((poll) => poll.closed || once(poll, 'close')))
  }
  // 400 at once leave a small part of what is allowed, so that the rounds show that it grows again
  for (let i = 0; i < 10; i += 1) await cancelPolls(40)
  for (let i = 0; i < ROUNDS; i += 1) {
    await pause(MS_BETWEEN_CANCELS)
    await cancelPolls(CANCELLED_AT_ONCE)
  }
  assert.ok(!isTold && !session.closed)
  held.release()
})

test('a feed is produced as fast as its client reads, and reset if it reads nothing', async (t) => {
  let pieces = 0
  async function* produce() {
    for (;;) {
      pieces += 1
      yield 'x'.repeat(16_384)
    }
  }
  const door = await open(t, { routes: [feedOf(produce), echo('/echo')], limits: { 'write-timeout': 1000 } })
  const session = door.connect()
  const feed = send(session, '/feed')
  await once(feed, 'response')
  feed.pause()
  await waitUntil(async () => (await load(send(session, '/echo'))).status === 200 && feed.rstCode !== 0)
  assert.equal(feed.rstCode, 2)
  assert.ok(pieces < 50, `${pieces} pieces were produced`)
})

test('a feed that fails is reset, so that no client takes a part of it for the whole', async (t) => {
  async function* fail() {
    yield 'a part'
    throw new Error('lost')
  }
  const door = await open(t, { routes: [feedOf(fail)] })
  const feed = send(door.connect(), '/feed')
  const [error] = await once(feed.resume(), 'error')
  assert.equal(error.code, 'ERR_HTTP2_STREAM_ERROR')
})

test('a client that ends its connection without a word ends its long polls', async (t) => {
  const isGone = Promise.withResolvers<void>()
  const route: Route = {
    path: '/poll',
    methods: {
      GET: (context) => {
        context.onGone(isGone.resolve)
        return new Promise(() => {})
      },
    },
  }
  const door = await open(t, { routes: [route] })
  const socket = createConnection(door.port, '127.0.0.1')
  socket.write(Buffer.concat([START, toFrame('/poll')]))
  await once(socket, 'data')
  socket.end()
  await isGone.promise
})

test('a client that disconnects ends its feeds', async (t) => {
  let isEnded = false
  const stopped = Promise.withResolvers<void>()
  async function* produce() {
    try {
      yield 'first'
      await stopped.promise
      yield 'second'
    } finally {
      isEnded = true
    }
  }
  const door = await open(t, { routes: [feedOf(produce)] })
  const feed = send(door.connect(), '/feed')
  await once(feed, 'data')
  feed.close(8)
  await once(feed, 'close')
  stopped.resolve()
  await waitUntil(() => isEnded)
})

test('a door that stops sends GOAWAY, finishes running requests and ends feeds', async (t) => {
  const held = createHeldRoute('/held')
  const never = Promise.withResolvers<void>()
  async function* produce() {
    yield 'first'
    await never.promise
  }
  const door = await open(t, { routes: [held.route, feedOf(produce)] })
  const session = door.connect()
  const running = load(send(session, '/held'))
  const feed = send(session, '/feed')
  await once(feed, 'data')
  await waitUntil(() => held.started.count === 1)
  const goaway = once(session, 'goaway')
  const closed = door.close(600_000)
  const [code] = await goaway
  assert.equal(code, 0)
  held.release()
  assert.deepEqual(await running, { status: 200, body: 'held' })
  await closed
  never.resolve()
})

test('an idle connection is closed, with GOAWAY', async (t) => {
  const door = await open(t, { limits: { 'keep-alive-timeout': 200 } })
  const session = door.connect()
  const goaway = once(session, 'goaway')
  assert.equal((await load(send(session, '/echo'))).status, 200)
  await goaway
  await waitUntil(() => session.destroyed)
})

test('a connection that sends no request is closed', async (t) => {
  const door = await open(t, { limits: { 'header-timeout': 200 } })
  const session = door.connect()
  await waitUntil(() => session.destroyed)
})

test('requests over HTTP/2 count as connections of their client', async (t) => {
  const held = createHeldRoute('/held')
  const limits = { 'max-connections-per-client': 5 }
  const door = await open(t, { routes: [held.route], limits, trusted: '192.0.2.1' })
  const session = door.connect()
  const running = Array.from({ length: 4 }, () => load(send(session, '/held')))
  await waitUntil(() => held.started.count === 4)
  assert.equal((await load(send(session, '/held'))).status, 503)
  held.release()
  for (const { status } of await Promise.all(running)) assert.equal(status, 200)
})

test('HTTP/1.1 is served on the same port, and a request for an upgrade to HTTP/2 over it', async (t) => {
  const door = await open(t)
  assert.equal((await sendRaw(door.port, toText('/echo'))).status, 200)
  const upgrade = toText('/echo', 'Connection: Upgrade, HTTP2-Settings', 'Upgrade: h2c', 'HTTP2-Settings: AAMAAABk')
  assert.equal((await sendRaw(door.port, upgrade)).status, 200)
})

for (const usesHttp2 of [true, false])
  test(`with TLS the handshake chooses the version; HTTP/2 is ${usesHttp2 ? 'on' : 'off'}`, async (t) => {
    const tls = createAuthority(makeFolder(t), 'a').issue({ subject: '/CN=localhost' })
    const door = await openTestDoor(t, {
      limits: { usesHttp2 },
      endpoint: { kind: 'tcp', host: '127.0.0.1', port: 0, tls },
    })
    const session = connect(`https://127.0.0.1:${door.port}`, { rejectUnauthorized: false })
    t.after(() => session.destroy())
    if (usesHttp2) assert.equal((await load(send(session, '/echo'))).status, 200)
    else await assert.rejects(once(session, 'connect'))
  })

test('without HTTP/2 its preface is not a request', async (t) => {
  const door = await openTestDoor(t)
  const { status } = await sendRaw(door.port, 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n')
  assert.equal(status, 400)
})

test('a connection above the limit is closed, whatever was not read', { timeout: 30_000 }, async (t) => {
  const door = await open(t, { limits: { 'max-connections-per-client': 1 }, trusted: '127.0.0.9' })
  const first = createConnection(door.port, '127.0.0.1')
  t.after(() => first.destroy())
  await once(first, 'connect')
  const session = door.connect()
  const closed = once(session, 'close')
  const stream = send(session, '/_open/echo', { ':method': 'POST' })
  stream.write('x'.repeat(100))
  assert.equal((await load(stream)).status, 503)
  await closed
})
