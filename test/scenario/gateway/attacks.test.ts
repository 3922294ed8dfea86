// What has broken servers and gateways of this kind before, by its public name: a test here, one elsewhere, or the
// reason why it cannot happen to Cardea.
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { after, test } from 'node:test'
import { CORE_OPTIONS } from '../../../src/config/option-table.ts'
import { createTestCardea } from '../../../src/index.ts'
import { OPTION_TABLE } from '../../../src/module-options.ts'
import { request, sendRaw } from '../../support/raw.ts'
import { ADMIN, basic, type Request, send } from '../../support/request.ts'
import { type Server, startServer } from '../../support/server.ts'
import { beforeDocument, beforeMultiModel, openBackend } from '../../support/upstream.ts'

const JSON_TYPE = { 'Content-Type': 'application/json' }
const AS_ADMIN = { ...ADMIN, ...JSON_TYPE }

/** Named in a test of the file beside it. */
const ELSEWHERE: readonly (readonly [name: string, file: string])[] = [
  ['CVE-2023-45725', 'headers'],
  ['CVE-2025-54576', 'headers'],
  ['CVE-2026-40575', 'headers'],
  ['CVE-2026-34457', 'headers'],
  ['CVE-2025-64484', 'headers'],
  ['CVE-2026-54763', 'headers'],
  ['CVE-2026-33494', 'headers'],
  ['GHSA-w9mr-28mw-j8hg', 'headers'],
  ['CVE-2026-1525', 'headers'],
  ['CVE-2026-107318', 'faults'],
  ['CVE-2026-2833', 'smuggling'],
  ['CVE-2022-32213', 'smuggling'],
  ['CVE-2022-32214', 'smuggling'],
  ['CVE-2022-32215', 'smuggling'],
  ['CVE-2022-35256', 'smuggling'],
  ['CVE-2024-27982', 'smuggling'],
  ['CVE-2025-23167', 'smuggling'],
  ['CVE-2026-33496', 'attacks-tokens'],
  ['CVE-2021-32701', 'attacks-tokens'],
  ['CVE-2026-35039', 'attacks-tokens'],
  ['CVE-2023-48223', 'attacks-tokens'],
  ['CVE-2026-34950', 'attacks-tokens'],
  ['CVE-2026-107723', 'attacks-tokens'],
  ['CVE-2022-23539', 'attacks-tokens'],
  ['CVE-2022-23540', 'attacks-tokens'],
  ['CVE-2022-23541', 'attacks-tokens'],
  ['CVE-2026-22817', 'attacks-tokens'],
  ['CVE-2026-22818', 'attacks-tokens'],
]

/** What no request can try, and why. */
const NOT_HERE: readonly (readonly [name: string, reason: string])[] = [
  [
    'CVE-2010-0009',
    'a comparison that ends early: the gateway compares no secret, and src/base/compare.ts takes constant time',
  ],
  ['CVE-2021-38295', 'attachments in the origin of the console: Cardea serves no console yet'],
  ['CVE-2026-67336', 'what an OpenID provider advertises: Cardea is none, and no client of one'],
  ['CVE-2026-21713', 'timing of an HMAC inside Node: not ours to mend, and nothing a request could show'],
  ['CVE-2026-21637', 'a crash of Node by a server name: Cardea gives it no callback for names'],
]

for (const [name, file] of ELSEWHERE)
  test(`${name}: has a test in ${file}`, () => {
    const tests = readFileSync(new URL(`${file}.test.ts`, import.meta.url), 'utf8')
    assert.match(tests, new RegExp(`test\\(\\s*[\`'][^\\n]*${name}|^const NAMES = .*${name}`, 'm'))
  })

test('each advisory that does not apply to Cardea has a reason, and is listed once', () => {
  const names = [...ELSEWHERE, ...NOT_HERE].map(([name]) => name)
  assert.equal(new Set(names).size, names.length)
  for (const [name, reason] of NOT_HERE) assert.ok(reason.length > 20, name)
})

const backend = await openBackend({ after })
const service = await openBackend({ after })
const both = {
  upstream: { ...beforeDocument(backend.url)['upstream'], ...beforeMultiModel({ after }, backend.url)['upstream'] },
  services: { shop: `/shop ${service.url}` },
}
const front = await startServer({ after }, both)

