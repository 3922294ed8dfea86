import assert from 'node:assert/strict'
import { once } from 'node:events'
import { request as httpRequest, type IncomingMessage, type ServerResponse } from 'node:http'
import { type TestContext, test } from 'node:test'
import { ADMIN } from '../../support/request.ts'
import { startServer } from '../../support/server.ts'
import { beforeDocument, beforeMultiModel, openServer } from '../../support/upstream.ts'

const EVENTS = { Accept: 'text/event-stream' }

/** What is silent for longer than anything else may be. */
const SHORT = { upstream: { 'idle-timeout': 0.05, 'first-byte-timeout': 0.05 } }
const SILENCE_MS = 150

const ROWS = [
  { name: 'continuous', door: 'document', path: '/db/_changes?feed=continuous', headers: {} },
  { name: 'eventsource by its parameter', door: 'document', path: '/db/_changes?feed=eventsource', headers: {} },
  { name: 'eventsource by its type', door: 'document', path: '/db/events', headers: EVENTS },
  { name: 'eventsource at the multi-model door', door: 'multiModel', path: '/_api/events', headers: EVENTS },
  { name: 'eventsource of a service', door: 'multiModel', path: '/shop/events', headers: EVENTS },
] as const

const EVENT_LINES = ['event: heartbeat\ndata: \n\n', 'data: {"seq":1}\nid: 1\n\n', ': comment\n\n', 'data: å\n\n']

for (const { name, door, path, headers } of ROWS)
  test(`a feed is forwarded as it is written and may stay silent: ${name}`, async (t) => {
    const { promise: opened, resolve: open } = Promise.withResolvers<ServerResponse>()
    const backend = await openServer(t, (_request, response) => {
      // its head is late too
      setTimeout(() => {
        response.writeHead(200, { 'Content-Type': 'text/event-stream', 'Cache-Control': 'no-cache' }).flushHeaders()
        open(response)
      }, SILENCE_MS)
    })
    const services = { services: { shop: `/shop ${backend.url}` } }
    const front = await startServer(t, beforeDocument(backend.url), beforeMultiModel(t, backend.url), services, SHORT)
    const { hostname, port } = new URL(front[door])
    const request = httpRequest({ hostname, port, path, headers: { ...ADMIN, ...headers }, agent: false })
    request.on('error', () => {}).end()
    const [response] = (await once(request, 'response')) as [IncomingMessage]
    assert.equal(response.headers['content-type'], 'text/event-stream')
    const feed = await opened
    for (const line of EVENT_LINES) {
      setTimeout(() => feed.write(line), SILENCE_MS / EVENT_LINES.length)
      const [chunk] = await once(response, 'data')
      assert.equal(String(chunk), line)
    }
    response.destroy()
    await once(feed, 'close')
  })

/** Opens a feed in front of this database. `closed` resolves when the client sees its end. */
async function openFeed(t: TestContext, answer: (response: ServerResponse) => void) {
  const { promise: asked, resolve } = Promise.withResolvers<void>()
  const backend = await openServer(t, (_request, response) => {
    answer(response)
    resolve()
  })
  const front = await startServer(t, beforeDocument(backend.url), { door: { 'stop-timeout': 600 } })
  const { hostname, port } = new URL(front.document)
  const path = '/_db_updates?feed=continuous'
  const request = httpRequest({ hostname, port, path, headers: ADMIN, agent: false })
  const head = once(request, 'response').then(([response]) => response as IncomingMessage)
  request.on('error', () => {}).end()
  await asked
  return { front, head }
}

test('a feed that has not begun does not delay a stop, and its client gets 503', async (t) => {
  const { front, head } = await openFeed(t, () => {})
  await front.cardea.close()
  const { statusCode, headers } = await head
  assert.deepEqual([statusCode, headers['retry-after'], headers.connection], [503, '5', 'close'])
})

test('a stop while feeds are open is no failure of the upstream', async (t) => {
  for (let times = 0; times < 10; times += 1) {
    const { front, head } = await openFeed(t, (response) => {
      const timer = setInterval(() => response.write('\n'), 1)
      response.on('close', () => clearInterval(timer))
    })
    const response = await head
    response.on('error', () => {}).resume()
    await once(response, 'data')
    await front.cardea.close()
    assert.ok(!front.log.some(({ message }) => message.startsWith('upstream')), JSON.stringify(front.log))
  }
})
