import assert from 'node:assert/strict'
import { createHmac } from 'node:crypto'
import { after, before, test } from 'node:test'
import { createCardea, createTestCardea } from '../../../src/index.ts'
import { send } from '../../support/request.ts'
import { cookieOf, createSessionServer, lineOf, mintClassic, NO_USER, nowSeconds } from './session-server.ts'

const SECRET = 'a-cookie-secret-for-these-tests'
const server = createSessionServer({ chttpd_auth: { secret: SECRET, hash_algorithms: 'sha256, sha' } })
const { ask, add, get, identifyCookie, begin, end } = server

before(() => add('ada', { roles: ['math'] }))

const MEMORY = {
  store: { url: 'sqlite::memory:' },
  chttpd: { port: 0 },
  server: { endpoint: 'none' },
  admins: { admin: 'adminpw' },
  auth: { 'min-password-length': 0 },
}

const saltOf = async (name: string): Promise<string> => (await get(name)).json.salt
const ADA = { name: 'ada', roles: ['math'], by: 'cookie' }

/** The parts of the value before the session id and the MAC. */
const textOf = (cookie: string): string => Buffer.from(cookie, 'base64url').toString('latin1')

test('the value is the name, the time in hexadecimal, 16 bytes of a session id and the MAC of the first algorithm', async () => {
  const bytes = Buffer.from(await begin('ada'), 'base64url')
  const [, name, time] = /^([^:]+):([0-9A-F]+):/.exec(bytes.toString('latin1')) ?? []
  assert.equal(name, 'ada')
  assert.ok(Math.abs(Number.parseInt(time ?? '', 16) - nowSeconds()) <= 10)
  assert.equal(bytes.length, `ada:${time}:`.length + 16 + 32)
})

test('two sign-ins open two sessions', async () => {
  const [one, other] = [await begin('ada'), await begin('ada')]
  assert.notEqual(textOf(one).slice(-48, -32), textOf(other).slice(-48, -32))
})

for (const alg of ['sha256', 'sha1']) {
  test(`a CouchDB cookie signed with ${alg} is accepted: all listed algorithms verify`, async () => {
    const cookie = mintClassic('ada', nowSeconds(), { secret: SECRET, salt: await saltOf('ada'), alg })
    assert.deepEqual(await identifyCookie(cookie), ADA)
  })
}

test('a CouchDB cookie of an administrator is accepted', async () => {
  const { json } = await ask('GET', '/_node/_local/_config/admins/admin')
  const salt = json.split(',')[1]
  const cookie = mintClassic('admin', nowSeconds() + 2, { secret: SECRET, salt })
  assert.deepEqual(await identifyCookie(cookie), { name: 'admin', roles: ['_admin'], by: 'cookie' })
})

test('signing out revokes a CouchDB cookie', async () => {
  const cookie = mintClassic('ada', nowSeconds() - 1, { secret: SECRET, salt: await saltOf('ada') })
  assert.deepEqual(await identifyCookie(cookie), ADA)
  await end(cookie)
  assert.deepEqual(await identifyCookie(cookie), NO_USER)
})

test('a CouchDB cookie from before all sessions were revoked is rejected', async () => {
  await add('out')
  const cookie = mintClassic('out', nowSeconds() - 5, { secret: SECRET, salt: await saltOf('out') })
  assert.equal((await identifyCookie(cookie)).name, 'out')
  const answer = await ask('POST', '/_cardea/api/users/out/sign-out')
  assert.equal(answer.status, 200, answer.body)
  assert.deepEqual(await identifyCookie(cookie), NO_USER)
})

const old = async (seconds: number): Promise<string> =>
  mintClassic('ada', nowSeconds() - seconds, { secret: SECRET, salt: await saltOf('ada') })

const askWith = (cookie: string, path = '/_session') =>
  ask('GET', path, { as: '', headers: { Cookie: `AuthSession=${cookie}` } })

