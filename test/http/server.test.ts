import assert from 'node:assert/strict'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { connect, type Server } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { connect as connectTls, type TLSSocket } from 'node:tls'
import { promisify } from 'node:util'
import { SILENT_LOG } from '../../src/base/log.ts'
import type { RequestContext } from '../../src/http/request-context.ts'
import { request, sendRaw } from '../support/raw.ts'
import { waitUntil } from '../support/wait.ts'
import { echo, IMPATIENT, openTestDoor } from './bare-door.ts'

test('sends 100 Continue when the body is read', async (t) => {
  const door = await openTestDoor(t)
  const head = 'POST /_open/echo HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\nContent-Length: 3\r\n\r\n'
  const socket = connect(door.port, '127.0.0.1')
  socket.write(head)
  const [first] = await once(socket, 'data')
  assert.match(String(first), /^HTTP\/1\.1 100 Continue/)
  socket.write('abc')
  const [second] = await once(socket, 'data')
  assert.match(String(second), /read 3$/)
  socket.destroy()
})

test('ignores Expect: 100-continue of an HTTP/1.0 client', async (t) => {
  const door = await openTestDoor(t)
  const bytes = 'POST /_open/echo HTTP/1.0\r\nExpect: 100-continue\r\nContent-Length: 3\r\n\r\nabc'
  const response = await sendRaw(door.port, bytes, { untilClosed: true })
  assert.deepEqual([response.status, response.body], [200, 'read 3'])
})

test('sends no 100 Continue if the body is not read', async (t) => {
  const door = await openTestDoor(t)
  const response = await sendRaw(
    door.port,
    'POST /nowhere HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\nContent-Length: 3\r\n\r\n',
    { untilClosed: true },
  )
  assert.equal(response.status, 404)
  assert.ok(response.isClosed)
})

test('delivers the rejection of a large body to a client that is still sending it', async (t) => {
  const door = await openTestDoor(t)
  const response = await sendRaw(
    door.port,
    ['POST /nowhere HTTP/1.1\r\nHost: a\r\nContent-Length: 900000\r\n\r\n', Buffer.alloc(900_000)],
    { untilClosed: true },
  )
  assert.equal(response.status, 404)
})

test('keeps the connection after a small unread body', async (t) => {
  const door = await openTestDoor(t)
  const one = 'POST /nowhere HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\n\r\nabc'
  const response = await sendRaw(door.port, one + request('/', 'Connection: close'), { untilClosed: true })
  assert.equal(response.text.match(/HTTP\/1\.1 404/g)?.length, 1)
  assert.equal(response.text.match(/HTTP\/1\.1 200/g)?.length, 1)
})

test('answers a request before invalid bytes and then closes the connection', async (t) => {
  const door = await openTestDoor(t)
  const response = await sendRaw(door.port, `${request('/')}\x00\x01\r\n\r\n`, { untilClosed: true })
  assert.match(response.text, /^HTTP\/1\.1 200 OK/)
  assert.ok(response.isClosed)
})

test('responds 503 on connections above the limit and keeps serving the others', async (t) => {
  const door = await openTestDoor(t, { limits: { 'max-connections': 1 } })
  const kept = connect(door.port, '127.0.0.1')
  await once(kept, 'connect')
  kept.write(request('/'))
  await once(kept, 'data')
  const refused = await sendRaw(door.port, request('/'), { untilClosed: true })
  assert.equal(refused.status, 503)
  assert.match(refused.head, /^retry-after: 1$/im)
  kept.write(request('/'))
  const [again] = await once(kept, 'data')
  assert.match(String(again), /^HTTP\/1\.1 200/)
  kept.destroy()
})

const CLOSED = 0

/** A connection that has got one response, or was closed. */
async function openUsed(t: TestContext, port: number, options: { from?: string; headers?: string[] } = {}) {
  const socket = connect({ port, host: '127.0.0.1', localAddress: options.from ?? '127.0.0.1' })
  t.after(() => socket.destroy())
  socket.on('error', () => {}).write(request('/', ...(options.headers ?? [])))
  const status = await Promise.race([
    once(socket, 'data').then(([bytes]) => Number(String(bytes).split(' ')[1])),
    once(socket, 'close').then(() => CLOSED),
  ]).catch(() => CLOSED)
  return { status, socket }
}