/** Asks, and gives the status with how much reached the servers behind. */
async function attempt(door: 'document' | 'multiModel', sent: Request, of: Server = front): Promise<[number, number]> {
  const before = backend.seen.length + service.seen.length
  const { status } = await send(of[door], sent)
  return [status, backend.seen.length + service.seen.length - before]
}

const addUser = (of: Server, name: string, roles: readonly string[]) =>
  send(of.document, {
    method: 'PUT',
    path: `/_users/org.couchdb.user:${name}`,
    headers: AS_ADMIN,
    body: JSON.stringify({ name, password: 'pw', roles, type: 'user' }),
  })

test('CVE-2017-12635: a duplicate member is rejected, whichever comes last', async () => {
  for (const roles of [
    '"roles":["_admin"],"roles":[]',
    '"roles":[],"roles":["_admin"]',
    '"roles":[],"r\\u006fles":[]',
  ]) {
    const body = `{"name":"eve","password":"pw","type":"user",${roles}}`
    const path = '/_users/org.couchdb.user:eve'
    assert.deepEqual(await attempt('document', { method: 'PUT', path, headers: AS_ADMIN, body }), [400, 0])
    const docs = `{"docs":[${body}]}`
    const bulk = { method: 'POST', path: '/_users/_bulk_docs', headers: AS_ADMIN, body: docs }
    assert.deepEqual(await attempt('document', bulk), [400, 0])
  }
})

const DANGEROUS = ['upstream/document', 'store/url', 'services/evil', 'ssl/keyfile', 'server/jwt-secret-keyfile']

const spell = (name: string): readonly string[] => {
  const [section = '', key = ''] = name.split('/')
  const cases = [name.toUpperCase(), `${section.toUpperCase()}/${key}`, `${section}/${key.toUpperCase()}`]
  const blanks = [`${section}%20/${key}`, `%20${section}/${key}`, `${section}/%20${key}`, `${section}/${key}%09`]
  const signs = [`%5B${section}%5D/${key}`, `${section}/${key}%3B`, `${section}/${key}%20%3D%20x`]
  return [...cases, ...blanks, ...signs, `${section}%0A/${key}`, `x%0D%0A%5B${section}%5D/${key}`]
}

test('CVE-2017-12636, CVE-2018-8007, CVE-2018-11769, CVE-2018-17188: no spelling sets an option that HTTP may not set', async (t) => {
  const plain = await startServer(t)
  const ask = (method: string, path: string, body?: string) =>
    send(plain.document, {
      method,
      path: `/_node/_local/_config/${path}`,
      headers: AS_ADMIN,
      ...(body ? { body } : {}),
    })
  const look = async () => Promise.all(DANGEROUS.map(async (name) => (await ask('GET', name.split('/')[0] ?? '')).body))
  const before = await look()
  for (const name of DANGEROUS) {
    assert.equal((await ask('PUT', name, '"http://127.0.0.1:1/"')).status, 403, name)
    // an unknown section is stored and has no effect
    for (const path of spell(name)) assert.ok((await ask('PUT', path, '"http://127.0.0.1:1/"')).status < 500, path)
  }
  for (const value of ['debug\\n[admins]\\neve = pw', 'debug\\r\\n[upstream]\\ndocument = http://127.0.0.1:1/'])
    assert.equal((await ask('PUT', 'log/level', `"${value}"`)).status, 400, value)
  assert.equal((await plain.cardea.reload()).isApplied, true)
  assert.deepEqual(await look(), before)
  assert.equal((await send(plain.document, { path: '/_all_dbs', headers: ADMIN })).status, 200, 'answered by Cardea')
  const eve = { Authorization: basic('eve', 'pw') }
  assert.equal((await send(plain.document, { path: '/_session', headers: eve })).status, 401)
})

const CLOSED = [
  '/',
  '/_all_dbs',
  '/db',
  '/db/doc',
  '/db/_changes',
  '/_up/x',
  '/_users/_all_docs',
  '/_node/_local/_config',
]

for (const option of ['require_valid_user', 'require_valid_user_except_for_up'])
  test(`CVE-2020-1955: ${option} leaves no path open`, async (t) => {
    const strict = await startServer(t, both, { chttpd: { [option]: true } })
    for (const path of CLOSED)
      for (const method of ['GET', 'HEAD', 'PUT', 'POST', 'DELETE'])
        assert.deepEqual(await attempt('document', { method, path }, strict), [401, 0], `${method} ${path}`)
  })

