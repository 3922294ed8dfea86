import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ADMIN, assertRefused, createUsersServer, pathOf } from './users-server.ts'

const RULES = '[{".{4,}", "Four characters at least."}]'
const { ask, add, get, change, signIn } = createUsersServer({ chttpd_auth: { password_regexp: RULES } })

test('a password is hashed, never stored in plain text, and works at once', async () => {
  await add('ada', { password: 'analytical' })
  assert.equal(await signIn('ada', 'analytical'), 200)
  const { json } = await change('ada', { password: 'engine' })
  assert.match(json.rev, /^2-/)
  assert.deepEqual([await signIn('ada', 'analytical'), await signIn('ada', 'engine')], [401, 200])
})

test('writing a document back unchanged keeps its revision and its password', async () => {
  await add('same')
  const { json } = await get('same')
  const answer = await ask('PUT', pathOf('same'), { body: json })
  assert.deepEqual([answer.status, answer.json.rev], [201, json._rev])
  assert.equal(await signIn('same', 'same-pw'), 200)
})

test('a stored password of another server can be written, and is kept unchanged', async () => {
  const members = {
    password: undefined,
    password_scheme: 'pbkdf2',
    pbkdf2_prf: 'sha',
    iterations: 10,
    salt: '1112283cf988a34f124200a050d308a1',
    derived_key: 'e579375db0e0c6a6fc79cd9e36a36859f71575c3',
  }
  await add('brought', members)
  const { json } = await get('brought')
  assert.equal(json.derived_key, members.derived_key)
  assert.equal(await signIn('brought', 'apple'), 200)
})

test('a stored password that cannot be verified gets the reply of an unknown name', async () => {
  const members = { password: undefined, password_scheme: 'pbkdf2', iterations: 10, salt: 'aa', derived_key: '00' }
  await add('odd', { ...members, pbkdf2_prf: 'md5' })
  await add('zero', { ...members, iterations: 0 })
  for (const name of ['odd', 'zero', 'nonexistent']) {
    assertRefused(
      await ask('GET', '/_session', { as: `${name}:apple` }),
      401,
      'unauthorized',
      'Name or password is incorrect.',
    )
  }
})

test('a plain-text password replaces a stored one in the same document', async () => {
  await add('both')
  const { json: before } = await get('both')
  await change('both', { password: 'fresh' })
  const { json: after } = await get('both')
  assert.notEqual(after.salt, before.salt)
  assert.deepEqual([await signIn('both', 'both-pw'), await signIn('both', 'fresh')], [401, 200])
})

test('preserve_salt keeps the salt and is not stored', async () => {
  await add('salty')
  const { json: before } = await get('salty')
  await change('salty', { password: 'fresh', preserve_salt: true })
  const { json: after } = await get('salty')
  assert.equal(after.salt, before.salt)
  assert.notEqual(after.derived_key, before.derived_key)
  assert.equal('preserve_salt' in after, false)
  assert.equal(await signIn('salty', 'fresh'), 200)
})

test('password: null is an ordinary member, not a password', async () => {
  await add('none', { password: null })
  const { json } = await get('none')
  assert.equal(json.password, null)
  assert.equal('derived_key' in json, false)
  assert.equal(await signIn('none', ''), 401)
})

test('an administrator can remove a password by leaving it out', async () => {
  await add('bare')
  const { json } = await get('bare')
  const body = { _rev: json._rev, name: 'bare', type: 'user', roles: [] }
  assert.equal((await ask('PUT', pathOf('bare'), { body })).status, 201)
  assert.equal(await signIn('bare', 'bare-pw'), 401)
})

test('password rules apply to administrators too, and not to stored passwords', async () => {
  const reason = 'Password does not conform to requirements. Four characters at least.'
  const body = { name: 'short', type: 'user', roles: [], password: 'abc' }
  assertRefused(await ask('PUT', pathOf('short'), { body, as: ADMIN }), 400, 'bad_request', reason)
  await add('prehashed', { password: undefined, password_sha: 'd4b5d8403f6c1d1c7975fb19cbbacf260cebecdf', salt: 'x' })
})

test('a password with a lone surrogate is rejected', async () => {
  const reason = 'Password does not conform to requirements. It holds half of a surrogate pair, which is no character.'
  const body = { name: 'half', type: 'user', roles: [], password: 'long\ud800' }
  assertRefused(await ask('PUT', pathOf('half'), { body, as: ADMIN }), 400, 'bad_request', reason)
  await add('whole', { password: 'long\ufffd' })
  for (const [password, status] of [
    ['long\ufffd', 200],
    ['long\udc00', 401],
  ] as const) {
    const answer = await ask('POST', '/_session', { as: '', body: { name: 'whole', password } })
    assert.equal(answer.status, status, answer.body)
  }
})

test('a password with NUL is rejected', async () => {
  const reason = 'Password does not conform to requirements. It holds the character NUL.'
  const body = { name: 'nil', type: 'user', roles: [], password: 'long enough\0' }
  assertRefused(await ask('PUT', pathOf('nil'), { body, as: ADMIN }), 400, 'bad_request', reason)
  await add('short', { password: 'long enough' })
  assert.deepEqual([await signIn('short', 'long enough'), await signIn('short', 'long enough\0')], [200, 401])
})

test('a user cannot have the name of an administrator', async () => {
  const body = { name: 'admin', type: 'user', roles: [], password: 'long enough' }
  assertRefused(await ask('PUT', pathOf('admin'), { body }), 409, 'conflict')
})
