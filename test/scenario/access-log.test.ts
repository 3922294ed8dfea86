// log.access: one line for each request.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { sendHttp2 } from '../support/http2.ts'
import { ADMIN, basic, send } from '../support/request.ts'
import { type LogLine, renderLogLine, type Server, startServer } from '../support/server.ts'
import { beforeDocument, openBackend, openFeeds, openStream } from '../support/upstream.ts'
import { waitUntil } from '../support/wait.ts'

/** The lines of the access log, once there are this many. */
async function readLines({ log }: Server, count: number): Promise<readonly LogLine['fields'][]> {
  const list = () => log.filter(({ message }) => message === 'request').map(({ fields }) => fields)
  await waitUntil(() => list().length >= count)
  return list()
}

test('a line has status, bytes, duration, user and request id', async (t) => {
  const front = await startServer(t, { log: { access: true } })
  const headers = { ...ADMIN, 'X-Couch-Request-ID': 'abc123' }
  const reply = await send(front.document, { path: '/_session?token=a-secret', headers })
  assert.equal(reply.status, 200)
  const [{ milliseconds, bytes, ...line } = {}] = await readLines(front, 1)
  assert.ok(typeof milliseconds === 'number' && milliseconds > 0)
  assert.ok(typeof bytes === 'number' && bytes > reply.body.length)
  assert.deepEqual(line, {
    method: 'GET',
    path: '/_session',
    status: 200,
    user: 'admin',
    peer: '127.0.0.1',
    door: 'document',
    handler: 'default',
    request: 'abc123',
  })
})

test('the bytes of a forwarded response and a refused request are logged', async (t) => {
  const body = 'x'.repeat(100_000)
  const backend = await openBackend(t, (_request, response) => void response.end(body))
  const front = await startServer(t, beforeDocument(backend.url), { log: { access: true } })
  await send(front.document, { path: '/db/doc', headers: ADMIN })
  await send(front.multiModel, { path: '/_api/version' })
  const [forwarded, refused] = await readLines(front, 2)
  assert.ok(Number(forwarded?.['bytes']) > body.length && Number(forwarded?.['bytes']) < body.length + 1000)
  assert.deepEqual([refused?.['status'], refused?.['user'], refused?.['door']], [401, undefined, 'multi-model'])
})

test('a request over HTTP/2 has the same line, with the bytes of its own response', async (t) => {
  const body = 'x'.repeat(100_000)
  const backend = await openBackend(t, (_request, response) => void response.end(body))
  const front = await startServer(t, beforeDocument(backend.url), { log: { access: true } })
  const headers = { ...ADMIN, 'X-Couch-Request-ID': 'abc123' }
  await sendHttp2(`${front.document}/db/doc?token=a-secret`, { headers })
  const [{ milliseconds, bytes, ...line } = {}] = await readLines(front, 1)
  assert.ok(typeof milliseconds === 'number' && milliseconds > 0)
  assert.ok(typeof bytes === 'number' && bytes > body.length && bytes < body.length + 1000)
  assert.deepEqual(line, {
    method: 'GET',
    path: '/db/doc',
    status: 200,
    user: 'admin',
    peer: '127.0.0.1',
    door: 'document',
    handler: 'default',
    request: 'abc123',
  })
})

test('a response that its client did not wait for is marked', async (t) => {
  const backend = await openFeeds(t)
  const front = await startServer(t, beforeDocument(backend.url), { log: { access: true } })
  const stream = await openStream(front.document, '/db/_changes?feed=continuous', ADMIN)
  stream.close()
  const [line] = await readLines(front, 1)
  assert.deepEqual([line?.['status'], line?.['isAborted']], [200, true])
})

test('no line holds a password or a query, and a wrong name is not logged', async (t) => {
  const front = await startServer(t, { log: { access: true } })
  const headers = { Authorization: basic('a-secret-name', 'a-secret-password') }
  await send(front.document, { path: '/_session?password=a-secret', headers })
  const lines = await readLines(front, 1)
  assert.equal(lines.length, 1)
  assert.ok(!front.log.map(renderLogLine).join('\n').includes('a-secret'))
})

test('it is off by default, and can be switched on while the server runs', async (t) => {
  const front = await startServer(t)
  await send(front.document, { path: '/_up' })
  const path = '/_node/_local/_config/log/access'
  const set = await send(front.document, { method: 'PUT', path, headers: ADMIN, body: '"true"' })
  assert.equal(set.status, 200, set.body)
  await send(front.document, { path: '/_up' })
  const lines = await readLines(front, 1)
  assert.deepEqual(
    lines.map((line) => line['path']),
    ['/_up'],
  )
})
