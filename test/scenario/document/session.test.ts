import assert from 'node:assert/strict'
import { before, test } from 'node:test'
import { gzipSync } from 'node:zlib'
import { createSessionServer, HANDLERS, lineOf, NO_USER } from './session-server.ts'
import { ADMIN } from './users-server.ts'

const { ask, add, change, post, fetchIdentity, identifyCookie, begin, end, started } = createSessionServer()
const NAMED = createSessionServer({ chttpd_auth: { authentication_db: '_users' } })

before(async () => {
  await add('ada', { roles: ['math'] })
  await add('bob')
})

const CLEARING = /^AuthSession=; Version=1; Expires=[^;]*GMT; Max-Age=600; Path=\/; HttpOnly$/
const SETTING = /^AuthSession=[\w-]+; Version=1; Expires=[^;]*GMT; Max-Age=600; Path=\/; HttpOnly$/
const WRONG = { error: 'unauthorized', reason: 'Name or password is incorrect.' }

test('GET /_session returns the user, the handlers in order and the one that authenticated', async () => {
  const { status, json } = await ask('GET', '/_session')
  assert.equal(status, 200)
  assert.deepEqual(json, {
    ok: true,
    userCtx: { name: 'admin', roles: ['_admin'] },
    info: { authentication_handlers: HANDLERS, authenticated: 'default' },
  })
})

test('info.authenticated is absent for an anonymous request', async () => {
  const { json } = await ask('GET', '/_session', { as: '' })
  assert.deepEqual(json.info, { authentication_handlers: HANDLERS })
})

test('info.authentication_db is present, and last, if the option is set', async () => {
  const { body } = await NAMED.ask('GET', '/_session')
  assert.match(body, /"authenticated":"default","authentication_db":"_users"\}\}\n$/)
})

test('HEAD /_session is GET without the body', async () => {
  const answer = await ask('HEAD', '/_session')
  assert.deepEqual([answer.status, answer.body], [200, ''])
  assert.equal(answer.headers['content-type'], 'application/json')
})

test('basic=true rejects an anonymous request and accepts a user', async () => {
  const { status, json } = await ask('GET', '/_session?basic=true', { as: '' })
  assert.deepEqual([status, json], [401, { error: 'unauthorized', reason: 'Please login.' }])
  assert.equal((await ask('GET', '/_session?basic=true')).status, 200)
  assert.equal((await ask('GET', '/_session?basic=1', { as: '' })).status, 200)
})

test('a sign-in sets the cookie and returns name and roles', async () => {
  const answer = await post({ name: 'ada', password: 'ada-pw' })
  assert.deepEqual([answer.status, answer.json], [200, { ok: true, name: 'ada', roles: ['math'] }])
  assert.match(lineOf(answer), SETTING)
})

test('an administrator can open a session', async () => {
  const cookie = await begin('admin', 'adminpw')
  assert.deepEqual(await identifyCookie(cookie), { name: 'admin', roles: ['_admin'], by: 'cookie' })
})

interface Sent {
  readonly what: string
  readonly type?: string
  readonly body: string
}

const FORM = 'application/x-www-form-urlencoded'
const ACCEPTED: readonly Sent[] = [
  { what: 'a form', type: FORM, body: 'name=bob&password=bob-pw' },
  { what: 'a form with a charset', type: `${FORM}; charset=utf-8`, body: 'name=bob&password=bob-pw' },
  { what: 'a form with username', type: FORM, body: 'username=bob&password=bob-pw' },
  { what: 'a form split at semicolons', type: FORM, body: 'name=bob;password=bob-pw' },
  { what: 'a percent-encoded form', type: FORM, body: 'n%61me=b%6Fb&password=bob%2Dpw' },
  { what: 'a form with a repeated field: the first counts', type: FORM, body: 'name=bob&password=bob-pw&password=x' },
  { what: 'JSON with name', body: '{"name":"bob","password":"bob-pw"}' },
  { what: 'JSON with username', body: '{"username":"bob","password":"bob-pw"}' },
  { what: 'JSON with name and username alike', body: '{"name":"bob","username":"bob","password":"bob-pw"}' },
  { what: 'JSON with another member', body: '{"name":"bob","password":"bob-pw","remember":"me"}' },
  { what: 'a content type in another case', type: 'Application/JSON', body: '{"name":"bob","password":"bob-pw"}' },
]

