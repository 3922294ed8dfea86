import assert from 'node:assert/strict'
import { createPublicKey, verify } from 'node:crypto'
import { test } from 'node:test'
import { createAccessToken } from '../../../src/directory/access-token.ts'
import { createTestCardea, TEST_ADMINISTRATOR } from '../../../src/index.ts'
import { makeToken, now, SECRET, superuser } from '../../support/multi-model.ts'
import { ADMIN, basic, send } from '../../support/request.ts'
import { type Server, startServer } from '../../support/server.ts'
import { openBackend, type Seen } from '../../support/upstream.ts'

const beforeService = (url: string, more = '') => ({ services: { shop: `/shop ${url} ${more}`.trim() } })

/** The statuses by mode: of an anonymous request, a wrong credential, an administrator. */
const MODES = [
  { name: 'by default: open', server: {}, more: '', statuses: [200, 200, 200] },
  {
    name: 'authentication for every path: closed',
    server: { 'authentication-system-only': false },
    more: '',
    statuses: [401, 401, 200],
  },
  { name: 'authentication off: open', server: { authentication: false }, more: '', statuses: [200, 200, 200] },
  { name: 'required, by default: closed', server: {}, more: 'required', statuses: [401, 401, 200] },
  {
    name: 'required, authentication off: closed',
    server: { authentication: false },
    more: 'required',
    statuses: [401, 401, 200],
  },
]

for (const { name, server, more, statuses } of MODES)
  test(`services, ${name}`, async (t) => {
    const backend = await openBackend(t)
    const front = await startServer(t, beforeService(backend.url, more), { server })
    const wrong = { Authorization: basic('admin', 'wrong') }
    for (const path of ['/shop', '/shop/cart?x=1', '/sh%6Fp/cart']) {
      const answers = []
      for (const headers of [{}, wrong, ADMIN]) answers.push(await send(front.multiModel, { path, headers }))
      assert.deepEqual(
        answers.map(({ status }) => status),
        statuses,
        path,
      )
    }
    const served = statuses.filter((status) => status === 200).length
    assert.equal(backend.seen.length, 3 * served)
  })

test('a service gets the id of the user, and the claims that the program adds', async (t) => {
  const backend = await openBackend(t)
  const asked: unknown[] = []
  const cardea = await createTestCardea({
    options: beforeService(backend.url),
    claims: (user, service) => {
      asked.push([user, service])
      return { plan: 'free', sub: 'evil', user_id: 'evil' }
    },
  })
  t.after(() => cardea.close())
  const { multiModel } = await cardea.listen()
  const { id } = await cardea.users.create({ name: 'ada', password: 'pw', roles: ['reader'] })
  const headers = { Authorization: basic('ada', 'pw'), 'X-Auth-User-Id': 'evil', X_Auth_User_Id: 'evil' }
  for (let sent = 0; sent < 2; sent += 1) await send(multiModel[0] ?? '', { path: '/shop', headers })
  const [seen] = backend.seen
  assert.deepEqual(seen?.all('x-auth-user-id'), [id])
  assert.equal(
    seen?.raw.some((text) => text === 'evil'),
    false,
  )
  const claims = JSON.parse(Buffer.from(seen?.header('x-auth-token')?.split('.')[1] ?? '', 'base64url').toString())
  assert.partialDeepStrictEqual(claims, { plan: 'free', sub: 'ada', user_id: id, aud: 'shop', roles: ['reader'] })
  assert.deepEqual(asked, [[{ id, name: 'ada', roles: ['reader'], isAdmin: false }, 'shop']])
  // a later user of the name has another id, and so another token
  await cardea.users.remove('ada')
  const later = await cardea.users.create({ name: 'ada', password: 'pw', roles: ['reader'] })
  await send(multiModel[0] ?? '', { path: '/shop', headers })
  assert.notEqual(later.id, id)
  assert.deepEqual(backend.seen.at(-1)?.all('x-auth-user-id'), [later.id])
})