test('CVE-2022-24706: no default secrets, none may be missing, and doors listen on loopback only', async () => {
  const rows = OPTION_TABLE.rows.map(({ name, option }) => [name, option] as const)
  const secrets = rows.filter(([, { secret }]) => secret)
  assert.ok(secrets.length > 2)
  // secret for the password an address may hold
  const known = secrets
    .filter(([name, { initial }]) => String(initial) !== '' && name !== 'store.url')
    .map(([name]) => name)
  assert.deepEqual(known, [])
  assert.equal(CORE_OPTIONS.chttpd.bind_address.initial, '127.0.0.1')
  assert.match(JSON.stringify(CORE_OPTIONS.server.endpoint.initial), /127\.0\.0\.1/)
  await assert.rejects(createTestCardea({ options: { upstream: { document: backend.url } } }), /document-secret/)
})

test('CVE-2021-25940: no credential from before a password change is accepted', async (t) => {
  const own = await startServer(t, both)
  const made = await addUser(own, 'ada', [])
  const body = JSON.stringify({ name: 'ada', password: 'pw' })
  const session = await send(own.document, { method: 'POST', path: '/_session', headers: JSON_TYPE, body })
  const cookie = { Cookie: session.headers['set-cookie']?.[0]?.split(';')[0] ?? '' }
  const given = JSON.stringify({ username: 'ada', password: 'pw' })
  const signed = await send(own.multiModel, { method: 'POST', path: '/_open/auth', headers: JSON_TYPE, body: given })
  const token = { Authorization: `bearer ${JSON.parse(signed.body).jwt}` }
  const old = { Authorization: basic('ada', 'pw') }
  await send(own.document, {
    method: 'PUT',
    path: `/_users/org.couchdb.user:ada?rev=${JSON.parse(made.body).rev}`,
    headers: AS_ADMIN,
    body: JSON.stringify({ name: 'ada', password: 'new', roles: [], type: 'user' }),
  })
  assert.deepEqual(await attempt('document', { path: '/db', headers: old }, own), [401, 0])
  assert.deepEqual(await attempt('multiModel', { path: '/_api/version', headers: token }, own), [401, 0])
  const seen = backend.seen.length
  await send(own.document, { path: '/db', headers: cookie })
  assert.equal(backend.seen[seen]?.header('authorization'), undefined, 'an ended cookie is anonymous')
})

test('CVE-2021-25939: no client chooses an address the server connects to', async () => {
  for (const path of ['upstream/document', 'upstream/multi-model', 'services/evil', 'upstream/ca-file']) {
    const sent = { method: 'PUT', path: `/_node/_local/_config/${path}`, headers: AS_ADMIN, body: '"http://evil/"' }
    assert.deepEqual(await attempt('document', sent), [403, 0], path)
  }
  const { status } = await sendRaw(Number(new URL(front.document).port), request('http://evil.example/db'))
  assert.equal(status, 400)
})

test('ArangoDB 2026-03: server-side programs need a credential', async () => {
  for (const path of ['/_api/aqlfunction', '/_admin/execute', '/_api/foxx', '/_db/_system/_api/aqlfunction'])
    for (const method of ['GET', 'POST'])
      assert.deepEqual(await attempt('multiModel', { method, path }), [401, 0], path)
})

test('CVE-2026-76835: by default only loopback is a trusted proxy', async (t) => {
  assert.deepEqual(CORE_OPTIONS.chttpd.trusted_proxies.initial, ['loopback'])
  const strict = await startServer(t, both, { chttpd: { require_valid_user: true } })
  // nor does one that is trusted say which path is meant
  const headers = { 'X-Forwarded-Uri': '/_up', 'X-Forwarded-Prefix': '/_up', 'X-Original-URI': '/_up' }
  assert.deepEqual(await attempt('document', { path: '/db', headers }, strict), [401, 0])
  assert.deepEqual(await attempt('document', { path: '/_gate', headers }, strict), [401, 0])
})

test('GHSA-pxq7-h93f-9jrg: a fragment is not part of a request target', async () => {
  const before = backend.seen.length
  for (const door of ['document', 'multiModel'] as const)
    for (const target of ['/_up#/../_all_dbs', '/db#', '/_open/auth#/x', '/db?x#y', '/shop#/../_api/user']) {
      const answer = await sendRaw(Number(new URL(front[door]).port), request(target))
      assert.equal(answer.status, 400, target)
    }
  assert.equal(backend.seen.length, before)
})

