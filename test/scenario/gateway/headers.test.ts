import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { sendRaw } from '../../support/raw.ts'
import { ADMIN, send } from '../../support/request.ts'
import { startServer } from '../../support/server.ts'
import { beforeDocument, beforeMultiModel, openBackend, openToken, UPSTREAM_SECRET } from '../../support/upstream.ts'

const backend = await openBackend({ after }, (request, response) => {
  if (request.url?.startsWith('/db/answer')) {
    response.writeHead(
      200,
      [
        ['Connection', 'x-gone'],
        ['X-Gone', '1'],
        ['Keep-Alive', 'timeout=9'],
        ['Set-Cookie', 'AuthSession=stolen; Path=/'],
        ['Set-Cookie', 'app=1'],
        ['Set-Cookie', 'app=2'],
        ['Server', 'Behind/1'],
        ['X-Couch-Request-ID', 'behind'],
        ['Access-Control-Allow-Origin', 'https://behind.example'],
        ['ETag', '"1-a"'],
        ['x-content-type-options', 'nosniff'],
      ].flat(),
    )
    response.end('x')
  } else response.writeHead(200).end()
})
const options = {
  upstream: { ...beforeDocument(backend.url)['upstream'], ...beforeMultiModel({ after }, backend.url)['upstream'] },
}
const front = await startServer({ after }, options)
const port = Number(new URL(front.document).port)

const SPELLINGS = [
  'X-Auth-CouchDB-UserName',
  'X-Auth-CouchDB-Roles',
  'X-Auth-CouchDB-Token',
  'X-Auth-User',
  'X-Auth-Roles',
  'X-Auth-Token',
  'X-Auth-Anything',
  'X-Cardea-User',
  'X-Forwarded-User',
  'X-Forwarded-Email',
  'X-Forwarded-Groups',
  'X-Forwarded-Preferred-Username',
  'Remote-User',
  'X-Remote-User',
  'X-Remote-Extra-Scopes',
  'X-Authenticated-User',
  'X-Authenticated-Email',
  'X-WebAuth-User',
  'X-Goog-Authenticated-User-Email',
  'X-MS-Client-Principal',
  'X-MS-Client-Principal-Name',
  'X-Authentik-Username',
  'Client-Cert',
  'X-Client-Cert',
  'SSL-Client-S-DN',
  'X-SSL-Client-Verify',
  'X-Original-URL',
  'X-Rewrite-URL',
  'Proxy',
  'X-Forwarded',
  'Client-IP',
  'X-Client-IP',
  'True-Client-IP',
  'Fastly-Client-IP',
  'X-Cluster-Client-IP',
  'CF-Connecting-IP',
  'X-Couchdb-Vhost-Path',
  'X-Couchdb-Requested-Path',
].flatMap(listSpellings)

const METHOD_OVERRIDES = ['X-HTTP-Method-Override', 'X-HTTP-Method', 'X-Method-Override'].flatMap(listSpellings)

function listSpellings(name: string): readonly string[] {
  return [
    name,
    name.toLowerCase(),
    name.toUpperCase(),
    name.replaceAll('-', '_'),
    name.replaceAll('-', '_').toLowerCase(),
    name.replaceAll('-', '.'),
    name.replace('-', '_'),
  ]
}

async function ask(lines: readonly string[], path = '/db/doc') {
  const before = backend.seen.length
  const answer = await sendRaw(port, [`GET ${path} HTTP/1.1`, 'Host: front.example', ...lines, '', ''].join('\r\n'))
  const seen = backend.seen[before]
  assert.ok(seen, answer.text)
  return seen
}

const namesOf = (raw: readonly string[]) => raw.filter((_, i) => i % 2 === 0)

for (const name of new Set(SPELLINGS)) {
  test(`no inbound identity reaches the upstream: ${name} (CVE-2025-64484, CVE-2026-54763)`, async () => {
    const seen = await ask([`${name}: evil`, `${name}: evil, twice`])
    assert.ok(!seen.raw.includes('evil') && !seen.raw.includes('evil, twice'), String(seen.raw))
  })
}

for (const name of [
  'Authorization',
  'X-Auth-CouchDB-UserName',
  'X-Forwarded-For',
  'Host',
  'Content-Length',
  'Content-Type',
])
  test(`naming ${name} in Connection does not remove the header of Cardea (GHSA-w9mr-28mw-j8hg)`, async () => {
    const seen = await ask([`Authorization: ${ADMIN.Authorization}`, `Connection: close, ${name}`, 'Content-Type: a/b'])
    const claims = openToken(seen.header('authorization'), UPSTREAM_SECRET)
    assert.equal(claims['sub'], 'admin')
    assert.deepEqual(
      [seen.header('host'), seen.header('x-forwarded-for'), seen.header('content-type')],
      ['front.example', '127.0.0.1', 'a/b'],
    )
  })

