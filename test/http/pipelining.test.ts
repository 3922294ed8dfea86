import assert from 'node:assert/strict'
import { subscribe } from 'node:diagnostics_channel'
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo, Socket } from 'node:net'
import { connect } from 'node:net'
import { type TestContext, test } from 'node:test'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { connect as connectTls } from 'node:tls'
import { connectionOf } from '../../src/http/connections.ts'
import { createAuthority } from '../support/certificates.ts'
import { request, sendRaw } from '../support/raw.ts'
import { makeFolder } from '../support/scope.ts'
import { waitUntil } from '../support/wait.ts'
import { echo, openTestDoor } from './bare-door.ts'

/** The requests that Node's parser has found, of all servers of this process. */
let parsed = 0
/** The connection of the last one. */
let connection: Socket | undefined
subscribe('http.server.request.start', (message) => {
  parsed += 1
  connection = (message as { readonly socket: Socket }).socket
})

const LARGE = 'x'.repeat(100_000)
const slow = '/slow'

/** A door whose slow requests wait until `open` is called. */
async function openSlowDoor(t: TestContext, options: { usesTls?: boolean } = {}) {
  const gate = Promise.withResolvers<void>()
  let served = 0
  const reply = (body: string) => async () => {
    served += 1
    await gate.promise
    return { status: 200, headers: [], body }
  }
  const routes = [
    echo('/echo'),
    { path: slow, methods: { GET: reply('slow'), POST: reply('slow') } },
    { path: '/large', methods: { GET: async () => ({ status: 200, headers: [], body: LARGE }) } },
  ]
  const tls = options.usesTls ? createAuthority(makeFolder(t), 'a').issue({ subject: '/CN=localhost' }) : undefined
  const endpoint = { kind: 'tcp', host: '127.0.0.1', port: 0, ...(tls && { tls }) } as const
  const door = await openTestDoor(t, { dialect: 'document', routes, endpoint })
  const open = (): Promise<Socket> => {
    const to = { port: door.port, host: '127.0.0.1', rejectUnauthorized: false }
    const socket = options.usesTls ? connectTls(to) : connect(to)
    t.after(() => socket.destroy())
    return once(socket, options.usesTls ? 'secureConnect' : 'connect').then(() => socket)
  }
  return { port: door.port, open, openGate: () => gate.resolve(), served: () => served }
}

const post = (path: string, body: string, ...headers: string[]): string =>
  request(path, `Content-Length: ${body.length}`, ...headers).replace('GET', 'POST') + body
const postChunked = (path: string, body: string): string =>
  `${request(path, 'Transfer-Encoding: chunked').replace('GET', 'POST')}${body.length.toString(16)}\r\n${body}\r\n0\r\n\r\n`

/** How many requests of a chunked body's slice may be found with its end. */
const MAX_FOUND_TOGETHER = 60

const KINDS = [
  { name: 'requests', one: request(slow), most: 1 },
  { name: 'requests with bodies', one: post(slow, 'a=b'), most: 1 },
  { name: 'requests with chunked bodies', one: postChunked(slow, 'abc'), most: MAX_FOUND_TOGETHER },
  { name: 'the shortest requests', one: `GET ${slow} HTTP/1.0\r\nConnection:keep-alive\r\n\r\n`, most: 1 },
]

for (const usesTls of [false, true])
  for (const { name, one, most } of KINDS)
    test(`${name} behind one that is served wait as bytes${usesTls ? ', TLS' : ''}`, async (t) => {
      const door = await openSlowDoor(t, { usesTls })
      const client = await door.open()
      const before = parsed
      client.write(one.repeat(2000))
      await waitUntil(() => door.served() === 1)
      for (let turn = 0; turn < 50; turn += 1) await nextTurn()
      assert.ok(parsed - before <= most, `${parsed - before} requests were parsed`)
      assert.equal(door.served(), 1)
    })

test('the requests of a client that has disconnected are dropped', async (t) => {
  const door = await openSlowDoor(t)
  const client = await door.open()
  const before = parsed
  client.write(request(slow).repeat(2000))
  await waitUntil(() => door.served() === 1)
  client.resetAndDestroy()
  await once(client, 'close')
  door.openGate()
  await sendRaw(door.port, request('/'))
  for (let turn = 0; turn < 50; turn += 1) await nextTurn()
  // the other request, and one before the first write to the closed connection failed
  assert.ok(parsed - before <= 4, `${parsed - before} requests were parsed`)
})

