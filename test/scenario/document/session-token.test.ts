import assert from 'node:assert/strict'
import { before, test } from 'node:test'
import { createCardea } from '../../../src/index.ts'
import { ADMIN, send } from '../../support/request.ts'
import { cookieOf, createSessionServer, lineOf, mintJwt, NO_USER, nowSeconds } from './session-server.ts'

const SECRET = 'a-shared-secret-of-enough-bytes-for-hs256'
const jwt_keys = { 'hmac:_default': Buffer.from(SECRET).toString('base64') }
const server = createSessionServer({ jwt_keys })
const { ask, identifyCookie, end } = server

before(() => server.add('ada', { roles: ['math'] }))

const token = (more: Record<string, unknown> = {}) =>
  mintJwt({ sub: 'jo', exp: nowSeconds() + 3600, '_couchdb.roles': ['r'], ...more }, SECRET)
const open = (jwt: string, body?: unknown) =>
  ask('POST', '/_session', {
    as: '',
    headers: { Authorization: `Bearer ${jwt}` },
    ...(body === undefined ? {} : { body }),
  })

for (const [what, body] of [
  ['no body', undefined],
  ['an empty object', {}],
] as const) {
  test(`a valid token and ${what} give a cookie for it`, async () => {
    const answer = await open(token(), body)
    assert.deepEqual([answer.status, answer.json], [200, { ok: true, name: 'jo', roles: ['r'] }])
    assert.deepEqual(await identifyCookie(cookieOf(answer)), { name: 'jo', roles: ['r'], by: 'cookie' })
  })
}

test('a name in the body means a password sign-in', async () => {
  const answer = await open(token(), { name: 'ada', password: 'ada-pw' })
  assert.deepEqual([answer.status, answer.json], [200, { ok: true, name: 'ada', roles: ['math'] }])
  assert.equal((await open(token(), { name: 'ada', password: 'wrong' })).status, 401)
})

test('the cookie never outlives the token', async () => {
  const line = lineOf(await open(token({ exp: nowSeconds() + 30 })))
  const maxAge = Number(/Max-Age=(\d+)/.exec(line)?.[1])
  assert.ok(maxAge <= 30 && maxAge >= 15, line)
})

test('the roles are those of the token, not those of a user with that name', async () => {
  const cookie = cookieOf(await open(token({ sub: 'ada' })))
  assert.deepEqual(await identifyCookie(cookie), { name: 'ada', roles: ['r'], by: 'cookie' })
  const admin = cookieOf(await open(token({ sub: 'admin' })))
  const headers = { Cookie: `AuthSession=${admin}` }
  assert.equal((await ask('GET', '/_node/_local/_config/admins', { as: '', headers })).status, 401)
})

test('signing out revokes the session', async () => {
  const cookie = cookieOf(await open(token()))
  await end(cookie)
  assert.deepEqual(await identifyCookie(cookie), NO_USER)
})

test('revoking the sessions of a user with that name revokes it too', async () => {
  await server.add('both')
  const cookie = cookieOf(await open(token({ sub: 'both', iat: nowSeconds() - 5 })))
  assert.equal((await identifyCookie(cookie)).name, 'both')
  await server.change('both', { password: 'new' })
  assert.deepEqual(await identifyCookie(cookie), NO_USER)
})

test('signing in with a token and out again, many times, ends the sessions of that token and nothing else', async () => {
  await server.add('mia')
  const own = cookieOf(await ask('POST', '/_session', { as: '', body: { name: 'mia', password: 'mia-pw' } }))
  const [used, other] = [token({ sub: 'mia', iat: nowSeconds() - 5 }), token({ sub: 'mia', iat: nowSeconds() - 4 })]
  const [kept, ofOther] = [cookieOf(await open(used)), cookieOf(await open(other))]
  for (let turn = 0; turn <= 100; turn += 1) await end(cookieOf(await open(used)))
  const refused = await open(used)
  assert.deepEqual(
    [refused.status, refused.json.reason],
    [401, 'Too many sessions of this token were ended. Use another token.'],
  )
  assert.deepEqual(await identifyCookie(kept), NO_USER)
  for (const cookie of [own, ofOther]) assert.equal((await identifyCookie(cookie)).name, 'mia')
})

test('a rejected token opens no session', async () => {
  const answer = await open(token({ exp: 1 }))
  assert.deepEqual([answer.status, answer.headers['set-cookie']], [401, undefined])
})

test('other credentials do not replace a name in the body', async () => {
  const answer = await ask('POST', '/_session', { as: 'admin:adminpw', body: {} })
  assert.deepEqual([answer.status, answer.json.reason], [400, 'request body must contain a username'])
  const cookie = cookieOf(await open(token()))
  const again = await ask('POST', '/_session', { as: '', body: {}, headers: { Cookie: `AuthSession=${cookie}` } })
  assert.equal(again.status, 400, 'not even a session that began with a token')
})

test('more roles than a cookie can hold are 400', async () => {
  const roles = Array.from({ length: 200 }, (_, i) => `a-role-with-a-long-name-${i}`)
  const answer = await open(token({ '_couchdb.roles': roles }))
  assert.deepEqual([answer.status, answer.json.reason], [400, 'The token has too many roles.'])
})

const WITHOUT_JWT = '{chttpd_auth, cookie_authentication_handler}, {chttpd_auth, default_authentication_handler}'

for (const [what, option, value] of [
  ['a claim more is required', 'jwt_auth/required_claims', 'exp, aud'],
  ['roles are read elsewhere', 'jwt_auth/roles_claim_path', 'groups'],
  ['tokens are not accepted any more', 'chttpd/authentication_handlers', WITHOUT_JWT],
] as const) {
  test(`the session ends when ${what}`, async () => {
    const [cookie, own] = [
      cookieOf(await open(token())),
      cookieOf(await ask('POST', '/_session', { as: '', body: { name: 'ada', password: 'ada-pw' } })),
    ]
    const path = `/_node/_local/_config/${option}`
    assert.equal((await ask('PUT', path, { body: JSON.stringify(value) })).status, 200)
    const after = [(await identifyCookie(cookie)).name, (await identifyCookie(own)).name]
    assert.equal((await ask('DELETE', path)).status, 200)
    assert.deepEqual(after, [null, 'ada'])
  })
}

test('the session ends when the key that verified the token is removed or replaced', async (t) => {
  const cardea = await createCardea({
    options: {
      store: { url: 'sqlite::memory:' },
      chttpd: { port: 0 },
      server: { endpoint: 'none' },
      chttpd_auth: { iterations: 1 },
      admins: { admin: 'adminpw' },
      auth: { 'min-password-length': 0 },
    },
  })
  t.after(() => cardea.close())
  const url = (await cardea.listen()).document[0] ?? ''
  const setKey = (secret: string) =>
    send(url, {
      method: 'PUT',
      path: '/_node/_local/_config/jwt_keys/hmac:_default',
      headers: ADMIN,
      body: JSON.stringify(Buffer.from(secret).toString('base64')),
    })
  assert.equal((await setKey(SECRET)).status, 200)
  const opened = await send(url, { method: 'POST', path: '/_session', headers: { Authorization: `Bearer ${token()}` } })
  const headers = { Cookie: (opened.lines['set-cookie']?.[0] ?? '').split(';')[0] ?? '' }
  const askName = async () => JSON.parse((await send(url, { path: '/_session', headers })).body).userCtx.name
  assert.equal(await askName(), 'jo')
  await setKey('another-shared-secret-of-enough-bytes')
  assert.equal(await askName(), null)
})