test('limits the open connections of one client, and closes those far above the limit', async (t) => {
  const warnings: unknown[] = []
  const log = { ...SILENT_LOG, warn: (_text: string, fields: unknown) => warnings.push(fields) }
  const limits = { 'max-connections-per-client': 2 }
  const door = await openTestDoor(t, { limits, trusted: '127.0.0.2', log })
  const all = [await openUsed(t, door.port), await openUsed(t, door.port)]
  assert.deepEqual(
    all.map(({ status }) => status),
    [200, 200],
  )
  assert.equal((await openUsed(t, door.port)).status, 503)
  assert.equal((await openUsed(t, door.port, { from: '127.0.0.3' })).status, 200)
  // without a request, these stay open
  const silent = [connect(door.port, '127.0.0.1'), connect(door.port, '127.0.0.1')]
  for (const socket of silent) t.after(() => socket.destroy())
  await Promise.all(silent.map((socket) => once(socket, 'connect')))
  await waitUntil(async () => (await openUsed(t, door.port)).status === CLOSED)
  for (const socket of [...silent, ...all.map((each) => each.socket)]) socket.destroy()
  await waitUntil(async () => (await openUsed(t, door.port)).status === 200)
  assert.deepEqual(warnings, [{ door: 'multi-model', client: '127.0.0.1', refused: 1 }])
})

test('the connections of a trusted proxy are not limited, the requests of each of its clients are', async (t) => {
  const gate = Promise.withResolvers<void>()
  const held = async () => gate.promise.then(() => ({ status: 200, headers: [], body: 'done' }))
  const routes = [{ path: '/_open/slow', methods: { GET: held } }]
  const door = await openTestDoor(t, { limits: { 'max-connections-per-client': 2 }, trusted: '127.0.0.1', routes })
  const via = (client: string, path = '/') => sendRaw(door.port, request(path, `X-Forwarded-For: ${client}`))
  for (let turn = 0; turn < 5; turn += 1) assert.equal((await openUsed(t, door.port)).status, 200)
  const running = [via('192.0.2.1', '/_open/slow'), via('192.0.2.1', '/_open/slow')]
  await waitUntil(async () => (await via('192.0.2.1')).status === 503)
  assert.equal((await via('192.0.2.2')).status, 200)
  gate.resolve()
  await Promise.all(running)
  await waitUntil(async () => (await via('192.0.2.1')).status === 200)
})

test('on stop, finishes running requests and accepts no new connections', async (t) => {
  const gate = Promise.withResolvers<void>()
  const routes = [
    {
      path: '/_open/slow',
      methods: { GET: async () => gate.promise.then(() => ({ status: 200, headers: [], body: 'done' })) },
    },
  ]
  const door = await openTestDoor(t, { routes })
  const running = sendRaw(door.port, request('/_open/slow'), { untilClosed: true })
  const idle = connect(door.port, '127.0.0.1')
  await once(idle, 'connect')
  await sendRaw(door.port, request('/')) // by now the running request has arrived
  const closed = door.close(5000)
  await once(idle, 'close')
  await assert.rejects(once(connect(door.port, '127.0.0.1'), 'connect'), { code: 'ECONNREFUSED' })
  gate.resolve()
  const response = await running
  assert.equal(response.body, 'done')
  assert.match(response.head, /^connection: close$/im)
  await closed
})

test('on stop, waits no longer than the grace period', async (t) => {
  const routes = [{ path: '/_open/never', methods: { GET: () => new Promise<never>(() => {}) } }]
  const door = await openTestDoor(t, { routes })
  const hanging = sendRaw(door.port, request('/_open/never'), { untilClosed: true })
  await sendRaw(door.port, request('/'))
  await door.close(50)
  assert.equal((await hanging).status, 0)
})

test('serves on a private Unix socket, and refuses to replace one that is in use', async (t) => {
  const path = join(mkdtempSync(join(tmpdir(), 'cardea-')), 'door.sock')
  await openTestDoor(t, { endpoint: { kind: 'unix', path } })
  assert.equal(statSync(path).mode & 0o007, 0)
  const response = await sendRaw({ path }, request('/_open/echo'))
  assert.equal(JSON.parse(response.body).isUnixSocket, true)
  await assert.rejects(openTestDoor(t, { endpoint: { kind: 'unix', path } }), { code: 'EADDRINUSE' })
})

test('does not replace a file that is not a socket', async (t) => {
  const path = join(mkdtempSync(join(tmpdir(), 'cardea-')), 'precious.txt')
  writeFileSync(path, 'precious')
  await assert.rejects(openTestDoor(t, { endpoint: { kind: 'unix', path } }), { code: 'EEXIST' })
  assert.equal(readFileSync(path, 'utf8'), 'precious')
})