test('a connection of a server that is not of Cardea is closed when too many requests wait', async (t) => {
  const server = createServer((incoming) => {
    void connectionOf(incoming.socket).serveInTurn(incoming, () => new Promise(() => {}))
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.after(() => server.close())
  const { port } = server.address() as AddressInfo
  const client = connect(port, '127.0.0.1').on('error', () => {})
  const before = parsed
  const count = 100_000
  client.write(request('/').repeat(count))
  await new Promise((resolve) => client.once('close', resolve))
  assert.ok(parsed - before < count / 2, `${parsed - before} requests were parsed`)
})

test('connections of a server that is not of Cardea take turns', async (t) => {
  let served = 0
  const server = createServer((incoming, response) => {
    const connection = connectionOf(incoming.socket)
    response.on('close', () => connection.endTurn())
    void connection.serveInTurn(incoming, async () => {
      served += 1
      response.end()
    })
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.after(() => server.close())
  const open = () => connect((server.address() as AddressInfo).port, '127.0.0.1').on('error', () => {})
  const [client, other] = [open(), open()]
  t.after(() => [client.destroy(), other.destroy()])
  await once(other, 'connect')
  client.resume().write(request('/').repeat(1000))
  await waitUntil(() => served > 0)
  other.write(request('/'))
  await once(other, 'data')
  assert.ok(served < 500, `${served} requests were served first`)
})

test('replies that are not read stop the reading of requests', async (t) => {
  const door = await openSlowDoor(t)
  const client = await door.open()
  client.pause()
  const before = parsed
  const count = 1000
  client.write(request('/large').repeat(count))
  let last = -1
  for (; last !== parsed; await new Promise((resolve) => setTimeout(resolve, 300))) last = parsed
  // 100 MB of replies; the system holds some of them
  assert.ok(parsed - before < count / 2, `${parsed - before} requests were parsed`)
})

for (const usesTls of [false, true])
  test(`a body that is not read stops the reading from its connection${usesTls ? ', TLS' : ''}`, async (t) => {
    const door = await openSlowDoor(t, { usesTls })
    const client = await door.open()
    client.write(post(slow, 'x'.repeat(50_000_000)))
    await waitUntil(() => door.served() === 1)
    let last = -1
    for (; last !== connection?.bytesRead; await new Promise((resolve) => setTimeout(resolve, 300)))
      last = connection?.bytesRead ?? 0
    assert.ok(last < 1_000_000, `${last} bytes were read`)
  })

test('a connection with many waiting requests takes turns with the others', async (t) => {
  const door = await openSlowDoor(t)
  const [client, other] = [await door.open(), await door.open()]
  let text = ''
  client.on('data', (bytes) => {
    text += bytes
  })
  client.write(request('/echo').repeat(2000))
  await once(client, 'data')
  const before = parsed
  other.write(request('/echo'))
  await once(other, 'data')
  assert.ok(parsed - before < 200, `${parsed - before} requests were served first`)
  await waitUntil(() => text.match(/HTTP\/1\.1 200/g)?.length === 2000)
})

/** Splits bytes at places that differ from run to run only by `seed`. */
function split(bytes: string, seed: number): string[] {
  const pieces: string[] = []
  let state = seed
  for (let at = 0; at < bytes.length; ) {
    state = (state * 48_271) % 2_147_483_647
    const length = 1 + (state % (seed % 2 === 0 ? 7 : 90))
    pieces.push(bytes.slice(at, at + length))
    at += length
  }
  return pieces
}

test('the bytes of pipelined requests may arrive in any pieces', async (t) => {
  const door = await openSlowDoor(t)
  const bodies = ['abc', '\r\n\r\n\r\n\r\n', '', 'GET / HTTP/1.1\r\nHost: a\r\n\r\n', 'x'.repeat(900)]
  const all = bodies.flatMap((body) => [
    { bytes: post('/echo', body), reply: `read ${body.length}` },
    ...(body === '' ? [] : [{ bytes: postChunked('/echo', body), reply: `read ${body.length}` }]),
    { bytes: `\r\n${request('/echo')}`, reply: 'isUnixSocket' },
  ])
  const bytes = all.map((one) => one.bytes).join('') + request('/', 'Connection: close')
  for (let seed = 1; seed <= 12; seed += 1) {
    const client = await door.open()
    client.setNoDelay()
    let text = ''
    client.on('data', (piece) => {
      text += piece
    })
    for (const piece of split(bytes, seed)) {
      client.write(piece)
      await nextTurn()
    }
    await once(client, 'close')
    const found = text.match(/read \d+|isUnixSocket/g)
    assert.deepEqual(
      found,
      all.map(({ reply }) => reply),
      `seed ${seed}`,
    )
  }
})
