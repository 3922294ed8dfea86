import assert from 'node:assert/strict'
import { createHmac } from 'node:crypto'
import { EventEmitter, once } from 'node:events'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { type TestContext, test } from 'node:test'
import { ADMIN, send } from '../../support/request.ts'
import type { Scope } from '../../support/scope.ts'
import { type AnyOptions, type Server, startServer } from '../../support/server.ts'
import {
  type Backend,
  beforeDocument,
  beforeMultiModel,
  MULTI_MODEL_SECRET,
  openBackend,
  openServer,
  openToken,
  UPSTREAM_SECRET,
} from '../../support/upstream.ts'

const reply = (response: ServerResponse, status: number, body: unknown) =>
  void response.writeHead(status, { 'Content-Type': 'application/json' }).end(`${JSON.stringify(body)}\n`)

/** For what holds for a second or less: all requests of the test come within it, however slow the machine is. */
function stopClock(t: TestContext): void {
  const nowMs = performance.now()
  t.mock.method(performance, 'now', () => nowMs)
}

/** Who the client of a database is; a number: the status of a credential that is rejected. */
type Identify = (request: IncomingMessage) => string | null | number

/** CouchDB with a JWT handler. */
const byToken =
  (secret: string): Identify =>
  ({ headers: { authorization } }) => {
    try {
      return authorization === undefined ? null : String(openToken(authorization, secret)['sub'])
    } catch {
      return 400
    }
  }

/** CouchDB with a proxy handler: what does not verify is ignored. */
const byProxy =
  (secret: string): Identify =>
  ({ headers }) => {
    const name = headers['x-auth-couchdb-username']
    const token = createHmac('sha256', secret).update(String(name)).digest('hex')
    return name !== undefined && headers['x-auth-couchdb-token'] === token ? String(name) : null
  }

const ignoring: Identify = () => null

/** The responses of CouchDB that matter here: `/_session`, `/private` (rejects anonymous requests), `/broken` (400). */
const openCouch = (scope: Scope, identify: Identify): Promise<Backend> =>
  openBackend(scope, (request, response) => {
    const name = identify(request)
    if (typeof name === 'number')
      return reply(response, name, { error: 'bad_request', reason: 'Bad HMAC in authentication token' })
    if (request.url === '/_session') return reply(response, 200, { ok: true, userCtx: { name, roles: [] } })
    if (request.url === '/private') return reply(response, 401, { error: 'unauthorized', reason: 'not allowed here' })
    if (request.url === '/broken') return reply(response, 400, { error: 'bad_request', reason: 'invalid_json' })
    return reply(response, 200, { ok: true })
  })

/** What ArangoDB answers: every wrong token and every missing right looks the same. */
const openArango = (scope: Scope, secret: string): Promise<Backend> =>
  openBackend(scope, (request, response) => {
    const denied = { error: true, errorNum: 11, errorMessage: 'not authorized to execute this request', code: 401 }
    try {
      const claims = openToken(request.headers.authorization, secret)
      const isAllowed = 'server_id' in claims || request.url !== '/_api/denied'
      return isAllowed ? reply(response, 200, { version: '3.12' }) : reply(response, 401, denied)
    } catch {
      return reply(response, 401, denied)
    }
  })

const PROXY = { upstream: { 'document-identity': 'proxy' } }

function merge(...all: readonly Readonly<Record<string, object>>[]) {
  const merged: Record<string, Record<string, string>> = {}
  for (const options of all)
    for (const [section, values] of Object.entries(options)) merged[section] = { ...merged[section], ...values }
  return merged
}

const takeUpstream = (server: Server) => server.takeEvents().filter(({ event }) => event.startsWith('upstream.'))

const listUpstream = (server: Server) => takeUpstream(server).map(({ event, upstream }) => [event, upstream])

interface Row {
  readonly name: string
  readonly identify: Identify
  readonly options?: Readonly<Record<string, object>>
  readonly path: string
  readonly status: number
  /** The reason the client reads. */
  readonly reason: string
  readonly logged?: RegExp
}

const REJECTED =
  'The database behind this server rejects the identity that this server signs. Ask the administrator of this server.'

