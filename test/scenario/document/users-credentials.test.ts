// What each kind of credential may change in the user document of its name.
import assert from 'node:assert/strict'
import { createHmac } from 'node:crypto'
import { request } from 'node:http'
import { test } from 'node:test'
import type { Reply, RequestDetails } from '../../support/request.ts'
import { ANONYMOUS, assertRefused, createUsersServer, pathOf } from './users-server.ts'

const SECRET = 'the secret of a token issuer'
const server = createUsersServer({
  jwt_keys: { 'hmac:_default': Buffer.from(SECRET).toString('base64') },
  chttpd_auth: { allow_sign_up: true },
})
const { ask, add, get, signIn } = server

const encode = (value: object): string => Buffer.from(JSON.stringify(value)).toString('base64url')

function toToken(claims: object): string {
  const input = `${encode({ alg: 'HS256', typ: 'JWT' })}.${encode({ exp: Math.floor(Date.now() / 1000) + 60, ...claims })}`
  return `${input}.${createHmac('sha256', SECRET).update(input).digest('base64url')}`
}

const byToken = (claims: object): RequestDetails => ({
  as: ANONYMOUS,
  headers: { Authorization: `Bearer ${toToken(claims)}` },
})

async function openSession(options: RequestDetails): Promise<RequestDetails> {
  const answer = await ask('POST', '/_session', options)
  assert.equal(answer.status, 200, answer.body)
  const [cookie = ''] = (answer.lines['set-cookie']?.[0] ?? '').split(';')
  return { as: ANONYMOUS, headers: { Cookie: cookie } }
}

const openByPassword = (name: string): Promise<RequestDetails> =>
  openSession({ as: ANONYMOUS, body: { name, password: `${name}-pw` } })

async function change(name: string, members: object, options: RequestDetails): Promise<Reply> {
  const { json } = await get(name)
  return ask('PUT', pathOf(name), { ...options, body: { ...json, ...members } })
}

const NEEDS_PASSWORD =
  'Sign in with the password to change it, the second factor or access tokens, to end other sessions, or to delete or deactivate the account.'

test('a token can change the document of its user, but not password or second factor', async () => {
  await add('ada')
  const token = byToken({ sub: 'ada' })
  assert.ok('derived_key' in (await get('ada', token)).json)
  assert.equal((await change('ada', { nick: 'A' }, token)).status, 201)
  for (const members of [{ password: 'new' }, { totp: { key: 'JBSWY3DPEHPK3PXP' } }, { _deleted: true }]) {
    assertRefused(await change('ada', members, token), 403, 'forbidden', NEEDS_PASSWORD)
  }
  const { json } = await get('ada')
  assertRefused(await ask('DELETE', `${pathOf('ada')}?rev=${json._rev}`, token), 403, 'forbidden', NEEDS_PASSWORD)
  assert.equal(await signIn('ada', 'ada-pw'), 200)
})

test('a session opened with the password can change both, and ends with the password', async () => {
  await add('eve')
  const session = await openByPassword('eve')
  assert.equal((await change('eve', { password: 'new' }, session)).status, 201)
  assertRefused(await get('eve', session), 404, 'not_found', 'missing')
  assert.deepEqual([await signIn('eve', 'eve-pw'), await signIn('eve', 'new')], [401, 200])
})

test('a token for a new name can create its document, but not a password', async () => {
  const token = byToken({ sub: 'zed' })
  const body = { name: 'zed', type: 'user', roles: [], password: 'x' }
  assertRefused(await ask('PUT', pathOf('zed'), { ...token, body }), 403, 'forbidden', NEEDS_PASSWORD)
  assert.equal((await ask('PUT', pathOf('zed'), { ...token, body: { ...body, password: undefined } })).status, 201)
})

test('a token with the role _admin acts as an administrator', async () => {
  const token = byToken({ sub: 'ops', '_couchdb.roles': ['_admin'] })
  assert.equal((await ask('GET', '/_users/_all_docs', token)).status, 200)
  assert.equal((await change('ada', { roles: ['x'] }, token)).status, 201)
})

test('an administrator token can set the passwords of other users, not that of its own name', async () => {
  const token = byToken({ sub: 'admin', '_couchdb.roles': ['_admin'] })
  const put = (name: string, options: RequestDetails) =>
    ask('PUT', `/_node/_local/_config/admins/${name}`, { ...options, body: '"another-pw"' })
  assertRefused(await put('admin', token), 403, 'forbidden', NEEDS_PASSWORD)
  assertRefused(await ask('DELETE', '/_node/_local/_config/admins/admin', token), 403, 'forbidden', NEEDS_PASSWORD)
  assert.equal((await put('second', token)).status, 200)
  await add('max')
  assert.equal((await change('max', { password: 'new' }, token)).status, 201)
  assert.equal(await signIn('max', 'new'), 200)
})