test('an access token as Bearer is accepted only with the option', async (t) => {
  const backend = await openBackend(t)
  const required = beforeService(backend.url, 'required')
  const ask = async ({ multiModel }: Server, token: string) => {
    const headers = { Authorization: `Bearer ${token}` }
    const replies = [
      await send(multiModel, { path: '/_api/version', headers }),
      await send(multiModel, { path: '/shop', headers }),
    ]
    return replies.map(({ status }) => status)
  }
  const expiresAt = new Date('2100-01-01')
  const create = async ({ cardea }: Server) => {
    await cardea.users.create({ name: 'ada', password: 'pw', grants: { _system: 'rw' } })
    return cardea.accessTokens.create('ada', { name: 'one', expiresAt })
  }
  const off = await startServer(t, required)
  assert.deepEqual(await ask(off, (await create(off)).token), [401, 401])
  const on = await startServer(t, required, { server: { 'access-tokens-as-bearer': true } })
  const { token } = await create(on)
  assert.deepEqual(await ask(on, token), [200, 200])
  assert.deepEqual(backend.seen.at(-1)?.all('authorization'), [])
  assert.equal(backend.seen.at(-1)?.header('x-auth-user'), 'ada')
  assert.deepEqual(await ask(on, token.replace(/..$/, '00')), [401, 401])
  await on.cardea.accessTokens.remove('ada', 'one')
  assert.deepEqual(await ask(on, token), [401, 401])
  const limited = await on.cardea.accessTokens.create('ada', {
    name: 'two',
    expiresAt,
    services: ['other'],
  })
  assert.deepEqual((await ask(on, limited.token)).includes(200), false)
})

test('an option that opens a service at run time is logged', async (t) => {
  const services = { shop: '/shop http://127.0.0.1:1', ledger: '/ledger http://127.0.0.1:1 required' }
  const { document, log } = await startServer(t, { services })
  const listWarnings = async (option: string, value: boolean) => {
    const before = log.length
    const path = `/_node/_local/_config/server/${option}`
    await send(document, { method: 'PUT', path, headers: ADMIN, body: JSON.stringify(String(value)) })
    const warnings = log.slice(before).filter(({ level }) => level === 'warn')
    return warnings.map(({ message }) => message).filter((line) => line.includes('OPEN TO ANYONE'))
  }
  const shop = 'service shop at /shop is OPEN TO ANYONE'
  const door = 'the multi-model door is OPEN TO ANYONE: server.authentication is false'
  assert.deepEqual(await listWarnings('authentication-system-only', false), [])
  assert.deepEqual(await listWarnings('authentication-system-only', true), [shop])
  assert.deepEqual(await listWarnings('authentication', false), [door])
  assert.deepEqual(await listWarnings('authentication', true), [])
  assert.deepEqual(await listWarnings('authentication-system-only', false), [])
  assert.deepEqual((await listWarnings('authentication', false)).sort(), [shop, door])
})

test('a mount matches whole segments, and takes no path of a database', async (t) => {
  const backend = await openBackend(t)
  const front = await startServer(t, beforeService(backend.url))
  for (const path of ['/shopping', '/_db/_system/shop', '/other/shop', '/SHOP'])
    assert.equal((await send(front.multiModel, { path, headers: ADMIN })).status, 404, path)
  assert.equal(backend.seen.length, 0)
})

async function verifyToken(seen: Seen | undefined, base: string): Promise<Record<string, unknown>> {
  const { body } = await send(base, { path: '/.well-known/jwks.json', headers: ADMIN })
  const [head = '', payload = '', signature = ''] = seen?.header('x-auth-token')?.split('.') ?? []
  const { kid, alg } = JSON.parse(Buffer.from(head, 'base64url').toString())
  const jwk = JSON.parse(body).keys.find((key: { kid: string }) => key.kid === kid)
  assert.deepEqual([alg, jwk.kty, jwk.d], ['ES256', 'EC', undefined])
  const key = { key: createPublicKey({ key: jwk, format: 'jwk' }), dsaEncoding: 'ieee-p1363' } as const
  assert.ok(verify('sha256', Buffer.from(`${head}.${payload}`), key, Buffer.from(signature, 'base64url')))
  return JSON.parse(Buffer.from(payload, 'base64url').toString())
}

