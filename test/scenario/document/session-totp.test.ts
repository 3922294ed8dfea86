import assert from 'node:assert/strict'
import { before, test } from 'node:test'
import { readTotp, renderCode } from '../../../src/directory/totp.ts'
import { createSessionServer, NOBODY } from './session-server.ts'

const MEMBER = { key: 'GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ', algorithm: 'sha', length: 6 }
const { add, post, ask, askCookie, begin } = createSessionServer({ chttpd_auth_lockout: { threshold: 4 } })

const stepNow = () => Math.floor(Date.now() / 30_000)
const codeOf = (step: number): string => renderCode(readTotp(MEMBER) ?? assert.fail(), step)
const WRONG = { error: 'unauthorized', reason: 'Name or password is incorrect.' }

before(async () => {
  for (const name of ['ada', 'once', 'basic', 'guess', 'word', 'admin-like']) await add(name, { totp: MEMBER })
  await add('broken', { totp: { key: 'not base32' } })
})

test('a user with a second factor signs in with password and code', async () => {
  const cookie = await begin('ada', 'ada-pw', { token: codeOf(stepNow()) })
  assert.deepEqual(await askCookie(cookie), { name: 'ada', roles: [], by: 'cookie' })
})

test('a code is good once', async () => {
  const credentials = { name: 'once', password: 'once-pw', token: codeOf(stepNow()) }
  assert.equal((await post(credentials)).status, 200)
  assert.equal((await post(credentials)).status, 401)
  assert.equal((await post({ ...credentials, token: codeOf(stepNow() + 1) })).status, 200)
})

test('a missing or wrong code looks like a wrong password', async () => {
  const answers = [
    await post({ name: 'word', password: 'word-pw' }),
    await post({ name: 'word', password: 'word-pw', token: '000000x' }),
    await post({ name: 'word', password: 'wrong', token: codeOf(stepNow()) }),
  ]
  const seen = answers.map(({ status, json, headers }) => ({ status, json, cleared: headers['set-cookie']?.length }))
  assert.deepEqual(seen, Array(3).fill({ status: 401, json: WRONG, cleared: 1 }))
})

test('Basic is refused for such users', async () => {
  const answer = await ask('GET', '/_session', { as: 'basic:basic-pw' })
  assert.deepEqual([answer.status, answer.json], [401, WRONG])
})

test('codes cannot be guessed without end', async () => {
  const guess = () => post({ name: 'guess', password: 'guess-pw', token: '000000x' })
  const statuses = []
  for (let i = 0; i < 5; i += 1) statuses.push((await guess()).status)
  assert.deepEqual(statuses, [401, 401, 401, 401, 403])
  assert.equal((await post({ name: 'guess', password: 'guess-pw', token: codeOf(stepNow()) })).status, 403)
})

test('nor side by side', async () => {
  await add('burst', { totp: MEMBER })
  await begin('burst', 'burst-pw', { token: codeOf(stepNow()) })
  const guesses = Array.from({ length: 30 }, () => post({ name: 'burst', password: 'burst-pw', token: '999999x' }))
  const statuses = (await Promise.all(guesses)).map(({ status }) => status)
  assert.equal(statuses.filter((status) => status === 401).length, 4)
})

test('a second factor that cannot be read lets nobody in', async () => {
  for (const token of ['', '000000'])
    assert.equal((await post({ name: 'broken', password: 'broken-pw', token })).status, 401)
})

test('an administrator has no second factor, whatever a document of that name says', async () => {
  assert.equal((await post({ name: 'admin', password: 'adminpw' })).status, 200)
})

test('a code too many does not matter where there is no second factor', async () => {
  await add('plain')
  assert.notDeepEqual(await askCookie(await begin('plain', 'plain-pw', { token: '123456' })), NOBODY)
})