const ROWS: readonly Row[] = [
  {
    name: 'a token CouchDB rejects is 502',
    identify: byToken('another secret'),
    path: '/db/doc',
    status: 502,
    reason: REJECTED,
    logged: /status 400, Bad HMAC in authentication token/,
  },
  {
    name: 'a token that CouchDB ignores is 502 if CouchDB rejects the request',
    identify: ignoring,
    path: '/private',
    status: 502,
    reason: REJECTED,
    logged: /identity is ignored/,
  },
  {
    name: 'proxy headers that CouchDB ignores are 502 if CouchDB rejects the request',
    identify: byProxy('another secret'),
    options: PROXY,
    path: '/private',
    status: 502,
    reason: REJECTED,
    logged: /identity is ignored/,
  },
  {
    name: 'a rejection by CouchDB is forwarded unchanged',
    identify: byToken(UPSTREAM_SECRET),
    path: '/private',
    status: 401,
    reason: 'not allowed here',
  },
  {
    name: 'a rejection by CouchDB is forwarded unchanged with proxy headers',
    identify: byProxy(UPSTREAM_SECRET),
    options: PROXY,
    path: '/private',
    status: 401,
    reason: 'not allowed here',
  },
  {
    name: 'a client error is forwarded unchanged',
    identify: byToken(UPSTREAM_SECRET),
    path: '/broken',
    status: 400,
    reason: 'invalid_json',
  },
]

for (const { name, identify, options = {}, path, status, reason, logged } of ROWS)
  test(name, async (t) => {
    const couch = await openCouch(t, identify)
    const server = await startServer(t, merge(beforeDocument(couch.url), options))
    const answer = await send(server.document, { path, headers: ADMIN })
    assert.deepEqual([answer.status, JSON.parse(answer.body).reason], [status, reason])
    const events = takeUpstream(server)
    assert.deepEqual(
      events.map(({ event, level, upstream }) => [event, level, upstream]),
      logged ? [['upstream.token-rejected', 'error', couch.url]] : [],
    )
    if (logged) assert.match(String(events[0]?.['reason']), logged)
    if (logged) assert.match(String(events[0]?.['check']), /upstream\.document-secret.*authentication_handlers/)
  })

test('a rejected anonymous request is forwarded unchanged, without a check', async (t) => {
  const couch = await openCouch(t, byToken('another secret'))
  const server = await startServer(t, beforeDocument(couch.url))
  const answer = await send(server.document, { path: '/private' })
  assert.deepEqual([answer.status, JSON.parse(answer.body).reason], [401, 'not allowed here'])
  assert.deepEqual(
    couch.seen.map(({ url }) => url),
    ['/private'],
  )
})

test('a token ArangoDB rejects is 502; a missing permission is forwarded unchanged', async (t) => {
  const wrong = await openArango(t, 'another secret')
  const right = await openArango(t, MULTI_MODEL_SECRET)
  const before = await startServer(t, beforeMultiModel(t, wrong.url))
  const rejected = await send(before.multiModel, { path: '/_api/denied', headers: ADMIN })
  assert.equal(rejected.status, 502)
  assert.deepEqual(JSON.parse(rejected.body), {
    error: true,
    errorNum: 502,
    errorMessage: 'the upstream server rejects the identity that Cardea signs',
    code: 502,
  })
  const [event] = takeUpstream(before)
  assert.equal(event?.event, 'upstream.token-rejected')
  assert.match(String(event?.['check']), /multi-model-secret-keyfile.*--server\.jwt-secret-keyfile/)
  const after = await startServer(t, beforeMultiModel(t, right.url))
  const denied = await send(after.multiModel, { path: '/_api/denied', headers: ADMIN })
  assert.deepEqual([denied.status, JSON.parse(denied.body).errorNum], [401, 11])
  assert.deepEqual(takeUpstream(after), [])
})

test('many rejections cause one check of the database and one log line with a count', async (t) => {
  stopClock(t)
  const couch = await openCouch(t, byToken('another secret'))
  const server = await startServer(t, beforeDocument(couch.url))
  const answers = await Promise.all(
    Array.from({ length: 20 }, () => send(server.document, { path: '/db', headers: ADMIN })),
  )
  assert.ok(answers.every(({ status }) => status === 502))
  assert.equal(couch.seen.filter(({ url }) => url === '/_session').length, 1)
  assert.equal(takeUpstream(server).length, 1)
  await server.cardea.close()
  assert.deepEqual(
    takeUpstream(server).map(({ event, count }) => [event, count]),
    [['upstream.token-rejected', 19]],
  )
})

test('a rejected token is reported again after the database accepted one', async (t) => {
  let secret = UPSTREAM_SECRET
  const couch = await openCouch(t, (request) => byToken(secret)(request))
  const server = await startServer(t, beforeDocument(couch.url))
  const ask = async () => (await send(server.document, { path: '/db', headers: ADMIN })).status
  assert.equal(await ask(), 200)
  secret = 'another secret'
  assert.equal(await ask(), 502)
  secret = UPSTREAM_SECRET
  assert.equal(await ask(), 200)
})