test('a service can verify the identity with the key set of either door', async (t) => {
  const backend = await openBackend(t)
  const front = await startServer(t, beforeService(backend.url), { chttpd: { require_valid_user: true } })
  await send(front.multiModel, { path: '/shop', headers: { ...ADMIN, 'X-Auth-User': 'evil', x_auth_user: 'evil' } })
  const [seen] = backend.seen
  for (const base of [front.document, front.multiModel]) {
    const claims = await verifyToken(seen, base)
    assert.deepEqual([claims['sub'], claims['aud'], claims['roles']], ['admin', 'shop', ['_admin']])
    assert.ok(Number(claims['exp']) * 1000 > Date.now())
  }
  assert.deepEqual([seen?.all('x-auth-user'), seen?.all('x-auth-roles')], [['admin'], ['_admin']])
  assert.deepEqual(seen?.all('authorization'), [])
})

test('an anonymous request has no identity headers and keeps the credential of the application', async (t) => {
  const backend = await openBackend(t)
  const front = await startServer(t, beforeService(backend.url))
  await send(front.multiModel, { path: '/shop', headers: { Authorization: 'ApiKey 1', 'X-Auth-User': 'admin' } })
  const [seen] = backend.seen
  assert.deepEqual(seen?.all('authorization'), ['ApiKey 1'])
  assert.deepEqual(
    seen?.raw.filter((text) => /^x-auth-/i.test(text)),
    [],
  )
})

for (const text of [
  'shop http://127.0.0.1:1',
  '/_shop http://127.0.0.1:1',
  '/shop',
  '/shop ftp://x',
  '/a//b http://x',
  '/../a http://x',
  '/shop http://x maybe',
])
  test(`[services] ${text} is rejected at start`, async () => {
    await assert.rejects(createTestCardea({ options: { services: { shop: text } } }), /\[services\] shop/)
  })

for (const door of ['document', 'multiModel'] as const) {
  test(`${door}: /_gate returns the identity, or 401`, async (t) => {
    const front = await startServer(t)
    const ask = (headers: Record<string, string>, query = '') => send(front[door], { path: `/_gate${query}`, headers })
    const yes = await ask(ADMIN)
    assert.deepEqual([yes.status, yes.headers['x-auth-user'], yes.headers['x-auth-roles']], [204, 'admin', '_admin'])
    assert.equal(yes.headers['x-auth-token']?.toString().split('.').length, 3)
    for (const headers of [
      {},
      { Authorization: basic('admin', 'wrong') },
      { Authorization: 'Bearer x' },
      { Authorization: 'Basic !!!' },
      { Cookie: 'AuthSession=rubbish' },
      { 'X-Auth-User': 'admin', 'X-Forwarded-Uri': '/_up' },
    ]) {
      const no = await ask(headers)
      assert.deepEqual([no.status, no.headers['x-auth-user']], [401, undefined], JSON.stringify(headers))
    }
  })
}

for (const door of ['document', 'multiModel'] as const)
  for (const path of ['/_gate', '/.well-known/jwks.json'])
    test(`${door}: ${path} lists its methods`, async (t) => {
      const front = await startServer(t)
      const answer = await send(front[door], { method: 'POST', path, headers: ADMIN })
      assert.deepEqual([answer.status, answer.headers['allow']], [405, 'GET, HEAD'])
      assert.equal((await send(front[door], { method: 'HEAD', path, headers: ADMIN })).headers['allow'], undefined)
    })

async function signIn(document: string): Promise<string> {
  const headers = { 'Content-Type': 'application/json' }
  const body = JSON.stringify(TEST_ADMINISTRATOR)
  const answer = await send(document, { method: 'POST', path: '/_session', headers, body })
  return answer.headers['set-cookie']?.[0]?.split(';')[0] ?? ''
}

