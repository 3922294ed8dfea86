import assert from 'node:assert/strict'
import { createHash, randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { Agent, type ClientRequest, request as httpRequest, type IncomingMessage, type ServerResponse } from 'node:http'
import { test } from 'node:test'
import { gzipSync } from 'node:zlib'
import { sendRaw } from '../../support/raw.ts'
import { ADMIN, send } from '../../support/request.ts'
import { startServer } from '../../support/server.ts'
import { beforeDocument, beforeMultiModel, openBackend, openServer } from '../../support/upstream.ts'
import { waitUntil } from '../../support/wait.ts'

interface Ask {
  readonly method?: string
  readonly path: string
  readonly headers?: Readonly<Record<string, string>>
}

function ask(base: string, { method = 'GET', path, headers = {} }: Ask): ClientRequest {
  const { hostname, port } = new URL(base)
  return httpRequest({ hostname, port, method, path, headers: { ...ADMIN, ...headers }, agent: false })
}

async function answerOf(request: ClientRequest): Promise<IncomingMessage> {
  const [response] = await once(request, 'response')
  return response
}

async function read(response: IncomingMessage): Promise<Buffer> {
  const chunks: Buffer[] = []
  for await (const chunk of response) chunks.push(chunk)
  return Buffer.concat(chunks)
}

const LARGE_MIB = 100

test(`${LARGE_MIB} MiB arrive unchanged in both directions`, async (t) => {
  const piece = randomBytes(1 << 20)
  const backend = await openServer(t, (request, response) => {
    response.writeHead(200, { 'X-Length': request.headers['content-length'] ?? 'none' })
    request.pipe(response)
  })
  const front = await startServer(t, beforeDocument(backend.url))
  const request = ask(front.document, {
    method: 'PUT',
    path: '/db/doc/file',
    headers: { 'Content-Length': `${LARGE_MIB << 20}` },
  })
  const [up, down] = [createHash('sha256'), createHash('sha256')]
  const sending = (async () => {
    for (let i = 0; i < LARGE_MIB; i += 1) {
      up.update(piece)
      if (!request.write(piece)) await once(request, 'drain')
    }
    request.end()
  })()
  const response = await answerOf(request)
  for await (const chunk of response) down.update(chunk)
  await sending
  assert.equal(response.headers['x-length'], String(LARGE_MIB << 20))
  assert.equal(down.digest('hex'), up.digest('hex'))
})

test('a client that does not read slows the upstream down', async (t) => {
  let sent = 0
  const backend = await openServer(t, (_request, response) => {
    const piece = Buffer.alloc(65_536)
    const more = () => {
      while (sent < 1 << 30) {
        sent += piece.length
        if (!response.write(piece)) return
      }
    }
    response.on('drain', more)
    more()
  })
  const front = await startServer(t, beforeDocument(backend.url))
  const request = ask(front.document, { path: '/db/huge' })
  request.on('error', () => {})
  const response = await answerOf(request.end())
  await settle(() => sent)
  assert.ok(sent < 64 << 20, `${sent} bytes were taken from the upstream`)
  response.destroy()
})

/** Resolves when a number has stopped moving. */
async function settle(read: () => number): Promise<void> {
  let before = -1
  while (before !== read()) {
    before = read()
    await new Promise((resolve) => setTimeout(resolve, 150))
  }
}

test('a chunked body stays chunked at the document database', async (t) => {
  const backend = await openBackend(t)
  const front = await startServer(t, beforeDocument(backend.url))
  const request = ask(front.document, { method: 'PUT', path: '/db/doc' })
  request.write('{"a":')
  request.end('1}')
  await answerOf(request)
  assert.deepEqual(
    [backend.seen[0]?.header('transfer-encoding'), String(backend.seen[0]?.body)],
    ['chunked', '{"a":1}'],
  )
})

test('the multi-model database receives a Content-Length', async (t) => {
  const backend = await openBackend(t)
  const front = await startServer(t, beforeMultiModel(t, backend.url))
  const request = ask(front.multiModel, { method: 'POST', path: '/_api/cursor' })
  request.write('{"query":')
  request.end('"RETURN 1"}')
  await answerOf(request)
  const [seen] = backend.seen
  assert.deepEqual(
    [seen?.header('transfer-encoding'), seen?.header('content-length'), String(seen?.body)],
    [undefined, '20', '{"query":"RETURN 1"}'],
  )
})

test('a body over the spool limit is 413', async (t) => {
  const backend = await openBackend(t)
  const front = await startServer(t, beforeMultiModel(t, backend.url), { upstream: { 'spool-bytes': 1000 } })
  const request = ask(front.multiModel, { method: 'POST', path: '/_api/cursor' })
  request.on('error', () => {})
  request.end(Buffer.alloc(1001))
  const chunked = ask(front.multiModel, { method: 'POST', path: '/_api/cursor' })
  chunked.write(Buffer.alloc(600))
  chunked.end(Buffer.alloc(600))
  const response = await answerOf(chunked)
  assert.equal(response.statusCode, 413)
  assert.equal(JSON.parse(String(await read(response))).errorNum, 413)
  assert.equal((await answerOf(request)).statusCode, 200, 'a body with a length needs no spool')
  assert.equal(backend.seen.length, 1)
})

test('a body larger than Cardea itself reads is still spooled', async (t) => {
  const backend = await openBackend(t)
  const front = await startServer(t, beforeMultiModel(t, backend.url), { door: { 'max-body-bytes': 1024 } })
  const request = ask(front.multiModel, { method: 'POST', path: '/_api/cursor' })
  request.write(Buffer.alloc(5000))
  request.end(Buffer.alloc(5000))
  assert.equal((await answerOf(request)).statusCode, 200)
  assert.equal(backend.seen[0]?.body.length, 10_000)
})

for (const how of ['is sent', 'breaks off'] as const)
  test(`bodies over the limit of all spools are 503 until a spooled one ${how}`, async (t) => {
    const backend = await openBackend(t)
    const limits = { upstream: { 'spool-bytes': 800, 'spool-total-bytes': 1000 } }
    const front = await startServer(t, beforeMultiModel(t, backend.url), limits)
    const holding = ask(front.multiModel, { method: 'POST', path: '/_api/cursor' }).on('error', () => {})
    holding.write(Buffer.alloc(700))
    const again = async () => {
      const request = ask(front.multiModel, { method: 'POST', path: '/_api/cursor' })
      request.write(Buffer.alloc(200))
      request.end(Buffer.alloc(200))
      return answerOf(request)
    }
    const until = (status: number) => waitUntil(async () => (await again()).resume().statusCode === status)
    await until(503)
    const full = await again()
    assert.deepEqual([full.headers['retry-after'], JSON.parse(String(await read(full))).code], ['1', 503])
    const seen = backend.seen.length
    assert.equal((await again()).statusCode, 503)
    assert.equal(backend.seen.length, seen)
    if (how === 'breaks off') holding.destroy()
    else assert.equal((await answerOf(holding.end())).statusCode, 200)
    await until(200)
  })

test('a body that can never fit is 413, not 503', async (t) => {
  const backend = await openBackend(t)
  const front = await startServer(t, beforeMultiModel(t, backend.url), { upstream: { 'spool-total-bytes': 1000 } })
  const request = ask(front.multiModel, { method: 'POST', path: '/_api/cursor' }).on('error', () => {})
  request.write(Buffer.alloc(600))
  request.end(Buffer.alloc(600))
  assert.equal((await answerOf(request)).statusCode, 413)
})

test('100 Continue is sent when the body is needed', async (t) => {
  const backend = await openBackend(t)
  const front = await startServer(t, beforeDocument(backend.url))
  const headers = { Expect: '100-continue', 'Content-Length': '3' }
  const request = ask(front.document, { method: 'PUT', path: '/db/doc', headers })
  request.flushHeaders()
  await once(request, 'continue')
  request.end('abc')
  assert.equal((await answerOf(request)).statusCode, 200)
  assert.deepEqual([String(backend.seen[0]?.body), backend.seen[0]?.header('expect')], ['abc', undefined])
})

test('100 Continue is not sent if the door rejects the request', async (t) => {
  const backend = await openBackend(t)
  const front = await startServer(t, beforeDocument(backend.url), { chttpd: { require_valid_user: true } })
  const port = Number(new URL(front.document).port)
  const bytes = 'PUT /db/doc HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\nContent-Length: 3\r\n\r\n'
  const answer = await sendRaw(port, bytes)
  assert.equal(answer.status, 401)
  assert.equal(backend.seen.length, 0)
})

test('ranges, conditions, HEAD and compressed bodies are forwarded unchanged', async (t) => {
  const packed = gzipSync('hello')
  const backend = await openServer(t, (request, response) => {
    if (request.headers['if-none-match'] === '"1"') response.writeHead(304, { ETag: '"1"' }).end()
    else if (request.headers.range) response.writeHead(206, { 'Content-Range': 'bytes 1-2/5' }).end('el')
    else response.writeHead(200, { 'Content-Encoding': 'gzip', 'Content-Length': packed.length }).end(packed)
  })
  const front = await startServer(t, beforeDocument(backend.url))
  const get = async (given: Ask) => {
    const response = await answerOf(ask(front.document, given).end())
    return { status: response.statusCode, headers: response.headers, body: await read(response) }
  }
  const path = '/db/doc'
  assert.deepEqual((await get({ path })).body, packed)
  const head = await get({ path, method: 'HEAD' })
  assert.deepEqual([head.headers['content-length'], head.body.length], [String(packed.length), 0])
  const part = await get({ path, headers: { Range: 'bytes=1-2' } })
  assert.deepEqual([part.status, part.headers['content-range'], String(part.body)], [206, 'bytes 1-2/5', 'el'])
  const same = await get({ path, headers: { 'If-None-Match': '"1"' } })
  assert.deepEqual([same.status, same.headers['etag'], same.body.length], [304, '"1"', 0])
})

test('HEAD keeps the connection to the upstream', async (t) => {
  const backend = await openServer(t, (_request, response) =>
    response.writeHead(200, { 'Content-Length': 2 }).end('ok'),
  )
  const front = await startServer(t, beforeDocument(backend.url))
  let connections = 0
  backend.server.on('connection', () => {
    connections += 1
  })
  for (const method of ['HEAD', 'HEAD', 'GET', 'HEAD'])
    assert.equal((await answerOf(ask(front.document, { path: '/db/doc', method }).end())).resume().statusCode, 200)
  assert.equal(connections, 1)
})

test('trailers of a response are forwarded', async (t) => {
  const backend = await openServer(t, (_request, response) => {
    response.writeHead(200, { Trailer: 'X-Sum' })
    response.write('abc')
    response.addTrailers({ 'X-Sum': '6' })
    response.end()
  })
  const front = await startServer(t, beforeDocument(backend.url))
  const response = await answerOf(ask(front.document, { path: '/db/doc' }).end())
  await read(response)
  assert.equal(response.trailers['x-sum'], '6')
})

test('a feed is forwarded line by line', async (t) => {
  const { promise: opened, resolve: open } = Promise.withResolvers<ServerResponse>()
  const backend = await openServer(t, (_request, response) => {
    response.writeHead(200).flushHeaders()
    open(response)
  })
  const front = await startServer(t, beforeDocument(backend.url), {
    upstream: { 'idle-timeout': 0.05, 'first-byte-timeout': 0.05 },
  })
  const request = ask(front.document, { path: '/db/_changes?feed=continuous&heartbeat=5000' })
  request.on('error', () => {})
  const response = await answerOf(request.end())
  const feed = await opened
  for (const line of ['{"seq":1}\n', '\n', '{"seq":2}\n']) {
    feed.write(line)
    const [chunk] = await once(response, 'data')
    assert.equal(String(chunk), line)
  }
  response.destroy()
  await once(feed, 'close')
})

test('a client that disconnects aborts the upstream request', async (t) => {
  const { promise: asked, resolve: tell } = Promise.withResolvers<IncomingMessage>()
  const backend = await openServer(t, tell)
  const front = await startServer(t, beforeDocument(backend.url))
  const request = ask(front.document, { path: '/db/slow' })
  request.on('error', () => {})
  request.end()
  const behind = await asked
  const closed = new Promise((resolve) => behind.socket.once('close', resolve))
  request.destroy()
  await closed
})

test('a client that disconnects during its body aborts the upstream request', async (t) => {
  const { promise: asked, resolve: tell } = Promise.withResolvers<IncomingMessage>()
  const backend = await openServer(t, (request) => {
    request.on('error', () => {}).resume()
    tell(request)
  })
  const front = await startServer(t, beforeDocument(backend.url))
  const request = ask(front.document, { method: 'PUT', path: '/db/doc', headers: { 'Content-Length': '10' } })
  request.on('error', () => {})
  request.write('abc')
  const behind = await asked
  const closed = new Promise((resolve) => behind.socket.once('close', resolve))
  request.destroy()
  await closed
})

test('a response before the end of the body reaches the client', async (t) => {
  const backend = await openServer(t, (_request, response) => {
    response.writeHead(413, { 'Content-Type': 'application/json', Connection: 'close' }).end('{"error":"too_large"}')
  })
  const front = await startServer(t, beforeDocument(backend.url))
  const headers = { 'Content-Length': `${8 << 20}` }
  const request = ask(front.document, { method: 'PUT', path: '/db/doc', headers })
  request.on('error', () => {})
  request.write(Buffer.alloc(1 << 16))
  const response = await answerOf(request)
  assert.deepEqual([response.statusCode, String(await read(response))], [413, '{"error":"too_large"}'])
  request.destroy()
})

test('paths of the database are forwarded, paths of Cardea are not', async (t) => {
  const backend = await openBackend(t)
  const front = await startServer(t, beforeDocument(backend.url), beforeMultiModel(t, backend.url))
  for (const path of ['/', '/_all_dbs', '/_uuids', '/_active_tasks', '/_membership', '/db', '/_node/other/_config'])
    await send(front.document, { path, headers: ADMIN })
  for (const path of ['/_node/_local/_config/unknown/option', '/_node/_local/_stats'])
    await send(front.document, { path, headers: ADMIN })
  for (const path of ['/_session', '/_users/_all_docs', '/_node/_local/_config/admins', '/_node/_local/_versions'])
    assert.equal((await send(front.document, { path, headers: ADMIN })).status, 200, path)
  for (const path of ['/', '/_api/version', '/_admin/status', '/_api/database', '/_api/collection', '/app'])
    await send(front.multiModel, { path, headers: ADMIN })
  await send(front.multiModel, { path: '/_api/user', headers: ADMIN })
  assert.deepEqual(
    backend.seen.map(({ url }) => url),
    [
      ...['/', '/_all_dbs', '/_uuids', '/_active_tasks', '/_membership', '/db', '/_node/other/_config'],
      ...['/_node/_local/_config/unknown/option', '/_node/_local/_stats'],
      ...['/', '/_api/version', '/_admin/status', '/_api/database', '/_api/collection', '/app'],
    ],
  )
})

test('other sections of the configuration need an administrator', async (t) => {
  const backend = await openBackend(t)
  const front = await startServer(t, beforeDocument(backend.url))
  for (const path of ['/_node/other/_config', '/_node/_local/_config/unknown/option', '/_all_dbs'])
    assert.equal((await send(front.document, { path })).status, 401)
  assert.equal(backend.seen.length, 0)
})

test('stopping closes a connection after its running response', async (t) => {
  const { promise: opened, resolve: tell } = Promise.withResolvers<ServerResponse>()
  const backend = await openServer(t, (_request, response) => {
    response.writeHead(200).write('first,')
    tell(response)
  })
  const front = await startServer(t, beforeDocument(backend.url), { door: { 'stop-timeout': 60 } })
  const agent = new Agent({ keepAlive: true })
  t.after(() => agent.destroy())
  const request = httpRequest(`${front.document}/db/doc`, { headers: ADMIN, agent })
  const response = await answerOf(request.end())
  assert.equal(response.headers.connection, 'keep-alive')
  const behind = await opened
  const closing = front.cardea.close()
  behind.end('last')
  assert.equal(String(await read(response)), 'first,last')
  await closing
})

test('stopping lets a running response finish and cuts a feed', async (t) => {
  const { promise: opened, resolve: tell } = Promise.withResolvers<ServerResponse>()
  const backend = await openServer(t, (request, response) => {
    response.writeHead(200).write('first,')
    if (request.url === '/db/doc') tell(response)
  })
  const front = await startServer(t, beforeDocument(backend.url))
  const feed = await answerOf(ask(front.document, { path: '/db/_changes?feed=continuous' }).end())
  const feedEnded = new Promise((resolve) => feed.on('error', resolve).on('close', resolve).resume())
  const response = await answerOf(ask(front.document, { path: '/db/doc' }).end())
  const body = read(response)
  const behind = await opened
  const closing = front.cardea.close()
  await feedEnded
  behind.end('last')
  assert.equal(String(await body), 'first,last')
  await closing
})