for (const { what, type, body } of ACCEPTED) {
  test(`a sign-in with ${what}`, async () => {
    const answer = await post(body, { headers: { 'Content-Type': type ?? 'application/json' } })
    assert.deepEqual([answer.status, answer.json], [200, { ok: true, name: 'bob', roles: [] }])
  })
}

const MUST_BE_STRINGS = 'every member of the request body must be a string'
const REFUSED: readonly (Sent & { readonly reason: string })[] = [
  { what: 'no name', body: '{}', reason: 'request body must contain a username' },
  { what: 'an empty form', type: FORM, body: '', reason: 'request body must contain a username' },
  { what: 'a form without a name', type: FORM, body: 'password=x', reason: 'request body must contain a username' },
  { what: 'two names', body: '{"name":"a","username":"b"}', reason: 'request body contains different usernames' },
  { what: 'broken JSON', body: '{"name":', reason: 'invalid UTF-8 JSON' },
  { what: 'an empty body', body: '', reason: 'invalid UTF-8 JSON' },
  { what: 'a list', body: '[]', reason: 'Request body must be a JSON object' },
  { what: 'null', body: 'null', reason: 'Request body must be a JSON object' },
  { what: 'a number as code', body: '{"name":"bob","token":123456}', reason: MUST_BE_STRINGS },
  { what: 'an unknown member that is a number', body: '{"name":"bob","x":1}', reason: MUST_BE_STRINGS },
  { what: 'a repeated member', body: '{"name":"a","name":"b"}', reason: 'request body names a member twice' },
  {
    what: 'a form with invalid percent-encoding',
    type: FORM,
    body: 'name=%zz',
    reason: 'the form is not percent-encoded UTF-8',
  },
  { what: 'a form that is not UTF-8', type: FORM, body: 'name=%ff', reason: 'the form is not percent-encoded UTF-8' },
]

for (const { what, type, body, reason } of REFUSED) {
  test(`a sign-in with ${what} is 400`, async () => {
    const answer = await post(body, {
      headers: { 'Content-Type': type ?? 'application/json', 'Content-Length': String(body.length) },
    })
    assert.deepEqual([answer.status, answer.json], [400, { error: 'bad_request', reason }])
    assert.equal(answer.headers['set-cookie'], undefined)
  })
}

for (const type of ['text/plain', 'multipart/form-data; boundary=x', 'application/json5', '']) {
  test(`a sign-in with content type ${type || '(none)'} is 415`, async () => {
    const { status, json } = await post('name=bob', { headers: { 'Content-Type': type } })
    const reason = "Content-Type must be 'application/x-www-form-urlencoded' or 'application/json'"
    assert.deepEqual([status, json], [415, { error: 'bad_content_type', reason }])
  })
}

async function postBytes(bytes: Buffer, headers: Record<string, string>) {
  const { url } = await started
  return fetch(`${url}/_session`, {
    method: 'POST',
    body: new Uint8Array(bytes),
    headers: { 'Content-Type': 'application/json', ...headers },
  })
}

test('a body over 1 MiB is 413', async () => {
  const body = Buffer.from(JSON.stringify({ name: 'bob', password: 'x'.repeat(1 << 20) }))
  const answer = await postBytes(body, {})
  assert.deepEqual(
    [answer.status, await answer.json()],
    [413, { error: 'too_large', reason: 'the request entity is too large' }],
  )
})

test('a gzipped body is read, and one that decodes to more than the limit is 413', async () => {
  await add('zip')
  const zipped = gzipSync(JSON.stringify({ name: 'zip', password: 'zip-pw' }))
  assert.equal((await postBytes(zipped, { 'Content-Encoding': 'gzip' })).status, 200)
  const bomb = gzipSync(Buffer.alloc(64 << 20))
  assert.equal((await postBytes(bomb, { 'Content-Encoding': 'gzip' })).status, 413)
})

test('the content encoding of a form is ignored', async () => {
  await add('form')
  const headers = { 'Content-Type': 'application/x-www-form-urlencoded', 'Content-Encoding': 'gzip' }
  const form = 'name=form&password=form-pw'
  assert.equal((await postBytes(Buffer.from(form), headers)).status, 200)
  assert.equal((await postBytes(gzipSync(form), headers)).status, 400)
})