test('/_gate: only a lasting permission is cacheable, by its credential', async (t) => {
  const front = await startServer(t, { gate: { 'cache-seconds': 1 }, chttpd_auth: { proxy_use_secret: false } })
  const cachingOf = async (headers: Record<string, string>, query = '') => {
    const { status, headers: received } = await send(front.document, { path: `/_gate${query}`, headers })
    return [status, received['cache-control'], received['vary']]
  }
  const cookie = await signIn(front.document)
  const CACHEABLE = [204, 'max-age=1, must-revalidate', 'Authorization, Cookie']
  const rows: [name: string, headers: Record<string, string>, query: string, expected: unknown[]][] = [
    ['Basic', ADMIN, '', CACHEABLE],
    ['Basic with a role', ADMIN, '?role=reader', CACHEABLE],
    ['a cookie', { Cookie: cookie }, '', CACHEABLE],
    ['anonymous', {}, '', [401, 'no-store', undefined]],
    ['a wrong parameter', ADMIN, '?rol=reader', [400, 'no-store', undefined]],
    ['headers of a proxy', { 'X-Auth-CouchDB-UserName': 'eve' }, '', [204, 'no-store', undefined]],
  ]
  for (const [name, headers, query, expected] of rows) assert.deepEqual(await cachingOf(headers, query), expected, name)
})

test('/_gate: a response that renews a cookie is not cacheable', async (t) => {
  // a cookie is renewed after a tenth of its time
  const front = await startServer(t, { gate: { 'cache-seconds': 1 }, chttpd_auth: { timeout: 100 } })
  const cookie = await signIn(front.document)
  t.mock.timers.enable({ apis: ['Date'], now: Date.now() + 50_000 })
  const { headers } = await send(front.document, { path: '/_gate', headers: { Cookie: cookie } })
  assert.deepEqual([headers['set-cookie']?.length, headers['cache-control']], [1, 'no-store'])
})

test('/_gate: nothing is cacheable by default', async (t) => {
  const front = await startServer(t)
  const { headers } = await send(front.document, { path: '/_gate', headers: ADMIN })
  assert.deepEqual([headers['cache-control'], headers['vary']], ['no-store', undefined])
})

test('/_gate can require a role', async (t) => {
  const front = await startServer(t)
  await send(front.document, {
    method: 'PUT',
    path: '/_users/org.couchdb.user:ada',
    headers: { ...ADMIN, 'Content-Type': 'application/json' },
    body: JSON.stringify({ name: 'ada', password: 'pw', roles: ['reader'], type: 'user' }),
  })
  const ask = async (query: string) =>
    (await send(front.document, { path: `/_gate${query}`, headers: { Authorization: basic('ada', 'pw') } })).status
  assert.deepEqual(
    [await ask('?role=reader'), await ask('?role=writer'), await ask('?role=writer,reader')],
    [204, 403, 204],
  )
  for (const query of ['?rol=reader', '?Role=reader', '?role=reader&x=1', '?roles', '?role%00=reader'])
    assert.equal(await ask(query), 400, query)
  assert.equal(await ask('?'), 204)
})

const JSON_TYPE = { 'Content-Type': 'application/json' }
const DOCUMENT_KEY = 'a-key-of-the-document-door-s-tokens'

const addUser = (front: Server, value: object) =>
  send(front.multiModel, {
    method: 'POST',
    path: '/_api/user',
    headers: { ...ADMIN, ...JSON_TYPE },
    body: JSON.stringify(value),
  })

const expiry = now() + 600
const signedAt = (secret: string, claims: object) => `Bearer ${makeToken({ exp: expiry, ...claims }, { secret })}`

const ACCESS_TOKEN = createAccessToken({ user: 'ada', name: 'x', createdAt: now(), validUntil: expiry }).text