test('hop-by-hop headers, and those Connection names, are not forwarded', async () => {
  const seen = await ask([
    'Connection: keep-alive, X-Mine',
    'X-Mine: 1',
    'Keep-Alive: timeout=5',
    'TE: trailers',
    'Trailer: X-T',
    'Upgrade: h2c',
    'HTTP2-Settings: x',
    'Proxy-Connection: keep-alive',
    'Proxy-Authorization: Basic eDp5',
    'X-Kept: 1',
  ])
  const names = namesOf(seen.raw).map((name) => name.toLowerCase())
  for (const name of [
    'x-mine',
    'te',
    'trailer',
    'upgrade',
    'http2-settings',
    'proxy-connection',
    'proxy-authorization',
  ])
    assert.ok(!names.includes(name), name)
  assert.equal(seen.header('x-kept'), '1')
})

test('credentials of the client never reach the upstream (CVE-2023-45725)', async () => {
  const body = JSON.stringify({ name: 'admin', password: 'adminpw' })
  const session = await send(front.document, {
    method: 'POST',
    path: '/_session',
    headers: { 'Content-Type': 'application/json' },
    body,
  })
  const [own = ''] = session.headers['set-cookie']?.[0]?.split(';') ?? []
  const cookie = `a=1; ${own}; b=2; authsession=x`
  const seen = await ask([`Authorization: ${ADMIN.Authorization}`, `Cookie: ${cookie}`])
  assert.equal(seen.header('cookie'), 'a=1; b=2')
  assert.ok(!String(seen.raw).includes(ADMIN.Authorization))
  const only = await ask([`Cookie: ${own}`])
  assert.equal(only.header('cookie'), undefined)
  assert.equal(openToken(only.header('authorization'), UPSTREAM_SECRET)['sub'], 'admin')
})

test('the forwarded address, host and protocol follow the trust decision', async () => {
  const seen = await ask(['X-Forwarded-For: 203.0.113.7', 'X-Forwarded-Proto: https', 'X-Forwarded-Host: shop.example'])
  assert.deepEqual(
    ['x-forwarded-for', 'x-forwarded-proto', 'x-forwarded-host', 'forwarded'].map((name) => seen.all(name)),
    [['203.0.113.7'], ['https'], ['shop.example'], ['for=203.0.113.7;host="shop.example";proto=https']],
  )
})

test('forwarding headers of an untrusted peer are ignored', async (t) => {
  const other = await startServer(t, options, { chttpd: { trusted_proxies: 'none' } })
  const before = backend.seen.length
  const headers = { 'X-Forwarded-For': '203.0.113.7', Forwarded: 'for=1.2.3.4', 'X-Forwarded-Proto': 'https' }
  await send(other.document, { path: '/db/doc', headers })
  const seen = backend.seen[before]
  assert.deepEqual([seen?.all('x-forwarded-for'), seen?.all('x-forwarded-proto')], [['127.0.0.1'], ['http']])
  assert.doesNotMatch(seen?.header('forwarded') ?? '', /1\.2\.3\.4/)
})

for (const name of METHOD_OVERRIDES)
  test(`a header that overrides the method is 400 on every path, and not forwarded: ${name}`, async () => {
    const before = backend.seen.length
    for (const [base, path] of [
      [front.document, '/db/doc'],
      [front.document, '/_session'],
      [front.document, '/_users/_all_docs'],
      [front.document, '/_cardea/api/health'],
      [front.document, '/.well-known/jwks.json'],
      [front.multiModel, '/_api/cursor'],
      [front.multiModel, '/_api/user'],
      [front.multiModel, '/_open/auth'],
      [front.multiModel, '/app'],
      [front.multiModel, '/.well-known/jwks.json'],
    ] as const) {
      const answer = await send(base, { method: 'POST', path, headers: { ...ADMIN, [name]: 'DELETE' }, body: '{}' })
      assert.equal(answer.status, 400, `${path} ${answer.body}`)
      assert.match(answer.body, /override/, path)
    }
    assert.equal(backend.seen.length, before)
  })

test('/_gate ignores a method override, which a proxy forwards for the application', async () => {
  for (const base of [front.document, front.multiModel])
    assert.equal(
      (await send(base, { path: '/_gate', headers: { ...ADMIN, 'X-HTTP-Method-Override': 'DELETE' } })).status,
      204,
    )
})