test('an invalid gzip body is 400, another encoding 415', async () => {
  const broken = await postBytes(Buffer.from('{}'), { 'Content-Encoding': 'gzip' })
  assert.deepEqual(
    [broken.status, await broken.json()],
    [400, { error: 'bad_request', reason: 'Request body is not properly gzipped.' }],
  )
  const foreign = await postBytes(Buffer.from('{}'), { 'Content-Encoding': 'br' })
  assert.deepEqual(
    [foreign.status, await foreign.json()],
    [415, { error: 'bad_content_type', reason: 'br is not a supported content encoding.' }],
  )
})

for (const [what, credentials] of [
  ['a wrong password', { name: 'ada', password: 'nope' }],
  ['no password', { name: 'ada' }],
  ['an unknown name', { name: 'unknown-user', password: 'x' }],
  ['an empty name', { name: '', password: '' }],
  ['an invalid name', { name: 'a:b\u0000', password: 'x' }],
  ['half a surrogate pair', { name: '\ud800', password: '\ud800' }],
] as const) {
  test(`${what} is 401, clears the cookie and sends no challenge`, async () => {
    const answer = await post(credentials)
    assert.deepEqual([answer.status, answer.json], [401, WRONG])
    assert.match(lineOf(answer), CLEARING)
    assert.equal(answer.headers['www-authenticate'], undefined)
  })
}

test('DELETE /_session always succeeds and clears the cookie', async () => {
  const answer = await ask('DELETE', '/_session', { as: '' })
  assert.deepEqual([answer.status, answer.json], [200, { ok: true }])
  assert.match(lineOf(answer), CLEARING)
})

test('DELETE /_session revokes all copies of the cookie', async () => {
  await add('eve')
  const [cookie, other] = [await begin('eve'), await begin('eve')]
  assert.equal((await identifyCookie(cookie)).name, 'eve')
  await end(cookie)
  assert.deepEqual(await identifyCookie(cookie), NO_USER)
  assert.equal((await identifyCookie(other)).name, 'eve', 'another session of the same user goes on')
})

test('DELETE /_session revokes the cookie even if another credential decided the identity', async () => {
  const cookie = await begin('ada')
  const answer = await end(cookie, { as: ADMIN })
  assert.equal(answer.status, 200)
  assert.deepEqual(await identifyCookie(cookie), NO_USER)
})

test('a password change ends all sessions, that of the request included', async () => {
  await add('chg')
  const cookies = [await begin('chg'), await begin('chg')]
  await change('chg', { password: 'new' })
  for (const cookie of cookies) assert.deepEqual(await identifyCookie(cookie), NO_USER)
  assert.equal((await identifyCookie(await begin('chg', 'new'))).name, 'chg', 'in the same second a new one begins')
})

test('a password change that keeps the salt ends all sessions too', async () => {
  await add('salty')
  const cookie = await begin('salty')
  await change('salty', { password: 'new', preserve_salt: true })
  assert.deepEqual(await identifyCookie(cookie), NO_USER)
})

test('deactivating a user ends its sessions and rejects sign-ins', async () => {
  await add('idle')
  const cookie = await begin('idle')
  const answer = await ask('PUT', '/_cardea/api/users/idle/active', { body: { active: false } })
  assert.equal(answer.status, 200, answer.body)
  assert.deepEqual(await identifyCookie(cookie), NO_USER)
  assert.deepEqual((await post({ name: 'idle', password: 'idle-pw' })).json, WRONG)
})

test('roles are the current ones, not those at the sign-in', async () => {
  await add('rose')
  const cookie = await begin('rose')
  await change('rose', { roles: ['new'] })
  assert.deepEqual((await identifyCookie(cookie)).roles, ['new'])
})

test('other methods are 405', async () => {
  for (const method of ['PUT', 'PATCH', 'OPTIONS']) {
    const answer = await ask(method, '/_session', { as: '' })
    assert.deepEqual([answer.status, answer.headers.allow], [405, 'GET,HEAD,POST,DELETE'])
    assert.equal(answer.json.reason, 'Only GET,HEAD,POST,DELETE allowed')
  }
})

test('paths below /_session require an administrator', async () => {
  assert.equal((await ask('GET', '/_session/x', { as: '' })).status, 401)
})

test('a Basic request sets no cookie', async () => {
  assert.equal((await ask('GET', '/_session', { as: 'ada:ada-pw' })).headers['set-cookie'], undefined)
  assert.equal((await fetchIdentity({ as: 'ada:ada-pw' })).by, 'default')
})