test('an administrator token cannot change the stored password of its own name', async () => {
  await add('kim')
  const token = byToken({ sub: 'kim', '_couchdb.roles': ['_admin'] })
  const hash = 'ab'.repeat(32)
  const HASHES: readonly object[] = [
    { derived_key: hash },
    { salt: 'another' },
    { iterations: 5 },
    { password_scheme: 'simple', salt: 's', password_sha: hash },
  ]
  for (const members of HASHES) assertRefused(await change('kim', members, token), 403, 'forbidden', NEEDS_PASSWORD)
  const { json: bare } = await get('kim')
  const { _id, _rev, name, type, roles } = bare
  assertRefused(
    await ask('PUT', pathOf('kim'), { ...token, body: { _id, _rev, name, type, roles } }),
    403,
    'forbidden',
    NEEDS_PASSWORD,
  )
  const bulk = await ask('POST', '/_users/_bulk_docs', { ...token, body: { docs: [{ ...bare, derived_key: hash }] } })
  assert.equal(bulk.json[0].reason, NEEDS_PASSWORD)
  assert.equal((await change('kim', { nick: 'K' }, token)).status, 201)
  assert.equal(await signIn('kim', 'kim-pw'), 200)
  await add('ned')
  assert.equal((await change('ned', { derived_key: hash }, token)).status, 201, 'that of another user')
})

test('an administrator token can neither import nor deactivate the account of its own name', async () => {
  await add('lou')
  const token = byToken({ sub: 'lou', '_couchdb.roles': ['_admin'] })
  const API = '/_cardea/api'
  const record = { name: 'lou', password: { clear: 'stolen' } }
  const body = { users: [record, { name: 'new one' }], replace: true }
  const imported = await ask('POST', `${API}/transfer/users`, { ...token, body })
  assert.deepEqual(imported.json, { outcomes: [{ kind: 'refused', reason: NEEDS_PASSWORD }, { kind: 'created' }] })
  const refused = await ask('PUT', `${API}/users/lou/active`, { ...token, body: { active: false } })
  assert.deepEqual([refused.status, refused.json.error], [403, 'password_required'])
  assert.equal((await ask('PUT', `${API}/users/lou/active`, { ...token, body: { active: true } })).status, 200)
  assert.equal(await signIn('lou', 'lou-pw'), 200)
  const kept = await ask('POST', `${API}/transfer/users`, { ...token, body: { users: [record] } })
  assert.deepEqual(kept.json, { outcomes: [{ kind: 'kept' }] })
  const byPassword = await ask('POST', `${API}/transfer/users`, { body })
  assert.equal(byPassword.json.outcomes[0].kind, 'replaced', 'the record of another user')
})

test('a session older than auth.reauthenticate-after also needs the current password as Basic', async () => {
  await add('fay')
  const session = await openByPassword('fay')
  const setAge = (text: string) =>
    ask('PUT', '/_node/_local/_config/auth/reauthenticate-after', { body: JSON.stringify(text) })
  assert.equal((await setAge('3600')).status, 200)
  // the password that she has already ends no session
  assert.equal((await change('fay', { password: 'fay-pw' }, session)).status, 201)
  assert.equal((await setAge('1')).status, 200)
  for (;;) {
    const { status } = await change('fay', { password: 'fay-pw' }, session)
    if (status === 403) break
    assert.equal(status, 201)
  }
  const again = await change('fay', { password: 'new' }, session)
  assert.deepEqual([again.status, again.json.error], [403, 'forbidden'])
  assert.match(again.json.reason, /send the current password as well/)
  const withPassword = (password: string): RequestDetails => ({
    ...session,
    headers: { ...session.headers, Authorization: `Basic ${Buffer.from(`fay:${password}`).toString('base64')}` },
  })
  assert.equal((await change('fay', { password: 'new' }, withPassword('wrong'))).status, 403)
  assert.equal((await change('fay', { password: 'new' }, withPassword('fay-pw'))).status, 201)
  assert.equal((await setAge('0')).status, 200)
})

/** Resolves when the feed has started. `ended` resolves with how it ended. */
async function openFeed({ headers = {} }: RequestDetails): Promise<{ ended: Promise<string> }> {
  const { url } = await server.started
  return new Promise((resolve, reject) => {
    const path = '/_users/_changes?feed=continuous&since=now&heartbeat=60000'
    request(`${url}${path}`, { headers, agent: false }, (response) => {
      assert.equal(response.statusCode, 200)
      const ended = new Promise<string>((tell) => {
        response
          .resume()
          .on('end', () => tell('whole'))
          .on('error', () => tell('cut'))
      })
      resolve({ ended })
    })
      .on('error', reject)
      .end()
  })
}

test('a feed is cut when its session ends, and a feed of another session of that user continues', async () => {
  const first = await openSession({ as: ANONYMOUS, body: { name: 'admin', password: 'adminpw' } })
  const second = await openSession({ as: ANONYMOUS, body: { name: 'admin', password: 'adminpw' } })
  const [one, other] = [await openFeed(first), await openFeed(second)]
  assert.equal((await ask('DELETE', '/_session', first)).status, 200)
  assert.equal(await one.ended, 'cut')
  const still = Symbol('still open')
  assert.equal(await Promise.race([other.ended, Promise.resolve(still)]), still)
})

test('a feed is cut when its token expires', async () => {
  const exp = Math.ceil(Date.now() / 1000) + 1
  const feed = await openFeed(byToken({ sub: 'ops', '_couchdb.roles': ['_admin'], exp }))
  assert.equal(await feed.ended, 'cut')
})