test('duplicate headers of any case arrive with one length (CVE-2026-1525)', async () => {
  const before = backend.seen.length
  await sendRaw(port, 'POST /db HTTP/1.1\r\nHost: a\r\ncOnTeNt-LeNgTh: 3\r\nX-A: 1\r\nx-a: 2\r\n\r\nabc')
  const seen = backend.seen[before]
  assert.deepEqual([seen?.all('content-length'), seen?.all('x-a'), String(seen?.body)], [['3'], ['1', '2'], 'abc'])
})

test('a response keeps its headers, except hop-by-hop headers', async () => {
  const answer = await send(front.document, { path: '/db/answer' })
  assert.deepEqual(answer.lines['set-cookie'], ['app=1', 'app=2'])
  assert.deepEqual(answer.lines['server'], ['Behind/1'])
  assert.deepEqual(answer.lines['x-couch-request-id'], ['behind'])
  assert.equal(answer.headers['x-gone'], undefined)
  assert.equal(answer.headers['etag'], '"1-a"')
  assert.equal(answer.headers['access-control-allow-origin'], 'https://behind.example')
})

test('cross-origin headers come from Cardea if CORS is enabled', async (t) => {
  const cors = { chttpd: { enable_cors: true }, cors: { origins: 'https://app.example' } }
  const other = await startServer(t, options, cors)
  const answer = await send(other.document, { path: '/db/answer', headers: { Origin: 'https://app.example' } })
  assert.deepEqual(answer.lines['access-control-allow-origin'], ['https://app.example'])
})

for (const path of [
  '/db/a%2Fb',
  '/db/%C3%A5',
  '/db/a%20b?x=%2F..%2F&y=/../',
  '/db/_design/x/_view/y?key=%22a%22',
  '/db/a+b;c=d',
])
  test(`the path that is authorised is the path that is forwarded: ${path}`, async () => {
    assert.equal((await ask([], path)).url, path)
  })

for (const path of ['/db/../_all_dbs', '/db/%2e%2e/_all_dbs', '/db//doc', '/db/./doc', '/db/%2E', '//db', '/db/%zz'])
  test(`an ambiguous path is rejected: ${path} (CVE-2026-33494)`, async () => {
    const before = backend.seen.length
    const answer = await send(front.document, { path })
    assert.deepEqual([answer.status, backend.seen.length - before], [400, 0])
  })

for (const path of [
  '/_api%2Fuser',
  '/%5Fapi/user',
  '/app/../_api/user',
  '/app//x',
  '/app/%2e%2e/x',
  '/app/a%2Fb',
  '/app/a%5Cb',
])
  test(`multi-model: an ambiguous path is rejected: ${path} (CVE-2026-33494)`, async () => {
    const before = backend.seen.length
    const answer = await send(front.multiModel, { path, headers: ADMIN })
    assert.deepEqual([answer.status, backend.seen.length - before], [400, 0])
  })

test('open paths depend on the path alone, never on query, fragment or header (CVE-2025-54576, CVE-2026-40575, CVE-2026-34457)', async (t) => {
  const other = await startServer(t, options, { chttpd: { require_valid_user_except_for_up: true } })
  const before = backend.seen.length
  for (const sent of [
    { path: '/db?x=/_up' },
    { path: '/db', headers: { 'X-Forwarded-Uri': '/_up', 'X-Original-URL': '/_up', 'User-Agent': 'GoogleHC/1.0' } },
  ])
    assert.equal((await send(other.document, sent)).status, 401)
  assert.equal(backend.seen.length, before)
})
test('every response of the document door has nosniff once', async () => {
  for (const path of ['/db/doc', '/db/answer', '/_session', '/_up', '/nothing%', '/_node/_local/_config'])
    assert.deepEqual((await send(front.document, { path })).lines['x-content-type-options'], ['nosniff'], path)
})

test('equal copies of Content-Type reach the database as one', async () => {
  const before = backend.seen.length
  const lines = ['Content-Type: application/json', 'Content-Type: application/json', 'Content-Length: 2']
  const reply = await sendRaw(
    port,
    `POST /db HTTP/1.1\r\nHost: a\r\n${lines.join('\r\n')}\r\nConnection: close\r\n\r\n{}`,
  )
  assert.equal(reply.status, 200)
  assert.deepEqual(backend.seen[before]?.all('content-type'), ['application/json'])
})

test('Allow of TRACE names the methods of the door', async () => {
  for (const [base, allow] of [
    [front.document, 'COPY,DELETE,GET,HEAD,OPTIONS,POST,PUT'],
    [front.multiModel, 'DELETE, GET, HEAD, OPTIONS, PATCH, POST, PUT'],
  ] as const) {
    const reply = await send(base, { method: 'TRACE', path: '/db' })
    assert.deepEqual([reply.status, reply.headers.allow], [405, allow])
  }
})
