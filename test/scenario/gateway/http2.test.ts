import assert from 'node:assert/strict'
import { once } from 'node:events'
import type { RequestListener } from 'node:http'
import { type ClientHttp2Session, type ClientHttp2Stream, connect, type OutgoingHttpHeaders } from 'node:http2'
import { text } from 'node:stream/consumers'
import { type TestContext, test } from 'node:test'
import { ADMIN, send } from '../../support/request.ts'
import { type Server, startServer } from '../../support/server.ts'
import { beforeDocument, openFeeds, openServer } from '../../support/upstream.ts'
import { waitUntil } from '../../support/wait.ts'

const JSON_TYPE = { 'Content-Type': 'application/json' }
const FEED = '/db/_changes?feed=continuous'

function open(t: TestContext, { document }: Server): ClientHttp2Session {
  const session = connect(document)
  t.after(() => session.destroy())
  return session.on('error', () => {})
}

function ask(session: ClientHttp2Session, path: string, headers: OutgoingHttpHeaders = {}): ClientHttp2Stream {
  const stream = session.request({ ':path': path, authorization: ADMIN.Authorization, ...headers })
  return stream.on('error', () => {})
}

async function signIn(front: Server, name: string): Promise<string> {
  const body = JSON.stringify({ name, password: 'pw' })
  const answer = await send(front.document, { method: 'POST', path: '/_session', headers: JSON_TYPE, body })
  return answer.headers['set-cookie']?.[0]?.split(';')[0] ?? ''
}

test('signing out resets the streams of that session, and leaves the others of the connection', async (t) => {
  const front = await startServer(t, beforeDocument((await openFeeds(t)).url))
  await send(front.document, {
    method: 'PUT',
    path: '/_users/org.couchdb.user:ada',
    headers: { ...ADMIN, ...JSON_TYPE },
    body: JSON.stringify({ name: 'ada', password: 'pw', roles: [], type: 'user' }),
  })
  const session = open(t, front)
  const [mine, other] = [await signIn(front, 'ada'), await signIn(front, 'ada')]
  const [ended, kept] = [mine, other].map((cookie) => {
    const stream = session.request({ ':path': FEED, cookie })
    return stream.on('error', () => {}).resume()
  }) as [ClientHttp2Stream, ClientHttp2Stream]
  await Promise.all([once(ended, 'response'), once(kept, 'response')])
  await send(front.document, { method: 'DELETE', path: '/_session', headers: { Cookie: mine } })
  await waitUntil(() => ended.closed)
  assert.equal(ended.rstCode, 2)
  assert.ok(!kept.closed && !session.closed)
})

test('bodies and trailers are forwarded in both directions', async (t) => {
  const upstream: RequestListener = async (request, response) => {
    const body = await text(request)
    response.writeHead(200, { Trailer: 'X-Sum', 'X-Coding': request.headers['transfer-encoding'] ?? 'none' })
    response.write(body.toUpperCase())
    response.addTrailers({ 'X-Sum': String(body.length) })
    response.end()
  }
  const front = await startServer(t, beforeDocument((await openServer(t, upstream)).url))
  const stream = ask(open(t, front), '/db/doc', { ':method': 'PUT' })
  const trailers = once(stream, 'trailers')
  const responded = once(stream, 'response')
  stream.end('a document')
  const [head] = await responded
  assert.equal(head['x-coding'], 'chunked')
  assert.equal(await text(stream), 'A DOCUMENT')
  const [sent] = await trailers
  assert.equal(sent['x-sum'], '10')
})

test('a header that HTTP/2 does not have is removed from the response and its trailers', async (t) => {
  const upstream: RequestListener = (_, response) => {
    response.writeHead(200, { Trailer: 'X-Sum', 'HTTP2-Settings': 'AAMAAABk' })
    response.write('a document')
    response.addTrailers({ 'HTTP2-Settings': 'AAMAAABk', 'X-Sum': '10' })
    response.end()
  }
  const front = await startServer(t, beforeDocument((await openServer(t, upstream)).url))
  const stream = ask(open(t, front), '/db/doc')
  const trailers = once(stream, 'trailers')
  const [head] = await once(stream, 'response')
  assert.deepEqual([head[':status'], head['http2-settings']], [200, undefined])
  assert.equal(await text(stream), 'a document')
  const [sent] = await trailers
  assert.deepEqual(Object.entries(sent), [['x-sum', '10']])
})

test('a response that breaks off resets its stream, and no other', async (t) => {
  const upstream: RequestListener = (request, response) => {
    if (request.url !== '/db/broken') return void response.end('whole')
    response.writeHead(200, { 'Content-Length': 100 })
    response.write('a part', () => response.destroy())
  }
  const front = await startServer(t, beforeDocument((await openServer(t, upstream)).url))
  const session = open(t, front)
  const broken = ask(session, '/db/broken').resume()
  await waitUntil(() => broken.closed)
  assert.equal(broken.rstCode, 2)
  assert.equal(await text(ask(session, '/db/whole')), 'whole')
})

test('a status that HTTP/2 does not have is 502, and other streams stay', async (t) => {
  const front = await startServer(
    t,
    beforeDocument((await openServer(t, (_, response) => void response.writeHead(700).end('odd'))).url),
  )
  const session = open(t, front)
  for (let i = 0; i < 2; i += 1) {
    const stream = ask(session, '/db/odd')
    const [head] = await once(stream, 'response')
    assert.equal(head[':status'], 502)
    assert.equal(JSON.parse(await text(stream)).error, 'bad_gateway')
  }
})

test('a server that stops sends GOAWAY first, and finishes the requests that run', async (t) => {
  const waiting: (() => void)[] = []
  const upstream: RequestListener = (request, response) => {
    if (request.url === '/db/slow') waiting.push(() => response.end('whole'))
    else response.end('{}')
  }
  const front = await startServer(t, beforeDocument((await openServer(t, upstream)).url))
  const session = open(t, front)
  const goaway = once(session, 'goaway')
  const slow = text(ask(session, '/db/slow'))
  await waitUntil(() => waiting.length === 1)
  const closed = front.cardea.close()
  assert.equal((await goaway)[0], 0)
  for (const finish of waiting) finish()
  assert.equal(await slow, 'whole')
  await closed
})