const fixture = (name: string) => readFileSync(new URL(`../fixtures/tls/${name}`, import.meta.url), 'utf8')
const TLS_ENDPOINT = {
  ...({ kind: 'tcp', host: '127.0.0.1', port: 0 } as const),
  tls: { cert: fixture('cert.pem'), key: fixture('key.pem') },
}

test('closes a connection that does not begin the TLS handshake in time', async (t) => {
  const door = await openTestDoor(t, { endpoint: TLS_ENDPOINT, limits: IMPATIENT })
  const response = await sendRaw(door.port, '', { untilClosed: true })
  assert.ok(response.isClosed)
})

const countConnections = (server: Server) => promisify(server.getConnections.bind(server))()

test('on stop, closes connections that have not begun the TLS handshake', { timeout: 30_000 }, async (t) => {
  const door = await openTestDoor(t, { endpoint: TLS_ENDPOINT })
  const idle = connect(door.port, '127.0.0.1')
  await once(idle, 'connect')
  await waitUntil(async () => (await countConnections(door.server)) === 1)
  const closed = once(idle, 'close')
  await door.close(60_000)
  await closed
})

test('begins one TLS handshake of a client in an iteration, also if its first bytes come later', async (t) => {
  const door = await openTestDoor(t, { endpoint: TLS_ENDPOINT })
  const sockets = await Promise.all(
    Array.from({ length: 20 }, async () => {
      const socket = connect(door.port, '127.0.0.1')
      await once(socket, 'connect')
      return socket
    }),
  )
  await waitUntil(async () => (await countConnections(door.server)) === sockets.length)
  for (let passed = 0; passed < 10 * sockets.length; passed += 1) await nextTurn()
  let iteration = 0
  /** The iteration in which the server read the first bytes of each client. */
  const begun = new Map<number | undefined, number>()
  door.server.on('keylog', (_line: Buffer, { remotePort }: TLSSocket) => {
    if (!begun.has(remotePort)) begun.set(remotePort, iteration)
  })
  for (const socket of sockets) connectTls({ socket, rejectUnauthorized: false }).on('error', () => {})
  const isOpen = () => sockets.every(({ destroyed }) => !destroyed)
  for (; begun.size < sockets.length && isOpen(); iteration += 1) await nextTurn()
  assert.equal(new Set(begun.values()).size, sockets.length)
  for (const socket of sockets) socket.destroy()
})

test('closes the connection if an unread body does not arrive', async (t) => {
  const door = await openTestDoor(t, { limits: IMPATIENT })
  const response = await sendRaw(door.port, 'GET / HTTP/1.1\r\nHost: a\r\nContent-Length: 20\r\n\r\nx', {
    untilClosed: true,
  })
  assert.equal(response.status, 200)
  assert.ok(response.isClosed)
})

test('limits the body to the limit of the door, whatever the route asks for', async (t) => {
  const routes = [
    {
      path: '/_open/large',
      methods: {
        POST: async (context: RequestContext) => ({
          status: 200,
          headers: [],
          body: `${(await context.readBody(1e6))?.length}`,
        }),
      },
    },
  ]
  const door = await openTestDoor(t, { routes, limits: { 'max-body-bytes': 10 } })
  const response = await sendRaw(
    door.port,
    'POST /_open/large HTTP/1.1\r\nHost: a\r\nContent-Length: 11\r\n\r\n12345678901',
  )
  assert.equal(response.status, 413)
})

for (const { chunkBytes, status } of [
  { chunkBytes: 10, status: 400 },
  { chunkBytes: 60, status: 200 },
])
  test(`responds ${status} to a body in 2000 chunks of ${chunkBytes} bytes`, async (t) => {
    const door = await openTestDoor(t, {
      dialect: 'document',
      routes: [echo('/echo')],
      limits: { 'max-body-bytes': 1_000_000 },
    })
    const head = 'POST /echo HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n'
    const chunk = `${chunkBytes.toString(16)}\r\n${'x'.repeat(chunkBytes)}\r\n`
    const response = await sendRaw(door.port, [head, `${chunk.repeat(2000)}0\r\n\r\n`])
    assert.equal(response.status, status)
  })

test('logs no error if the client disconnects', async (t) => {
  const logged: string[] = []
  const log = { debug() {}, info() {}, warn() {}, error: (message: string) => void logged.push(message) }
  const reached = Promise.withResolvers<void>()
  const routes = [
    {
      path: '/_open/slow',
      methods: {
        GET: (context: RequestContext) => {
          const { promise, reject } = Promise.withResolvers<never>()
          context.signal.addEventListener('abort', () => {
            reject(new DOMException('gone', 'AbortError'))
            setImmediate(() => reached.resolve())
          })
          return promise
        },
      },
    },
  ]
  const door = await openTestDoor(t, { routes, log })
  const socket = connect(door.port, '127.0.0.1')
  socket.write(request('/_open/slow'))
  await sendRaw(door.port, request('/'))
  socket.destroy()
  await reached.promise
  assert.deepEqual(logged, [])
})

