// `[jwt_key_limits]`: what a JWT may say, by the key that verifies it.
import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { renderUtcTime } from '../../../src/base/clock.ts'
import { send } from '../../support/request.ts'
import { makeFolder } from '../../support/scope.ts'
import { startServer } from '../../support/server.ts'
import { openStream } from '../../support/upstream.ts'
import { waitUntil } from '../../support/wait.ts'
import { cookieOf, createSessionServer, mintJwt, NO_USER, nowSeconds } from './session-server.ts'

const SECRET = 'a-shared-secret-of-enough-bytes-for-hs256'
const text = Buffer.from(SECRET).toString('base64')
const server = createSessionServer({
  jwt_keys: Object.fromEntries(
    ['free', 'open', 'phone', 'admin', 'old', 'late', 'soon', 'feed'].map((kid) => [`hmac:${kid}`, text]),
  ),
  jwt_key_limits: {
    'hmac:phone': 'names=ada,phone-* roles=editor,team-*',
    'hmac:admin': 'roles=_admin',
    'hmac:old': 'until=2020-01-01',
    'hmac:late': 'until=2120-01-01',
  },
})
const { ask, identifyCookie, started } = server

const withToken = (kid: string, claims: object) => {
  const token = mintJwt({ exp: nowSeconds() + 600, ...claims }, SECRET, { kid })
  return { as: '', headers: { Authorization: `Bearer ${token}` } }
}
const identify = async (kid: string, sub: string, roles: readonly string[] = []) => {
  const { status, json } = await ask('GET', '/_session', withToken(kid, { sub, '_couchdb.roles': roles }))
  return status === 200 ? [json.userCtx.name, json.userCtx.roles] : [status, json.reason]
}

const ALL = ['_admin', '_metrics', 'editor', 'team-a', 'other']
const NOT_FOR = [401, 'The key of this token is not for this name.']

for (const [what, kid, name, expected] of [
  ['a key without a line is as free as before', 'free', 'root', ['root', ALL]],
  ['roles that are not listed are dropped', 'phone', 'ada', ['ada', ['editor', 'team-a']]],
  ['a name is accepted by its beginning', 'phone', 'phone-7', ['phone-7', ['editor', 'team-a']]],
  ['another name is rejected', 'phone', 'adam', NOT_FOR],
  ['_admin is kept if it is listed', 'admin', 'root', ['root', ['_admin']]],
  ['an expired key verifies nothing', 'old', 'ada', [401, 'The key of this token has expired.']],
  ['a key that expires later verifies', 'late', 'ada', ['ada', []]],
] as const)
  test(what, async () => assert.deepEqual(await identify(kid, name, ALL), expected))

test('a dropped _admin makes no administrator', async () => {
  const claims = { sub: 'ada', '_couchdb.roles': ['_admin'] }
  assert.equal((await ask('GET', '/_node/_local/_config', withToken('phone', claims))).status, 401)
  assert.equal((await ask('GET', '/_node/_local/_config', withToken('admin', claims))).status, 200)
})

test('a change of the limits counts at once, for tokens and for sessions that were opened with them', async () => {
  const change = (line: string) =>
    ask('PUT', '/_node/_local/_config/jwt_key_limits/hmac:open', { body: JSON.stringify(line) })
  const opened = await ask('POST', '/_session', withToken('open', { sub: 'ada', '_couchdb.roles': ALL }))
  assert.deepEqual((await identifyCookie(cookieOf(opened))).roles, ALL)
  assert.equal((await change('names=ada')).status, 200)
  assert.deepEqual(await identify('open', 'ada', ALL), ['ada', []])
  assert.deepEqual(await identify('open', 'phone-7', ALL), NOT_FOR)
  assert.deepEqual(await identifyCookie(cookieOf(opened)), NO_USER)
  for (const wrong of ['names', 'name=ada', '']) assert.equal((await change(wrong)).status, 400, wrong)
})

const MISSING = /\[jwt_key_limits\] rsa:phone: there is no such key in \[jwt_keys\]; did you mean hmac:phone\?/