test('a session expires after the timeout without a request', async () => {
  assert.deepEqual(await identifyCookie(await old(600)), NO_USER)
  assert.deepEqual(await identifyCookie(await old(580)), ADA)
})

test('a request renews a cookie that is older than a tenth of the timeout, not a fresh one', async () => {
  const renewed = await askWith(await old(70))
  assert.match(lineOf(renewed), /^AuthSession=[\w-]+; Version=1; Expires=[^;]+; Max-Age=600; Path=\/; HttpOnly$/)
  assert.deepEqual(await identifyCookie(cookieOf(renewed)), ADA)
  assert.equal((await askWith(await old(50))).headers['set-cookie'], undefined)
})

test('a forward-auth request renews the cookie', async () => {
  for (const [path, status] of [
    ['/_gate', 204],
    ['/_gate?role=other', 403],
  ] as const) {
    const answer = await askWith(await old(70), path)
    assert.equal(answer.status, status)
    assert.deepEqual(await identifyCookie(cookieOf(answer)), ADA)
    assert.equal((await askWith(await old(50), path)).headers['set-cookie'], undefined)
  }
})

test('an error after authentication renews the cookie too', async () => {
  const answer = await askWith(await old(70), '/_all_dbs')
  assert.equal(answer.status, 401)
  assert.match(lineOf(answer), /^AuthSession=[\w-]+;/)
})

test('a renewed cookie belongs to the same session: ending it revokes all copies', async () => {
  const first = await old(71)
  const second = cookieOf(await askWith(first))
  await end(second)
  assert.deepEqual([await identifyCookie(first), await identifyCookie(second)], [NO_USER, NO_USER])
})

test('signing in or out with an old cookie sets one cookie, not two', async () => {
  const headers = { Cookie: `AuthSession=${await old(72)}` }
  lineOf(await server.post({ name: 'ada', password: 'ada-pw' }, { headers }))
  lineOf(await ask('DELETE', '/_session', { as: '', headers }))
})

test('a value that is not a session cookie is 400', async () => {
  for (const value of ['garbage', 'YWRh', '====', 'a+b/', `${await begin('ada')}=`, 'x'.repeat(5000)]) {
    const { status, json } = await askWith(value)
    assert.equal(status, 400, value)
    assert.equal(json.reason, 'Malformed AuthSession cookie. Please clear your cookies.')
  }
})

test('an empty cookie is ignored', async () => assert.deepEqual(await identifyCookie(''), NO_USER))

test('a cookie that does not verify is ignored', async () => {
  const good = Buffer.from(await begin('ada'), 'base64url')
  const salt = await saltOf('ada')
  const other = (at: number) => {
    const bytes = Buffer.from(good)
    bytes[at] = (bytes[at] ?? 0) ^ 1
    return bytes.toString('base64url')
  }
  const forged = [
    other(good.length - 1),
    other(good.length - 40),
    other(0),
    good.subarray(0, -1).toString('base64url'),
    Buffer.concat([good, Buffer.from([0])]).toString('base64url'),
    mintClassic('ada', nowSeconds(), { secret: 'another', salt }),
    mintClassic('ada', nowSeconds(), { secret: SECRET, salt: 'another' }),
    mintClassic('ada', nowSeconds(), { secret: SECRET, salt, alg: 'sha512' }),
    mintClassic('unknown-user', nowSeconds(), { secret: SECRET, salt: '' }),
    mintClassic('ada', nowSeconds(), { secret: '', salt }),
    Buffer.from('ada:zz:0123456789').toString('base64url'),
    Buffer.from('::').toString('base64url'),
    Buffer.from('ada::').toString('base64url'),
    Buffer.from('ada:FFFFFFFFFFFFFFFFFFFFFFFF:x').toString('base64url'),
    Buffer.from('ada:66000000~:0123456789012345678901234567890123456789012345678901234567').toString('base64url'),
  ]
  for (const cookie of forged) assert.deepEqual(await identifyCookie(cookie), NO_USER, textOf(cookie))
})