test('responds 500 without details to an unexpected error, and logs it', async (t) => {
  const logged: unknown[] = []
  const log = {
    debug() {},
    info() {},
    warn() {},
    error: (message: string, fields?: object) => void logged.push([message, fields]),
  }
  const routes = [
    {
      path: '/_open/broken',
      methods: {
        GET: () => {
          throw new TypeError('secret inside')
        },
      },
    },
  ]
  const door = await openTestDoor(t, { routes, log })
  const response = await sendRaw(door.port, request('/_open/broken'))
  assert.equal(response.status, 500)
  assert.doesNotMatch(response.text, /secret/)
  assert.equal(logged.length, 1)
})

test('sends a feed piece by piece, and ends it when the client disconnects', async (t) => {
  const ended = Promise.withResolvers<void>()
  async function* count() {
    try {
      for (let i = 0; ; i += 1) {
        yield `${i}\n`
        await new Promise((resolve) => setImmediate(resolve))
      }
    } finally {
      ended.resolve()
    }
  }
  const routes = [{ path: '/_open/feed', methods: { GET: () => ({ status: 200, headers: [], body: count() }) } }]
  const door = await openTestDoor(t, { routes })
  const socket = connect(door.port, '127.0.0.1')
  socket.write(request('/_open/feed'))
  const [head] = await once(socket, 'data')
  assert.match(String(head), /^transfer-encoding: chunked$/im)
  socket.destroy()
  await ended.promise
})

test('breaks off the connection if a feed fails', async (t) => {
  async function* fail() {
    yield 'begun'
    throw new Error('lost')
  }
  const routes = [{ path: '/_open/feed', methods: { GET: () => ({ status: 200, headers: [], body: fail() }) } }]
  const door = await openTestDoor(t, { routes })
  const response = await sendRaw(door.port, request('/_open/feed'), { untilClosed: true })
  assert.match(response.text, /begun/)
  assert.doesNotMatch(response.text, /\r\n0\r\n\r\n$/)
})

test('answers HEAD like GET, without the body', async (t) => {
  const door = await openTestDoor(t)
  const response = await sendRaw(door.port, request('/_admin/server/availability').replace('GET', 'HEAD'), {
    until: '\r\n\r\n',
  })
  assert.equal(response.status, 200)
  assert.equal(response.body, '')
  assert.match(response.head, /^content-length: 43$/im)
})

test('keeps the connection after a rejected chunked body only if all of it has arrived', async (t) => {
  const door = await openTestDoor(t)
  const head = 'POST /_admin/server/availability HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n'
  const whole = await sendRaw(door.port, `${head}5\r\nhello\r\n0\r\n\r\n`)
  assert.equal(whole.status, 400)
  assert.doesNotMatch(whole.head, /^connection: close$/im)
  const half = await sendRaw(door.port, `${head}5\r\nhello\r\n`)
  assert.equal(half.status, 400)
  assert.match(half.head, /^connection: close$/im)
})

const COOKIES: [string, string | undefined][] = [
  ['AuthSession=abc', 'abc'],
  ['a=b; AuthSession=abc; c=d', 'abc'],
  ['AuthSession=first; AuthSession=second', 'first'],
  ['AuthSession="a\\"b"', 'a"b'],
  ['$AuthSession=x', undefined],
  ['AuthSession=', ''],
  ['AuthSession=a=b==', 'a=b=='],
  ['AuthSession=abc ', 'abc'],
  ['AuthSession=abc d', 'abc d'],
  ['AuthSession =abc', 'abc'],
  ['AuthSessions=abc', undefined],
  ['authsession=abc', undefined],
  ['a=b,AuthSession=abc', 'abc'],
  ['xAuthSession=abc', undefined],
  ['a AuthSession=abc', undefined],
  ['a AuthSession=abc; AuthSession=def', 'def'],
  [';;, AuthSession = abc ;', 'abc'],
  ['a="b; AuthSession=abc"', undefined],
  ['a="b; AuthSession=abc', 'abc'],
]

for (const [header, value] of COOKIES) {
  test(`cookie: ${header}`, async (t) => {
    const door = await openTestDoor(t)
    const response = await sendRaw(door.port, request('/_open/echo', `Cookie: ${header}`))
    assert.equal(JSON.parse(response.body).cookie, value)
  })
}