test('limits of no key prevent a start while another key has none', async (t) => {
  const start = (limits: Readonly<Record<string, string>>) =>
    startServer(t, { jwt_keys: { 'hmac:phone': text }, jwt_key_limits: limits })
  await assert.rejects(start({ 'rsa:phone': 'names=ada' }), MISSING)
  await assert.rejects(start({ 'hmac:phones': 'names=ada' }), /did you mean hmac:phone\?/)
  // no key is without limits, such as after a key was removed
  await start({ 'hmac:phone': 'names=ada', 'hmac:removed': 'names=ada' })
})

test('limits of a key of another kind are refused at run time', async () => {
  const put = (name: string) =>
    ask('PUT', `/_node/_local/_config/jwt_key_limits/${name}`, { body: JSON.stringify('names=ada') })
  const { status, json } = await put('rsa:free')
  assert.equal(status, 400)
  assert.match(json.reason, /there is no such key in \[jwt_keys\]; did you mean hmac:free\?/)
  assert.equal((await put('hmac:later')).status, 200, 'the limits before their key')
})

const present = (token: string) => ask('GET', '/_session', { as: '', headers: { Authorization: `Bearer ${token}` } })
const mint = (claims: object, header: object) => mintJwt({ exp: nowSeconds() + 600, ...claims }, SECRET, { ...header })

for (const [what, header] of [
  ['no kid', {}],
  ['a kid in other case', { kid: 'PHONE' }],
  ['a kid with a blank', { kid: 'phone ' }],
  ['a kid with its kind', { kid: 'hmac:phone' }],
  ['a kid that is no text', { kid: ['phone'] }],
  ['a kid of Object.prototype', { kid: '__proto__' }],
  ['an algorithm of another kind', { kid: 'phone', alg: 'RS256' }],
  ['no algorithm', { kid: 'phone', alg: 'none' }],
  ['another algorithm than that of its signature', { kid: 'phone', alg: 'HS512' }],
] as const)
  test(`a token with ${what} is rejected, and so evades no limits`, async () => {
    const { status } = await present(mint({ sub: 'root', '_couchdb.roles': ['_admin'] }, header))
    assert.ok(status === 400 || status === 401, String(status))
  })

for (const name of ['ada ', 'Ada', 'ada\u0000', 'phone', 'Phone-1', '', ['ada'], 7, null])
  test(`the name ${JSON.stringify(name)} is not that of a limit`, async () => {
    const { status, body } = await present(mint({ sub: name, '_couchdb.roles': [] }, { kid: 'phone' }))
    assert.ok(status === 400 || status === 401, body)
  })

for (const [roles, kept] of [
  ['editor,_admin', ['editor']],
  [['team-_admin', '_admin', '_Admin'], ['team-_admin']],
  [['team-a,_admin'], undefined],
  [[' _admin'], undefined],
  [[['_admin']], undefined],
  [{ 0: '_admin', length: 1 }, undefined],
] as const)
  test(`of the roles ${JSON.stringify(roles)} those of the limits are kept`, async () => {
    const { status, json } = await present(mint({ sub: 'ada', '_couchdb.roles': roles }, { kid: 'phone' }))
    assert.deepEqual(status === 200 ? json.userCtx.roles : undefined, kept)
    if (kept === undefined) assert.ok(status === 400 || status === 401)
  })

test('limits hold for roles and claims that options name', async (t) => {
  const { document } = await startServer(t, {
    jwt_keys: { 'hmac:phone': text },
    jwt_key_limits: { 'hmac:phone': 'names=ada roles=editor' },
    jwt_auth: { required_claims: 'exp, iss', roles_claim_path: 'realm.roles' },
  })
  const identifyWith = async (claims: object) => {
    const token = mint({ iss: 'x', realm: { roles: ['editor', '_admin'] }, ...claims }, { kid: 'phone' })
    const { status, json } = await send(document, { path: '/_session', headers: { Authorization: `Bearer ${token}` } })
    return status === 200 ? json.userCtx.roles : status
  }
  assert.deepEqual(await identifyWith({ sub: 'ada' }), ['editor'])
  assert.equal(await identifyWith({ sub: 'root' }), 401)
  assert.equal(await identifyWith({ sub: 'ada', iss: undefined }), 404)
})