/** Whether an open service receives a credential that Cardea does not accept. */
const STRANGERS = [
  { name: 'a wrong password', authorization: basic('admin', 'wrong'), passes: false },
  { name: 'the password of a disabled user', authorization: basic('ada', 'pw'), passes: false },
  { name: 'an unknown name', authorization: basic('unknown', 'pw'), passes: false },
  { name: 'Basic in another spelling', authorization: 'bASIC x', passes: false },
  {
    name: 'a token of the document door',
    authorization: signedAt(DOCUMENT_KEY, { sub: 'boss', '_couchdb.roles': ['_admin'] }),
    passes: false,
  },
  {
    name: 'a token of a disabled user',
    authorization: signedAt(SECRET, { iss: 'arangodb', preferred_username: 'ada' }),
    passes: false,
  },
  {
    name: 'an expired token',
    authorization: signedAt(SECRET, { iss: 'arangodb', preferred_username: 'admin', exp: 1 }),
    passes: false,
  },
  { name: 'an access token', authorization: `Bearer ${ACCESS_TOKEN}`, passes: false },
  { name: 'an access token in another spelling', authorization: `bEARER \t ${ACCESS_TOKEN}`, passes: false },
  { name: 'an access token under another scheme', authorization: `Token token="${ACCESS_TOKEN}"`, passes: false },
  { name: 'a bearer value that only begins like an access token', authorization: 'Bearer v1.0abc', passes: true },
  {
    name: 'a tab after the scheme',
    authorization: signedAt(SECRET, { iss: 'arangodb', preferred_username: 'ada' }).replace(' ', '\t'),
    passes: false,
  },
  ...['JWT ', '', 'Bearer: ', 'Token token='].map((scheme) => ({
    name: `a token after "${scheme}"`,
    authorization: signedAt(SECRET, { iss: 'arangodb', preferred_username: 'ada' }).replace('Bearer ', scheme),
    passes: false,
  })),
  { name: 'five tokens', authorization: 'Bearer a.b.c, d.e.f, g.h.i, j.k.l, m.n.o', passes: false },
  { name: 'a token of the application', authorization: signedAt('of-the-application', {}), passes: true },
  { name: 'a key of the application', authorization: 'Bearer sk-123', passes: true },
  { name: 'another scheme', authorization: 'Digest username="ada"', passes: true },
]

test('an open service never receives a credential of Cardea', async (t) => {
  const backend = await openBackend(t)
  const jwt_keys = { 'hmac:_default': Buffer.from(DOCUMENT_KEY).toString('base64') }
  const front = await startServer(t, beforeService(backend.url), { jwt_keys })
  await addUser(front, { user: 'ada', passwd: 'pw', active: false })
  for (const { name, authorization, passes } of STRANGERS) {
    const answer = await send(front.multiModel, { path: '/shop', headers: { Authorization: authorization } })
    assert.equal(answer.status, 200, name)
    assert.deepEqual(backend.seen.at(-1)?.all('authorization'), passes ? [authorization] : [], name)
    assert.equal(backend.seen.at(-1)?.header('x-auth-user'), undefined, name)
  }
})

test('an open service does not receive the correct password of a locked account', async (t) => {
  const backend = await openBackend(t)
  const lockout = { chttpd_auth_lockout: { mode: 'enforce', threshold: 2 } }
  const front = await startServer(t, beforeService(backend.url), lockout)
  for (const password of ['1', '2', '3', 'adminpw'])
    await send(front.multiModel, { path: '/shop', headers: { Authorization: basic('admin', password) } })
  assert.deepEqual(
    backend.seen.map((seen) => [seen.header('authorization'), seen.header('x-auth-user')]),
    Array(4).fill([undefined, undefined]),
  )
})

test('services and /_gate reject a superuser token', async (t) => {
  const backend = await openBackend(t)
  const front = await startServer(t, {
    services: { shop: `/shop ${backend.url}`, ledger: `/ledger ${backend.url} required` },
  })
  for (const path of ['/shop', '/ledger', '/_gate', '/_gate?role=anything'])
    assert.equal((await send(front.multiModel, { path, headers: { Authorization: superuser() } })).status, 403, path)
  assert.equal(backend.seen.length, 0)
})

for (const server of [{}, { authentication: false }])
  test(`a user without grants reaches no required service: ${JSON.stringify(server)}`, async (t) => {
    const backend = await openBackend(t)
    const front = await startServer(t, beforeService(backend.url, 'required'), { server })
    await addUser(front, { user: 'ada', passwd: 'pw' })
    const ask = async () =>
      (await send(front.multiModel, { path: '/shop', headers: { Authorization: basic('ada', 'pw') } })).status
    assert.equal(await ask(), 401)
    await send(front.multiModel, {
      method: 'PUT',
      path: '/_api/user/ada/database/_system',
      headers: { ...ADMIN, ...JSON_TYPE },
      body: JSON.stringify({ grant: 'ro' }),
    })
    assert.equal(await ask(), 200)
  })

test('a service cannot be named gate', async () => {
  const services = { gate: '/shop http://127.0.0.1:1' }
  await assert.rejects(createTestCardea({ options: { services } }), /\[services\] gate/)
})