test('Oathkeeper 26.2: X-Forwarded-Proto of an untrusted peer is ignored', async (t) => {
  const body = JSON.stringify({ name: 'admin', password: 'adminpw' })
  const headers = { ...JSON_TYPE, 'X-Forwarded-Proto': 'https', 'X-Forwarded-Ssl': 'on' }
  const stranger = await startServer(t, both, { chttpd: { trusted_proxies: 'none' } })
  const answer = await send(stranger.document, { method: 'POST', path: '/_session', headers, body })
  assert.doesNotMatch(answer.headers['set-cookie']?.[0] ?? '', /secure/i)
  assert.match(answer.headers['set-cookie']?.[0] ?? '', /^AuthSession=/)
  await send(stranger.document, { path: '/db', headers })
  assert.equal(backend.seen.at(-1)?.header('x-forwarded-proto'), 'http')
})

const ESCAPES = ['/shop/../_api/user', '/shop/%2e%2e/_api/user', '/shop%2F..%2F_api', '/shop//_api', '/shop/%5c..']

test('CVE-2021-21321, CVE-2021-21322, CVE-2026-15631, CVE-2026-16117, CVE-2026-120213: no path leaves its mount', async () => {
  for (const path of ESCAPES) assert.deepEqual(await attempt('multiModel', { path, headers: ADMIN }), [400, 0], path)
  for (const path of ['/shop/a;b/..c', '/shop/a?x=/../y', '/shop/..;/x']) {
    const [status, reached] = await attempt('multiModel', { path, headers: ADMIN })
    assert.ok((status === 200 && service.seen.at(-1)?.url === path) || (status === 400 && reached === 0), path)
  }
  const socket = {
    Connection: 'Upgrade',
    Upgrade: 'websocket',
    'Sec-WebSocket-Version': '13',
    'Sec-WebSocket-Key': 'eA==',
  }
  assert.deepEqual(await attempt('multiModel', { path: '/shop/../_api/user', headers: socket }), [400, 0])
})

test('CVE-2025-32996, CVE-2025-32997: a body arrives once and whole, or not at all', async () => {
  const body = JSON.stringify({ a: 'b'.repeat(100_000) })
  assert.deepEqual(await attempt('document', { method: 'POST', path: '/db', headers: AS_ADMIN, body }), [200, 1])
  assert.equal(backend.seen.at(-1)?.body.toString(), body)
  const before = backend.seen.length
  for (const broken of ['Content-Length: 10\r\n\r\nabc', 'Transfer-Encoding: chunked\r\n\r\n3\r\nabc\r\nzz\r\n'])
    await sendRaw(Number(new URL(front.document).port), `POST /db HTTP/1.1\r\nHost: a\r\n${broken}`, { waitMs: 300 })
  assert.equal(backend.seen.length, before)
})

test('CVE-2026-55602: the Host header does not choose the upstream', async () => {
  for (const host of [new URL(service.url).host, 'shop', `x.${new URL(service.url).host}`, 'front.example']) {
    const before = backend.seen.length
    assert.deepEqual(await attempt('document', { path: '/db', headers: { Host: host } }), [200, 1])
    assert.equal(backend.seen[before]?.header('host'), host)
  }
})

test('CVE-2026-58044: no header is missed after many others', async () => {
  const fill = Array.from({ length: 1999 }, (_, i) => `a${i.toString(36)}:1`)
  const before = backend.seen.length
  for (const door of ['document', 'multiModel'] as const) {
    const lines = [
      'POST /db HTTP/1.1',
      'Host: a',
      ...fill,
      `Authorization: ${ADMIN.Authorization}`,
      'Content-Length: 5',
    ]
    const bytes = [...lines, '', 'hello'].join('\r\n')
    const answer = await sendRaw(Number(new URL(front[door]).port), bytes, { untilClosed: true })
    assert.deepEqual([answer.status, answer.isClosed], [431, true])
  }
  assert.equal(backend.seen.length, before)
})

test('CVE-2026-21710: names of object properties are ordinary header names', async () => {
  for (const name of ['__proto__', 'constructor', 'hasOwnProperty', 'toString', 'prototype']) {
    const answer = await sendRaw(Number(new URL(front.document).port), request('/db', `${name}: x`, `${name}: y`))
    assert.equal(answer.status, 200, name)
    assert.deepEqual(backend.seen.at(-1)?.all(name), ['x', 'y'])
  }
})