test('limits hold for keys of a set', async (t) => {
  const set = join(makeFolder(t), 'keys.json')
  const k = Buffer.from(SECRET).toString('base64url')
  writeFileSync(set, JSON.stringify({ keys: ['phone', 'free'].map((kid) => ({ kty: 'oct', alg: 'HS256', kid, k })) }))
  const { document } = await startServer(t, {
    jwt_keys: { 'jwks:devices': set },
    jwt_key_limits: { 'hmac:phone': 'names=ada' },
  })
  const identifyAs = async (kid: string, sub: string) => {
    const token = mint({ sub, '_couchdb.roles': ['_admin'] }, { kid })
    const { status, json } = await send(document, { path: '/_session', headers: { Authorization: `Bearer ${token}` } })
    return status === 200 ? json.userCtx.roles : status
  }
  assert.deepEqual(await identifyAs('phone', 'ada'), [])
  assert.equal(await identifyAs('phone', 'root'), 401)
  assert.deepEqual(await identifyAs('free', 'root'), ['_admin'])
})

test('a key with limits opens nothing at the multi-model door', async (t) => {
  const { multiModel } = await startServer(t, { jwt_keys: { 'hmac:late': text } })
  const Authorization = `Bearer ${mint({ sub: 'ada', preferred_username: 'ada', iss: 'arangodb' }, { kid: 'late' })}`
  assert.equal((await send(multiModel, { path: '/_api/database', headers: { Authorization } })).status, 401)
})

test('a user of the name is not reached with a key: its account cannot be changed', async () => {
  await server.add('ada', { roles: ['editor', 'secret'] })
  const token = mint({ sub: 'ada', '_couchdb.roles': ['secret'] }, { kid: 'phone' })
  const as = { as: '', headers: { Authorization: `Bearer ${token}` } }
  for (const [method, path, body] of [
    ['POST', '/tokens', { name: 'mine', expires: '2120-01-01' }],
    ['PUT', '/password', { password: 'another-password' }],
    ['POST', '/totp', {}],
    ['DELETE', '', {}],
  ] as const) {
    const { status } = await ask(method, `/_cardea/account${path}`, { ...as, body })
    assert.ok(status === 401 || status === 403, `${method} ${path}: ${status}`)
  }
  assert.deepEqual((await ask('GET', '/_session', as)).json.userCtx.roles, [])
})

/** A line of the limits, set while the server runs. */
const limit = async (kid: string, line: string) => {
  const reply = await ask('PUT', `/_node/_local/_config/jwt_key_limits/hmac:${kid}`, { body: JSON.stringify(line) })
  assert.equal(reply.status, 200, reply.body)
}
/** A token that outlives the limits of its key. */
const ofAdmin = (kid: string) => withToken(kid, { sub: 'ops', '_couchdb.roles': ['_admin'], exp: nowSeconds() + 7200 })
const openFeed = async (kid: string) =>
  openStream((await started).url, '/_users/_changes?feed=continuous&since=now&heartbeat=60000', ofAdmin(kid).headers)

test('feeds and sessions end with the key that opened them', async (t) => {
  await limit('soon', `roles=_admin until=${renderUtcTime(nowSeconds() + 600)}`)
  const feed = await openFeed('soon')
  const opened = await ask('POST', '/_session', ofAdmin('soon'))
  assert.equal((await identifyCookie(cookieOf(opened))).name, 'ops')
  const systemNow = Date.now
  t.mock.method(Date, 'now', () => systemNow() + 601_000)
  assert.equal(await feed.ended, 'broken')
  await waitUntil(async () => (await identifyCookie(cookieOf(opened))).name === null)
  const { status, json } = await ask('GET', '/_session', ofAdmin('soon'))
  assert.deepEqual([status, json.reason], [401, 'The key of this token has expired.'])
})

test('a feed ends when the limits of its key change', async () => {
  await limit('feed', 'roles=_admin')
  const feed = await openFeed('feed')
  await limit('feed', 'names=ada roles=_admin')
  assert.equal(await feed.ended, 'broken')
})