test('a proxy token is not accepted as the cookie of a user without a salt', async () => {
  await add('bare', { password: null })
  const head = `bare:${nowSeconds().toString(16).toUpperCase()}`
  const mac = createHmac('sha256', SECRET).update(head).digest()
  const cookie = Buffer.concat([Buffer.from(`${head}:`), mac]).toString('base64url')
  assert.deepEqual(await identifyCookie(cookie), NO_USER)
})

test('a valid cookie wins over Basic, even a wrong one', async () => {
  const headers = { Cookie: `AuthSession=${await begin('ada')}` }
  assert.equal((await server.fetchIdentity({ as: 'ada:wrong', headers })).by, 'cookie')
})

for (const [what, options, pattern] of [
  [
    'allow_persistent_cookies gives Max-Age and Expires',
    {},
    /; Version=1; Expires=\w{3}, \d\d-\w{3}-\d{4} \d\d:\d\d:\d\d GMT; Max-Age=600; Path=\/; HttpOnly$/,
  ],
  [
    'without allow_persistent_cookies there is neither',
    { allow_persistent_cookies: false },
    /; Version=1; Path=\/; HttpOnly$/,
  ],
  ['timeout is Max-Age', { timeout: 42 }, /; Max-Age=42; /],
  [
    'cookie_domain is the Domain attribute',
    { cookie_domain: 'example.com' },
    /; Max-Age=600; Domain=example\.com; Path=\/; HttpOnly$/,
  ],
  ['without cookie_domain there is no Domain attribute', {}, /^(?!.*Domain)/],
  ['same_site none', { same_site: 'none' }, /; HttpOnly; SameSite=None$/],
  ['same_site lax', { same_site: 'lax' }, /; HttpOnly; SameSite=Lax$/],
  ['same_site strict', { same_site: 'strict' }, /; HttpOnly; SameSite=Strict$/],
  ['without same_site there is no SameSite attribute', {}, /^(?!.*SameSite)/],
  [
    'all of them, in their order',
    { cookie_domain: 'a.example', same_site: 'strict', timeout: 9 },
    /^AuthSession=[\w-]*; Version=1; Expires=[^;]+; Max-Age=9; Domain=a\.example; Path=\/; HttpOnly; SameSite=Strict$/,
  ],
] as const) {
  test(`${what}, on the setting and on the clearing cookie`, async () => {
    const cardea = await createTestCardea({ options: { ...MEMORY, chttpd_auth: { iterations: 1, ...options } } })
    try {
      const url = (await cardea.listen()).document[0] ?? ''
      const signIn = {
        method: 'POST',
        path: '/_session',
        headers: { 'Content-Type': 'application/json' },
        body: '{"name":"admin","password":"adminpw"}',
      }
      for (const sent of [signIn, { method: 'DELETE', path: '/_session' }]) {
        assert.match((await send(url, sent)).lines['set-cookie']?.join() ?? '', pattern)
      }
    } finally {
      await cardea.close()
    }
  })
}

test('a cookie is Secure if a trusted proxy reports TLS, not if another peer does', async () => {
  const headers = { 'X-Forwarded-Proto': 'https' }
  assert.match(
    lineOf(await server.post({ name: 'ada', password: 'ada-pw' }, { headers })),
    /; Max-Age=600; Secure; Path=/,
  )
  const distrusting = await createCardea({
    options: { ...MEMORY, chttpd: { port: 0, trusted_proxies: 'none' }, chttpd_auth: { iterations: 1 } },
  })
  after(() => distrusting.close())
  const url = (await distrusting.listen()).document[0] ?? ''
  const answer = await send(url, { method: 'DELETE', path: '/_session', headers })
  assert.doesNotMatch(answer.lines['set-cookie']?.join() ?? '', /Secure/)
})