test('an unreachable upstream is logged once, and once when it is up', async (t) => {
  const first = await openBackend(t)
  await first.close()
  const server = await startServer(t, beforeDocument(first.url))
  for (let requests = 0; requests < 3; requests += 1)
    assert.equal((await send(server.document, { path: '/db' })).status, 503)
  const [down, ...more] = takeUpstream(server)
  assert.deepEqual([down?.event, down?.['upstream'], down?.['reason']], ['upstream.down', first.url, 'ECONNREFUSED'])
  assert.match(String(down?.['check']), /upstream\.document/)
  assert.deepEqual(more, [])
  await openServer(t, (_request, response) => void response.end('{}'), [], first.port)
  assert.equal((await send(server.document, { path: '/db' })).status, 200)
  assert.deepEqual(
    takeUpstream(server).map(({ event }) => event),
    ['upstream.up'],
  )
})

test('a response that is not HTTP is 502, and logged', async (t) => {
  const backend = await openServer(t, ({ socket }) => void socket.end('rubbish\r\n\r\n'))
  const server = await startServer(t, beforeDocument(backend.url))
  assert.equal((await send(server.document, { path: '/db' })).status, 502)
  assert.deepEqual(
    takeUpstream(server).map(({ event, upstream }) => [event, upstream]),
    [['upstream.failed', backend.url]],
  )
})

test('a GET is 502 and logged once if the only database closes the connection twice', async (t) => {
  let requests = 0
  const backend = await openServer(t, ({ socket }) => {
    requests += 1
    socket.destroy()
  })
  const server = await startServer(t, beforeDocument(backend.url))
  const { status, headers } = await send(server.document, { path: '/db' })
  assert.deepEqual([status, headers['retry-after']], [502, undefined])
  assert.equal(requests, 2)
  assert.deepEqual(listUpstream(server), [['upstream.failed', backend.url]])
})

test('a GET is 503 if the only database stops with an idle connection', async (t) => {
  const backend = await openBackend(t)
  const server = await startServer(t, beforeDocument(backend.url))
  assert.equal((await send(server.document, { path: '/db' })).status, 200)
  // the request after this one is sent on the idle connection, which is closed then
  backend.server.removeAllListeners('request').on('request', ({ socket }) => {
    void backend.close()
    socket.destroy()
  })
  const { status, headers } = await send(server.document, { path: '/db' })
  assert.deepEqual([status, headers['retry-after'] !== undefined], [503, true])
  assert.deepEqual(listUpstream(server), [['upstream.down', backend.url]])
})

for (const order of ['after', 'before'])
  test(`a GET is 502 if a database closes the connection, ${order} another that is down was tried`, async (t) => {
    const broken = await openServer(t, ({ socket }) => void socket.destroy())
    const down = await openBackend(t)
    await down.close()
    const urls = order === 'after' ? [down.url, broken.url] : [broken.url, down.url]
    const server = await startServer(t, beforeDocument(...urls))
    assert.equal((await send(server.document, { path: '/db' })).status, 502)
    assert.deepEqual(listUpstream(server), [
      ['upstream.down', down.url],
      ['upstream.failed', broken.url],
    ])
  })

test('a GET that two databases break off is 502, and both are logged', async (t) => {
  const one = await openServer(t, ({ socket }) => void socket.destroy())
  const other = await openServer(t, ({ socket }) => void socket.destroy())
  const server = await startServer(t, beforeDocument(one.url, other.url))
  assert.equal((await send(server.document, { path: '/db' })).status, 502)
  assert.deepEqual(listUpstream(server), [
    ['upstream.failed', one.url],
    ['upstream.failed', other.url],
  ])
})

for (const method of ['GET', 'POST', 'PUT'])
  test(`a ${method} goes to the next database if the TLS handshake fails`, async (t) => {
    const plain = await openBackend(t)
    const healthy = await openBackend(t)
    const server = await startServer(t, beforeDocument(plain.url.replace('http:', 'https:'), healthy.url))
    const body = method === 'GET' ? undefined : '{"a":1}'
    for (let requests = 0; requests < 4; requests += 1)
      assert.equal((await send(server.document, { method, path: '/db/doc', headers: ADMIN, body })).status, 200)
    assert.equal(healthy.seen.length, 4)
    assert.ok(healthy.seen.every((seen) => String(seen.body) === (body ?? '')))
  })

for (const sent of ['rubbish\r\n\r\n', 'HTTP/1.1 200 OK\r\nConte', 'HTTP/1.1 103 Early Hints\r\n\r\n'])
  test(`a database that sends ${JSON.stringify(sent)} and closes is avoided after the second time`, async (t) => {
    stopClock(t)
    const broken = await openServer(t, ({ socket }) => void socket.end(sent))
    const healthy = await openBackend(t)
    const server = await startServer(t, beforeDocument(broken.url, healthy.url))
    const statuses: number[] = []
    for (let requests = 0; requests < 8; requests += 1)
      statuses.push((await send(server.document, { path: '/db' })).status)
    assert.deepEqual(statuses, [502, 200, 502, 200, 200, 200, 200, 200])
  })

