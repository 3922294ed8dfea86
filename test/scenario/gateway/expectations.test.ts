import assert from 'node:assert/strict'
import { once } from 'node:events'
import { request as httpRequest, type IncomingMessage } from 'node:http'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'
import { test } from 'node:test'
import { sendRaw } from '../../support/raw.ts'
import { ADMIN } from '../../support/request.ts'
import type { Scope } from '../../support/scope.ts'
import { startServer } from '../../support/server.ts'
import {
  beforeDocument,
  beforeMultiModel,
  openBackend,
  openServer,
  openToken,
  UPSTREAM_SECRET,
} from '../../support/upstream.ts'

interface RecordingServer {
  readonly url: string
  readonly sockets: Set<Socket>
  /** Every byte that came, one character each. */
  text(): string
  /** Resolves when this has come. */
  has(part: string): Promise<void>
}

/** A server that records the bytes it receives and writes what the test gives it. */
async function openRecordingServer(
  scope: Scope,
  onData: (socket: Socket, text: string) => void,
): Promise<RecordingServer> {
  let text = ''
  const sockets = new Set<Socket>()
  const waiting = new Set<() => void>()
  const server = createServer((socket) => {
    sockets.add(socket)
    socket.on('error', () => {}).on('close', () => sockets.delete(socket))
    socket.on('data', (chunk) => {
      text += chunk.toString('latin1')
      onData(socket, text)
      for (const look of waiting) look()
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  scope.after(() => {
    for (const socket of sockets) socket.destroy()
    server.close()
  })
  const has = (part: string) =>
    new Promise<void>((resolve) => {
      const look = () => {
        if (text.includes(part)) resolve()
      }
      waiting.add(look)
      look()
    })
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, sockets, text: () => text, has }
}

const portOf = (url: string) => Number(new URL(url).port)

/** A client that sends a head, and the rest when the test says so. */
function openClient(scope: Scope, base: string, ...lines: string[]) {
  const socket = connect({ host: '127.0.0.1', port: portOf(base) })
  scope.after(() => socket.destroy())
  let text = ''
  let isClosed = false
  const waiting = new Set<() => void>()
  const tell = () => {
    for (const look of waiting) look()
  }
  socket
    .on('error', () => {})
    .on('data', (chunk) => {
      text += chunk.toString('latin1')
      tell()
    })
  socket.on('close', () => {
    isClosed = true
    tell()
  })
  const until = (isThere: () => boolean) =>
    new Promise<void>((resolve, reject) => {
      const timer = setTimeout(() => reject(new Error(`this is all that came: ${text}`)), 60_000)
      const look = () => {
        if (!isThere()) return
        clearTimeout(timer)
        resolve()
      }
      waiting.add(look)
      look()
    })
  socket.write(Buffer.from([...lines, `Authorization: ${ADMIN.Authorization}`, '', ''].join('\r\n'), 'latin1'))
  return {
    socket,
    text: () => text,
    has: (part: string) => until(() => text.includes(part)),
    closed: () => until(() => isClosed),
  }
}

const EXPECTING = ['PUT /db/doc HTTP/1.1', 'Host: front.example', 'Expect: 100-continue', 'Content-Length: 3']
const OK = 'HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok'

/** What CouchDB 3.5 sends before it reads a body that was announced with `Expect`. Node's client fails at it. */
const COUCHDB_INTERIM = [
  'HTTP/1.1 100 Continue',
  'Connection: close',
  'Date: Sun, 15 Nov 2026 10:00:00 GMT',
  'Server: MochiWeb/1.0 (Any of you quaids got a smint?)',
  '',
  '',
].join('\r\n')

const CREATED = 'HTTP/1.1 201 Created\r\nContent-Length: 12\r\n\r\n{"ok":true}\n'

/** Answers as CouchDB does: an interim response where one is expected, then the response to the whole. */
function speakCouchdb(socket: Socket, text: string): void {
  const isHead = text.endsWith('\r\n\r\n')
  if (isHead && /\r\nexpect:/i.test(text)) socket.write(COUCHDB_INTERIM)
  if (text.endsWith('abc')) socket.write(CREATED)
}

test('the door sends 100 Continue itself, and the upstream gets the body without Expect', async (t) => {
  const backend = await openRecordingServer(t, speakCouchdb)
  const front = await startServer(t, beforeDocument(backend.url))
  const client = openClient(t, front.document, ...EXPECTING)
  await client.has('100 Continue\r\n\r\n')
  client.socket.write('abc')
  await client.has('{"ok":true}')
  assert.match(client.text(), /^HTTP\/1.1 100 Continue\r\n\r\nHTTP\/1.1 201 Created\r\n/)
  assert.doesNotMatch(backend.text(), /^expect:/im)
  assert.match(client.text(), /^connection: keep-alive\r$/im, 'the connection goes on')
})

test('a request that the door rejects gets no 100', async (t) => {
  const backend = await openRecordingServer(t, speakCouchdb)
  const front = await startServer(t, beforeDocument(backend.url))
  const bytes = 'PUT /newdb HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\nContent-Length: 3\r\n\r\n'
  const answer = await sendRaw(portOf(front.document), bytes, { untilClosed: true })
  assert.equal(answer.status, 401)
  assert.equal(backend.text(), '')
})

test('no 100 is sent for an upstream that cannot be reached', async (t) => {
  const gone = await openBackend(t)
  const front = await startServer(t, beforeDocument(gone.url))
  await gone.close()
  const client = openClient(t, front.document, ...EXPECTING)
  await client.closed()
  assert.match(client.text(), /^HTTP\/1.1 503 /)
})

test('a response before the end of the body reaches the client and ends the connection', async (t) => {
  const backend = await openRecordingServer(t, (socket, text) => {
    const status = text.split('/db/').at(-1)?.slice(0, 3)
    socket.write(`HTTP/1.1 ${status} No\r\nContent-Length: 2\r\n\r\nno`)
  })
  const front = await startServer(t, beforeDocument(backend.url))
  const look = async (status: number) => {
    const [, ...lines] = EXPECTING
    const client = openClient(t, front.document, `PUT /db/${status} HTTP/1.1`, ...lines)
    await client.has('100 Continue\r\n\r\n')
    client.socket.write('a')
    await client.closed()
    assert.match(client.text(), new RegExp(`\r\n\r\nHTTP/1.1 ${status} `))
    assert.match(client.text(), /\r\nConnection: close\r\n/i)
    assert.ok(client.text().endsWith('\r\n\r\nno'))
  }
  await Promise.all([403, 413, 417].map(look))
})

test('a client that sends its body with the head gets no 100', async (t) => {
  const backend = await openRecordingServer(t, speakCouchdb)
  const front = await startServer(t, beforeDocument(backend.url))
  const bytes = [...EXPECTING, `Authorization: ${ADMIN.Authorization}`, 'Connection: close', '', 'abc'].join('\r\n')
  const answer = await sendRaw(portOf(front.document), bytes, { untilClosed: true })
  assert.equal(answer.status, 201)
})

const SPOILED: readonly (readonly [name: string, says: string, gets: RegExp])[] = [
  ['a whole answer and then rubbish', `${OK}EXTRA`, /^HTTP\/1.1 200 OK\r\n[\s\S]*\r\n\r\nok$/],
  [
    'a body where none can be',
    'HTTP/1.1 204 No Content\r\nContent-Length: 3\r\n\r\nabc',
    /^HTTP\/1.1 204 [\s\S]*\r\n\r\n$/,
  ],
  [
    'a bad chunk behind a good one',
    'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\nzz\r\n',
    /^HTTP\/1.1 200 OK\r\n[\s\S]*\r\n\r\n3\r\nabc\r\n$/,
  ],
]

for (const [name, says, gets] of SPOILED)
  test(`bytes that arrived before ${name} are not lost`, async (t) => {
    const backend = await openRecordingServer(t, (socket, text) => {
      if (text.endsWith('\r\n0\r\n\r\n')) socket.write(says)
    })
    const front = await startServer(t, beforeDocument(backend.url))
    const lines = ['PUT /db/doc HTTP/1.1', 'Host: front.example', 'Transfer-Encoding: chunked']
    const client = openClient(t, front.document, ...lines, 'Connection: close')
    client.socket.write('3\r\nabc\r\n0\r\n\r\n')
    await client.closed()
    const text = client.text().slice(client.text().lastIndexOf('HTTP/1.1'))
    assert.match(text, gets)
  })

test('the head is forwarded with its names and bytes, one host, one length and the identity of Cardea', async (t) => {
  const backend = await openRecordingServer(t, (socket, text) => {
    if (text.endsWith('abc')) socket.write(OK)
  })
  const front = await startServer(t, beforeDocument(backend.url))
  const lines = [...EXPECTING, 'x-MiXed: caf\xe9', 'X-Auth-User: evil', 'Cookie: a=1', 'TE: trailers']
  const client = openClient(t, front.document, ...lines)
  await client.has('100 Continue')
  client.socket.write('abc')
  await client.has('\r\n\r\nok')
  const head = backend.text().split('\r\n\r\n')[0]?.split('\r\n') ?? []
  const all = (name: string) => head.filter((line) => line.toLowerCase().startsWith(`${name}:`))
  assert.equal(head[0], 'PUT /db/doc HTTP/1.1')
  assert.deepEqual(all('host'), ['host: front.example'])
  assert.deepEqual(all('x-mixed'), ['x-MiXed: caf\xe9'])
  assert.deepEqual(all('content-length'), ['content-length: 3'])
  assert.deepEqual(all('cookie'), ['Cookie: a=1'])
  for (const name of ['transfer-encoding', 'x-auth-user', 'te', 'trailer', 'expect'])
    assert.deepEqual(all(name), [], name)
  const [authorization = ''] = all('authorization')
  assert.equal(openToken(authorization.slice('authorization: '.length), UPSTREAM_SECRET)['sub'], 'admin')
})

for (const announced of [true, false])
  test(`${announced ? 'announced' : 'unannounced'} trailers of a request are discarded`, async (t) => {
    const { promise: came, resolve: tell } = Promise.withResolvers<readonly [IncomingMessage, string]>()
    const backend = await openServer(t, async (request, response) => {
      let body = ''
      for await (const chunk of request) body += chunk
      tell([request, body])
      response.end('{}')
    })
    const front = await startServer(t, beforeDocument(backend.url))
    const lines = [
      'PUT /db/doc HTTP/1.1',
      'Host: front.example',
      ...(announced ? ['Trailer: X-Sum, X-Auth-User'] : []),
      'Transfer-Encoding: chunked',
      '',
      '3',
      'abc',
      '0',
      'X-Sum: 1',
      'X-Auth-User: evil',
      '',
      '',
    ]
    assert.equal((await sendRaw(portOf(front.document), lines.join('\r\n'))).status, 200)
    const [request, body] = await came
    const { trailer, 'transfer-encoding': coding } = request.headers
    assert.deepEqual([trailer, coding, body, request.rawTrailers], [undefined, 'chunked', 'abc', []])
  })

test('a body sent to the multi-model database with a length has no trailers', async (t) => {
  const backend = await openBackend(t)
  const front = await startServer(t, beforeMultiModel(t, backend.url))
  const head = `POST /_api/cursor HTTP/1.1\r\nHost: a\r\nAuthorization: ${ADMIN.Authorization}\r\nTrailer: X-Sum\r\n`
  const body = 'Transfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\nX-Sum: 1\r\n\r\n'
  assert.equal((await sendRaw(portOf(front.multiModel), head + body)).status, 200)
  const [seen] = backend.seen
  assert.deepEqual(
    [seen?.header('trailer'), seen?.header('content-length'), String(seen?.body)],
    [undefined, '3', 'abc'],
  )
})

test('tries the next server if one refuses connections', async (t) => {
  const gone = await openBackend(t)
  const backend = await openBackend(t)
  const front = await startServer(t, beforeDocument(gone.url, backend.url))
  await gone.close()
  const client = openClient(t, front.document, ...EXPECTING)
  await client.has('100 Continue')
  client.socket.write('abc')
  await client.has('200 OK')
  assert.equal(String(backend.seen[0]?.body), 'abc')
})

const SILENT: readonly (readonly [name: string, says: string, options: Record<string, number>, status: number])[] = [
  ['says 100 unasked', 'HTTP/1.1 100 Continue\r\n\r\n', {}, 502],
  ['answers rubbish', 'rubbish\r\n\r\n', {}, 502],
  ['answers half a head', 'HTTP/1.1 200 OK\r\nX-A', { 'first-byte-timeout': 0.2 }, 504],
  ['answers a status that is none', 'HTTP/1.1 099 W\r\nContent-Length: 2\r\n\r\nok', {}, 502],
  ['switches protocols', 'HTTP/1.1 101 Switching\r\nConnection: upgrade\r\nUpgrade: x\r\n\r\n', {}, 502],
]

for (const [name, says, limits, status] of SILENT)
  test(`a server that ${name} is ${status}`, async (t) => {
    const backend = await openRecordingServer(t, (socket) => {
      if (socket.bytesWritten === 0) socket.write(says)
    })
    const front = await startServer(t, beforeDocument(backend.url), { upstream: limits })
    const client = openClient(t, front.document, ...EXPECTING)
    client.socket.write('abc')
    await client.has(`HTTP/1.1 ${status} `)
  })

test('a client that disconnects while the upstream works aborts the upstream request', async (t) => {
  const backend = await openRecordingServer(t, () => {})
  const front = await startServer(t, beforeDocument(backend.url))
  const client = openClient(t, front.document, ...EXPECTING)
  client.socket.write('abc')
  await backend.has('\r\n\r\n')
  const closed = Promise.all([...backend.sockets].map((socket) => once(socket, 'close')))
  client.socket.destroy()
  await closed
})

test('an upstream that dies during its response breaks the connection', async (t) => {
  const backend = await openRecordingServer(t, (socket) => {
    socket.write('HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhalf', () => socket.destroy())
  })
  const front = await startServer(t, beforeDocument(backend.url))
  const client = openClient(t, front.document, ...EXPECTING)
  client.socket.write('abc')
  await client.closed()
  assert.ok(client.text().endsWith('half'), client.text())
})

test('an upstream whose connection is reset does not end a body that ends with its connection', async (t) => {
  const backend = await openRecordingServer(t, (socket) => {
    socket.write('HTTP/1.1 200 OK\r\nConnection: close\r\n\r\nabc')
  })
  const front = await startServer(t, beforeDocument(backend.url))
  const client = openClient(t, front.document, ...EXPECTING)
  client.socket.write('xyz')
  await client.has('abc')
  for (const socket of backend.sockets) socket.resetAndDestroy()
  await client.closed()
  assert.ok(!client.text().includes('\r\n0\r\n'), client.text())
})

test('a feed has no time limit, and is cut when Cardea closes', async (t) => {
  const backend = await openRecordingServer(t, (socket, text) => {
    if (text.endsWith('xyz'))
      setTimeout(() => socket.write('HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n'), 500)
  })
  const limits = { upstream: { 'first-byte-timeout': 0.1, 'idle-timeout': 0.1 } }
  const front = await startServer(t, beforeDocument(backend.url), limits)
  const lines = EXPECTING.map((line) => line.replace('/db/doc', '/db/_changes?feed=continuous'))
  const client = openClient(t, front.document, ...lines)
  client.socket.write('xyz')
  await client.has('abc')
  const closed = Promise.all([...backend.sockets].map((socket) => once(socket, 'close')))
  await front.cardea.close()
  await Promise.all([closed, client.closed()])
})

test('16 MiB are uploaded at the pace of the upstream', async (t) => {
  let bytes = 0
  const backend = await openServer(t, (request, response) => {
    request.on('data', (chunk: Buffer) => {
      bytes += chunk.length
    })
    request.on('end', () => response.end('{}'))
  })
  const front = await startServer(t, beforeDocument(backend.url))
  const headers = { ...ADMIN, Expect: '100-continue', 'Content-Length': String(16 << 20) }
  const request = httpRequest(`${front.document}/db/doc/file`, { method: 'PUT', headers, agent: false })
  request.flushHeaders()
  await once(request, 'continue')
  request.end(Buffer.alloc(16 << 20))
  const [response] = await once(request, 'response')
  assert.deepEqual([response.statusCode, bytes], [200, 16 << 20])
})
