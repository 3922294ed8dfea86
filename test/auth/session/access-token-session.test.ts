/** Sessions of the document door that were opened with an access token: exactly its limits, and its end. */
import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { test } from 'node:test'
import { ACCESS_TOKEN_SESSION } from '../../../src/auth/session/account-session.ts'
import { mintCookie, readCookie, SESSION_ID_BYTES } from '../../../src/auth/session/cookie-value.ts'
import { createAccessToken, toTokenMark, withoutToken, withToken } from '../../../src/directory/access-token.ts'
import { PROGRAM } from '../../../src/directory/caller.ts'
import type { Scope } from '../../support/scope.ts'
import { openSessions } from '../sessions.ts'

const LIFETIME = 1000

/** A session opened with an access token that is valid for 1000 seconds. */
async function openByToken(scope: Scope, settings: Parameters<typeof openSessions>[1] = {}) {
  const opened = await openSessions(scope, settings)
  const { clock, directory, accounts } = opened
  await directory.createUser({ name: 'ada', password: { password: 'pw' } }, PROGRAM)
  const createdAt = Math.floor(clock.nowMs() / 1000)
  const given = { name: 'program', createdAt, validUntil: createdAt + LIFETIME, databases: ['sales'] }
  const { token } = createAccessToken({ user: 'ada', ...given })
  await directory.changeUser('ada', PROGRAM, (user) => withToken(user, token))
  const account = (await directory.findAccount('ada')) ?? assert.fail()
  const accessToken = toTokenMark({ id: 0, ...token })
  const { value, maxAgeSeconds } = accounts.open(account, { hasPassword: false, hasFactor: false, accessToken })
  return { ...opened, cookie: value, maxAgeSeconds, accessToken, validUntil: given.validUntil }
}

test('has the limits of its token and proves no password', async (t) => {
  const { cookie, maxAgeSeconds, findAccepted, accessToken, validUntil, directory } = await openByToken(t)
  const { identity, credential } = (await findAccepted(cookie)) ?? assert.fail()
  assert.equal(identity.name, 'ada')
  assert.equal(credential.kind, ACCESS_TOKEN_SESSION)
  assert.deepEqual(credential.scope, { databases: ['sales'], services: [] })
  assert.deepEqual([credential.accessToken, credential.expiresAt, maxAgeSeconds], [accessToken, validUntil, 600])
  const account = (await directory.findAccount('ada')) ?? assert.fail()
  assert.equal(directory.findPasswordTime(credential.session?.id ?? '', account), undefined)
})

test('is renewed, and never beyond the end of its token', async (t) => {
  const { clock, cookie, findAccepted } = await openByToken(t)
  clock.advance(500)
  const renewed = (await findAccepted(cookie))?.credential.session?.cookie?.renew() ?? assert.fail('not renewed')
  assert.equal(renewed.maxAgeSeconds, 500)
  clock.advance(499)
  const last = (await findAccepted(renewed.value))?.credential.session?.cookie?.renew() ?? assert.fail('not renewed')
  assert.equal(last.maxAgeSeconds, 1)
  clock.advance(1)
  for (const value of [cookie, renewed.value, last.value]) assert.equal(await findAccepted(value), undefined)
})

test('ends with the longest lifetime of sessions, if that is earlier', async (t) => {
  const { clock, cookie, findAccepted } = await openByToken(t, { maxLifetimeSeconds: 700 })
  clock.advance(500)
  const renewed = (await findAccepted(cookie))?.credential.session?.cookie?.renew() ?? assert.fail('not renewed')
  assert.equal(renewed.maxAgeSeconds, 200)
  clock.advance(200)
  assert.equal(await findAccepted(renewed.value), undefined)
})

test('ends when its token is deleted, and is never another session then', async (t) => {
  const { cookie, findAccepted, read, directory } = await openByToken(t)
  assert.ok(await findAccepted(cookie))
  await directory.changeUser('ada', PROGRAM, (user) => withoutToken(user, () => true))
  assert.equal(await findAccepted(cookie), undefined)
  // ended, not forged: nothing is recorded
  assert.deepEqual(await read(cookie), { kind: 'absent' })
})

test('costs a forged cookie no second signature, with or without a session of its id', async (t) => {
  const { accounts, secrets, cookie, clock } = await openByToken(t)
  let reads = 0
  const { accepted } = secrets
  t.after(() => Object.assign(secrets, { accepted }))
  Object.assign(secrets, {
    accepted: () => {
      reads += 1
      return accepted()
    },
  })
  const issuedAt = Math.floor(clock.nowMs() / 1000)
  const forge = (id: Uint8Array) =>
    readCookie(mintCookie({ name: 'ada', issuedAt, id }, { secret: randomBytes(16), salt: '', algorithm: 'sha256' }))
  const ownId = readCookie(cookie)?.tail.subarray(0, SESSION_ID_BYTES) ?? assert.fail()
  for (const id of [randomBytes(SESSION_ID_BYTES), ownId]) {
    reads = 0
    assert.equal(await accounts.find(forge(id) ?? assert.fail()), undefined)
    // one to compare with what is remembered, one for Cardea's form and one for CouchDB's
    assert.equal(reads, 3)
  }
})

test('ends with the session epoch of its user', async (t) => {
  const { cookie, findAccepted, directory } = await openByToken(t)
  assert.ok(await findAccepted(cookie))
  await directory.signOut('ada', PROGRAM)
  assert.equal(await findAccepted(cookie), undefined)
})

test('does not pass for a session opened with the password', async (t) => {
  const { open, findAccepted } = await openByToken(t)
  const { credential } = (await findAccepted(await open('ada'))) ?? assert.fail()
  assert.notEqual(credential.kind, ACCESS_TOKEN_SESSION)
  assert.equal(credential.scope, undefined)
})
