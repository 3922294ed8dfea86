import assert from 'node:assert/strict'
import { before, test } from 'node:test'
import { readTotp, renderCode } from '../../../src/directory/second-factor/totp.ts'
import { createSessionServer, NO_USER } from './session-server.ts'

const MEMBER = { key: 'GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ', algorithm: 'sha', length: 6 }
const { add, change, post, ask, identifyCookie, begin } = createSessionServer({ chttpd_auth_lockout: { threshold: 4 } })

const stepNow = () => Math.floor(Date.now() / 30_000)
const codeOf = (step: number): string => renderCode(readTotp(MEMBER) ?? assert.fail(), step)
const WRONG = { error: 'unauthorized', reason: 'Name or password is incorrect.' }

before(async () => {
  for (const name of ['ada', 'once', 'basic', 'guess', 'word', 'admin-like']) await add(name, { totp: MEMBER })
  const broken = { name: 'broken', password: { clear: 'broken-pw' }, members: [['totp', { key: 'not base32' }]] }
  const imported = await ask('POST', '/_cardea/api/transfer/users', { body: { users: [broken] } })
  assert.deepEqual(imported.json, { outcomes: [{ kind: 'created' }] })
})

test('a user with a second factor signs in with password and code', async () => {
  const cookie = await begin('ada', 'ada-pw', { token: codeOf(stepNow()) })
  assert.deepEqual(await identifyCookie(cookie), { name: 'ada', roles: [], by: 'cookie' })
})

test('a code works once', async () => {
  const credentials = { name: 'once', password: 'once-pw', token: codeOf(stepNow()) }
  assert.equal((await post(credentials)).status, 200)
  assert.equal((await post(credentials)).status, 401)
  assert.equal((await post({ ...credentials, token: codeOf(stepNow() + 1) })).status, 200)
})

test('a missing or wrong code gets the reply of a wrong password', async () => {
  const answers = [
    await post({ name: 'word', password: 'word-pw' }),
    await post({ name: 'word', password: 'word-pw', token: '000000x' }),
    await post({ name: 'word', password: 'wrong', token: codeOf(stepNow()) }),
  ]
  const seen = answers.map(({ status, json, headers }) => ({ status, json, cleared: headers['set-cookie']?.length }))
  assert.deepEqual(seen, Array(3).fill({ status: 401, json: WRONG, cleared: 1 }))
})

const HEADER = 'x-cardea-second-factor'

test('Basic is rejected for users with a second factor', async () => {
  const answer = await ask('GET', '/_session', { as: 'basic:basic-pw' })
  assert.deepEqual([answer.status, answer.json, answer.headers[HEADER]], [401, WRONG, 'required'])
})

test('a header says that the code is missing, if the password is right', async () => {
  const headerOf = async (credentials: object) => (await post({ name: 'word', ...credentials })).headers[HEADER]
  assert.equal(await headerOf({ password: 'word-pw' }), 'required')
  assert.equal(await headerOf({ password: 'word-pw', token: '' }), 'required')
  assert.equal(await headerOf({ password: 'word-pw', token: '000000x' }), undefined)
  assert.equal(await headerOf({ password: 'wrong' }), undefined)
})

test('a missing code does not count for the lockout', async () => {
  await add('slow', { totp: MEMBER })
  for (let i = 0; i < 6; i += 1) assert.equal((await post({ name: 'slow', password: 'slow-pw' })).status, 401)
  assert.equal((await post({ name: 'slow', password: 'slow-pw', token: codeOf(stepNow()) })).status, 200)
})

test('wrong codes lock the account', async () => {
  const guess = () => post({ name: 'guess', password: 'guess-pw', token: '000000x' })
  const statuses = []
  for (let i = 0; i < 5; i += 1) statuses.push((await guess()).status)
  assert.deepEqual(statuses, [401, 401, 401, 401, 403])
  assert.equal((await post({ name: 'guess', password: 'guess-pw', token: codeOf(stepNow()) })).status, 403)
})

test('concurrent wrong codes lock the account', async () => {
  await add('burst', { totp: MEMBER })
  await begin('burst', 'burst-pw', { token: codeOf(stepNow()) })
  const guesses = Array.from({ length: 30 }, () => post({ name: 'burst', password: 'burst-pw', token: '999999x' }))
  const statuses = (await Promise.all(guesses)).map(({ status }) => status)
  assert.equal(statuses.filter((status) => status === 401).length, 4)
})

test('a malformed second factor rejects every sign-in', async () => {
  for (const token of ['', '000000'])
    assert.equal((await post({ name: 'broken', password: 'broken-pw', token })).status, 401)
})

const EXPECTED =
  'totp must be an object: key in base32 (upper case, padded with =), algorithm sha, sha224, sha256, sha384 or sha512, length 6, 7 or 8.'

const UNREADABLE = [{ key: 'not base32!!' }, { ...MEMBER, length: 5 }, { ...MEMBER, algorithm: 'md5' }, 'x', null]

for (const [index, totp] of UNREADABLE.entries()) {
  test(`the second factor ${JSON.stringify(totp)} is rejected, and the user can still sign in`, async () => {
    const name = `wanda-${index}`
    await add(name)
    const expected = [400, { error: 'bad_request', reason: EXPECTED }]
    for (const as of [`${name}:${name}-pw`, undefined]) {
      const answer = await change(name, { totp }, as)
      assert.deepEqual([answer.status, answer.json], expected)
    }
    const body = { name: 'new', type: 'user', roles: [], password: 'pw', totp }
    const created = await ask('PUT', '/_users/org.couchdb.user:new', { body })
    assert.deepEqual([created.status, created.json], expected)
    const docs = [{ ...body, _id: 'org.couchdb.user:new' }]
    const { json } = await ask('POST', '/_users/_bulk_docs', { body: { docs } })
    assert.deepEqual(json, [{ id: 'org.couchdb.user:new', error: 'bad_request', reason: EXPECTED }])
    assert.equal((await post({ name, password: `${name}-pw` })).status, 200)
  })
}

test('an imported second factor that cannot be read stays until it is changed', async () => {
  assert.equal((await change('broken', { nick: 'B' })).status, 201)
  assert.equal((await change('broken', { totp: { key: 'still not' } })).status, 400)
  assert.equal((await change('broken', { totp: undefined })).status, 201)
  assert.equal((await post({ name: 'broken', password: 'broken-pw' })).status, 200)
})

test('an administrator has no second factor, even if a user document with that name has one', async () => {
  assert.equal((await post({ name: 'admin', password: 'adminpw' })).status, 200)
})

test('a code is ignored for a user without a second factor', async () => {
  await add('plain')
  assert.notDeepEqual(await identifyCookie(await begin('plain', 'plain-pw', { token: '123456' })), NO_USER)
})