for (const [method, times] of [
  ['GET', 2],
  ['DELETE', 2],
  ['PUT', 1],
  ['POST', 1],
  ['PATCH', 1],
] as const)
  test(`a ${method} without a body is sent ${times === 1 ? 'once' : 'twice'} if the only database closes the connection`, async (t) => {
    let requests = 0
    const backend = await openServer(t, ({ socket }) => {
      requests += 1
      socket.destroy()
    })
    const server = await startServer(t, beforeDocument(backend.url))
    assert.equal((await send(server.document, { method, path: '/db/doc', headers: ADMIN })).status, 502)
    assert.equal(requests, times)
  })

test('a client that disconnects is not a failure of the upstream', async (t) => {
  const asked = Promise.withResolvers<void>()
  const backend = await openServer(t, () => asked.resolve())
  const server = await startServer(t, beforeDocument(backend.url))
  const controller = new AbortController()
  const request = fetch(`${server.document}/db`, { signal: controller.signal })
  await asked.promise
  const closed = new Promise((resolve) => backend.server.once('connection', resolve))
  controller.abort()
  await assert.rejects(request)
  void fetch(`${server.document}/db`).catch(() => {})
  await closed
  assert.deepEqual(takeUpstream(server), [])
  const { json } = await send(server.document, { path: '/_cardea/api/server-errors', headers: ADMIN })
  assert.deepEqual(json.errors, [])
})

test('a database whose clients disconnect is used like the others', async (t) => {
  let requests = 0
  const asked = new EventEmitter()
  const slow = await openServer(t, ({ url }, response) => {
    requests += 1
    if (url === '/slow') asked.emit('request')
    else response.end('{}')
  })
  const other = await openBackend(t)
  const server = await startServer(t, beforeDocument(slow.url, other.url))
  for (let rounds = 0; rounds < 4; rounds += 1) {
    const controller = new AbortController()
    const arrived = once(asked, 'request')
    const request = fetch(`${server.document}/slow`, { signal: controller.signal })
    await arrived
    controller.abort()
    await assert.rejects(request)
    assert.equal((await send(server.document, { path: '/slow' })).status, 200)
  }
  requests = 0
  for (let rounds = 0; rounds < 4; rounds += 1) assert.equal((await send(server.document, { path: '/db' })).status, 200)
  assert.equal(requests, 2)
})

const MODES: readonly (readonly [status: number, body: object, expected: number])[] = [
  [200, { status: 'ok', seeds: {} }, 200],
  [404, { status: 'maintenance_mode' }, 404],
  [404, { status: 'nolb' }, 404],
  [401, { error: 'unauthorized', reason: 'Authentication required.' }, 200],
  [500, { error: 'internal' }, 503],
]

for (const [status, body, expected] of MODES)
  test(`/_up is ${expected} if /_up of the database is ${status} ${JSON.stringify(body)}`, async (t) => {
    const couch = await openBackend(t, (_request, response) => reply(response, status, body))
    const server = await startServer(t, beforeDocument(couch.url))
    const answer = await send(server.document, { path: '/_up' })
    assert.equal(answer.status, expected)
    if (expected === 404) assert.deepEqual(JSON.parse(answer.body), body)
  })

test('the door stays healthy while one of two databases is in maintenance', async (t) => {
  const busy = await openBackend(t, (_request, response) => reply(response, 404, { status: 'maintenance_mode' }))
  const free = await openBackend(t, (_request, response) => reply(response, 200, { status: 'ok' }))
  const server = await startServer(t, beforeDocument(busy.url, free.url))
  assert.equal((await send(server.document, { path: '/_up' })).status, 200)
})

test('the health of each door follows its own database only', async (t) => {
  const up = await openBackend(t)
  const down = await openBackend(t)
  await down.close()
  const ask = async (options: AnyOptions) => {
    const server = await startServer(t, options)
    const document = await send(server.document, { path: '/_up' })
    const multiModel = await send(server.multiModel, { path: '/_admin/server/availability' })
    return [document.status, multiModel.status]
  }
  assert.deepEqual(await ask(merge(beforeDocument(up.url), beforeMultiModel(t, down.url))), [200, 503])
  assert.deepEqual(await ask(merge(beforeDocument(down.url), beforeMultiModel(t, up.url))), [503, 200])
})
