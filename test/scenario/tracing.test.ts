import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer } from 'node:http'
import { createRequire } from 'node:module'
import { type AddressInfo, connect } from 'node:net'
import { describe, it } from 'node:test'
import { sendHttp2 } from '../support/http2.ts'
import { createSharedScope } from '../support/scope.ts'
import { startServer } from '../support/server.ts'
import { beforeDocument, openBackend } from '../support/upstream.ts'

const { cache } = createRequire(import.meta.url)
const isLoaded = (): boolean => Object.keys(cache).some((file) => file.includes('@opentelemetry/sdk-trace'))

const scope = createSharedScope()

interface SentSpan {
  readonly traceId: string
  readonly spanId: string
  readonly parentSpanId?: string
  readonly name: string
  readonly kind: number
  readonly status: { readonly code: number }
  readonly attributes: Readonly<Record<string, unknown>>
}

interface Attribute {
  readonly key: string
  readonly value: { readonly stringValue?: string; readonly intValue?: number }
}

const toRecord = (attributes: readonly Attribute[]) =>
  Object.fromEntries(attributes.map(({ key, value }) => [key, value.stringValue ?? value.intValue]))

/** A collector that keeps the spans it gets. */
async function openCollector() {
  const spans: SentSpan[] = []
  const bodies: string[] = []
  let resource: Readonly<Record<string, unknown>> = {}
  const server = createServer(async (request, response) => {
    const text: string = await request.setEncoding('utf8').reduce((all: string, part: string) => all + part, '')
    bodies.push(text)
    for (const group of JSON.parse(text).resourceSpans) {
      resource = toRecord(group.resource.attributes)
      for (const { spans: sent } of group.scopeSpans)
        spans.push(
          ...sent.map((span: { attributes: Attribute[] }) => ({ ...span, attributes: toRecord(span.attributes) })),
        )
    }
    response.end('{}')
    server.emit('stored')
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  scope.after(() => server.close())
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    bodies,
    resource: () => resource,
    async findOf(door: string): Promise<SentSpan> {
      await this.find('broken') // the last batch
      return spans.find(({ attributes }) => attributes['cardea.door'] === door) ?? assert.fail(door)
    },
    /** The spans of the request with this id, when the span of the request itself has arrived. */
    async find(id: string): Promise<{ readonly root: SentSpan; readonly children: readonly SentSpan[] }> {
      for (;;) {
        const root = spans.find(({ attributes }) => attributes['cardea.request_id'] === id)
        if (root) return { root, children: spans.filter(({ parentSpanId }) => parentSpanId === root.spanId) }
        await once(server, 'stored', { signal: AbortSignal.timeout(20_000) })
      }
    },
  }
}

const TRACE = '0af7651916cd43dd8448eb211c80319c'
const PARENT = 'b7ad6b7169203331'
const TRACEPARENT = `00-${TRACE}-${PARENT}-01`

// before the suite below, which loads them
const plainBackend = await openBackend(scope)
const plain = await startServer(scope, beforeDocument(plainBackend.url))
await fetch(`${plain.document}/db`, { headers: { traceparent: TRACEPARENT, tracestate: 'a=b' } })
const wasLoaded = isLoaded()

it('without tracing.endpoint its libraries are not loaded, and traceparent passes unchanged', () => {
  assert.equal(wasLoaded, false)
  assert.equal(plainBackend.seen.at(-1)?.header('traceparent'), TRACEPARENT)
  assert.equal(plainBackend.seen.at(-1)?.header('tracestate'), 'a=b')
})

describe('with tracing.endpoint', async () => {
  const collector = await openCollector()
  const backend = await openBackend(scope, (request, response) => {
    response.writeHead(request.url?.includes('broken') ? 500 : 200).end('{}')
  })
  const server = await startServer(scope, beforeDocument(backend.url), { tracing: { endpoint: collector.url } })
  await server.cardea.users.create({ name: 'ada-lovelace', password: 'a-secret-word', grants: { _system: 'ro' } })
  const authorization = `Basic ${btoa('ada-lovelace:a-secret-word')}`
  const wrong = `Basic ${btoa('ada-lovelace:wrong-password')}`
  const get = (path: string, id: string, headers: Readonly<Record<string, string>> = {}) =>
    fetch(`${server.document}${path}`, { headers: { ...headers, 'x-couch-request-id': id } })
  await get('/private-db/doc?secret=query-text', 'forwarded', {
    authorization,
    traceparent: TRACEPARENT,
    tracestate: 'a=b',
  })
  const http2Headers = { authorization, traceparent: TRACEPARENT, 'x-couch-request-id': 'http2' }
  await sendHttp2(`${server.document}/over-http2`, { headers: http2Headers })
  await get('/fresh', 'fresh', { traceparent: '00-garbage' })
  await get('/_session', 'own')
  await get('/db', 'refused', { authorization: wrong })
  await get('/broken', 'broken')
  const current = await fetch(`${server.multiModel}/_api/database/current`, { headers: { authorization } })
  assert.equal(current.status, 200)
  const seenBy = (path: string) => backend.seen.find(({ url }) => url.startsWith(path)) ?? assert.fail(path)

  it('a request has a span, with children for authentication, store and upstream, in the trace of the client', async () => {
    const { root, children } = await collector.find('forwarded')
    assert.deepEqual([root.traceId, root.parentSpanId, root.kind, root.name], [TRACE, PARENT, 2, 'GET'])
    assert.deepEqual(root.attributes, {
      'http.request.method': 'GET',
      'url.scheme': 'http',
      'cardea.door': 'document',
      'cardea.request_id': 'forwarded',
      'http.response.status_code': 200,
      'cardea.handler': 'default',
    })
    const byName = (name: string) => children.find((span) => span.name === name) ?? assert.fail(name)
    assert.deepEqual(byName('authenticate').attributes, { 'cardea.handler': 'default' })
    assert.deepEqual(byName('store read').attributes, { 'db.system.name': 'sqlite' })
    const upstream = byName('GET')
    assert.equal(upstream.kind, 3)
    assert.deepEqual(upstream.attributes, {
      'http.request.method': 'GET',
      'server.address': '127.0.0.1',
      'server.port': backend.port,
      'http.response.status_code': 200,
    })
    const seen = seenBy('/private-db')
    assert.deepEqual(seen.all('traceparent'), [`00-${TRACE}-${upstream.spanId}-01`])
    assert.deepEqual(seen.all('tracestate'), ['a=b'])
  })

  it('a request over HTTP/2 has the same span', async () => {
    const { root, children } = await collector.find('http2')
    assert.deepEqual([root.traceId, root.parentSpanId, root.kind, root.name], [TRACE, PARENT, 2, 'GET'])
    assert.equal(root.attributes['http.response.status_code'], 200)
    const upstream = children.find((span) => span.name === 'GET') ?? assert.fail('GET')
    assert.deepEqual(seenBy('/over-http2').all('traceparent'), [`00-${TRACE}-${upstream.spanId}-01`])
  })

  it('a trace begins here if the client sends an invalid one', async () => {
    const { root } = await collector.find('fresh')
    assert.equal(root.parentSpanId, undefined)
    assert.match(seenBy('/fresh').header('traceparent') ?? '', new RegExp(`^00-${root.traceId}-[0-9a-f]{16}-01$`))
  })

  it('an own route gives the span its name', async () => {
    const { root } = await collector.find('own')
    assert.deepEqual([root.name, root.attributes['http.route']], ['GET /_session', '/_session'])
  })

  it('refused credentials and errors of the upstream are marked, without a text', async () => {
    const refused = await collector.find('refused')
    const [authentication] = refused.children.filter(({ name }) => name === 'authenticate')
    assert.equal(authentication?.attributes['error.type'], 'credential_refused')
    assert.deepEqual([refused.root.attributes['http.response.status_code'], refused.root.status.code], [401, 0])
    const broken = await collector.find('broken')
    assert.deepEqual([broken.root.attributes['error.type'], broken.root.status.code], ['500', 2])
  })

  it('the multi-model door is traced too', async () => {
    const span = await collector.findOf('multi-model')
    assert.deepEqual([span.attributes['cardea.handler'], span.attributes['http.response.status_code']], ['basic', 200])
  })

  it('no span names a user, a secret, a path or a query, and the resource names this server', () => {
    const all = collector.bodies.join('\n')
    for (const text of ['lovelace', 'secret-word', 'wrong-password', 'query-text', 'private-db', btoa('ada-lovelace:')])
      assert.ok(!all.includes(text), text)
    assert.equal(collector.resource()['service.name'], 'cardea')
  })
})

it('a collector that never responds delays neither requests nor the stop', async () => {
  const silent = createServer(() => {})
  silent.listen(0, '127.0.0.1')
  await once(silent, 'listening')
  scope.after(() => {
    silent.closeAllConnections()
    silent.close()
  })
  const { document, cardea } = await startServer(scope, {
    tracing: { endpoint: `http://127.0.0.1:${(silent.address() as AddressInfo).port}` },
  })
  // with two spans each, more than the queue holds
  const requests = 1100
  const socket = connect(Number(new URL(document).port), '127.0.0.1').setEncoding('latin1')
  socket.write('GET /_up HTTP/1.1\r\nHost: localhost\r\n\r\n'.repeat(requests))
  let replies = 0
  for await (const text of socket) {
    replies += text.match(/"status":"ok"/g)?.length ?? 0
    if (replies === requests) break
  }
  const stopping = performance.now()
  await cardea.close()
  assert.ok(performance.now() - stopping < 8000)
})

it('a collector that refuses traces is named in one warning', async () => {
  const refusing = createServer((_request, response) => response.writeHead(400).end())
  refusing.listen(0, '127.0.0.1')
  await once(refusing, 'listening')
  scope.after(() => refusing.close())
  const endpoint = `http://127.0.0.1:${(refusing.address() as AddressInfo).port}/custom`
  const { document, cardea, log } = await startServer(scope, { tracing: { endpoint } })
  await fetch(`${document}/_up`)
  await cardea.close()
  const warnings = log.filter(({ message }) => message.startsWith('traces could not be sent'))
  assert.deepEqual(
    warnings.map(({ level, fields }) => [level, fields['endpoint']]),
    [['warn', endpoint]],
  )
})
