import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { PROGRAM } from '../../../src/directory/caller.ts'
import { openSessions } from '../sessions.ts'

const DRAFT = { name: 'ada', password: { password: 'pw' }, roles: ['math'] }

test('a session expires one timeout after its last request', async (t) => {
  const { clock, directory, open, findAccepted } = await openSessions(t)
  await directory.createUser(DRAFT, PROGRAM)
  const cookie = await open('ada')
  clock.advance(599)
  assert.equal((await findAccepted(cookie))?.identity.name, 'ada')
  clock.advance(1)
  assert.equal(await findAccepted(cookie), undefined)
})

test('a session is renewed while requests come, and keeps its id', async (t) => {
  const { clock, directory, open, findAccepted } = await openSessions(t)
  await directory.createUser(DRAFT, PROGRAM)
  let cookie = await open('ada')
  const ids = new Set<string | undefined>()
  for (let i = 0; i < 10; i += 1) {
    clock.advance(500)
    const accepted = await findAccepted(cookie)
    ids.add(accepted?.credential.session?.id)
    cookie = accepted?.credential.session?.cookie?.renew()?.value ?? assert.fail('not renewed')
  }
  assert.equal(ids.size, 1)
})

for (const [seconds, isDue] of [
  [0, false],
  [60, false],
  [61, true],
  [599, true],
] as const) {
  test(`after ${seconds} of 600 seconds renewal is ${isDue ? '' : 'not '}due`, async (t) => {
    const { clock, directory, open, findAccepted } = await openSessions(t)
    await directory.createUser(DRAFT, PROGRAM)
    const cookie = await open('ada')
    clock.advance(seconds)
    const renewed = (await findAccepted(cookie))?.credential.session?.cookie?.renew()
    assert.equal(renewed !== undefined, isDue)
    assert.equal(renewed?.maxAgeSeconds ?? 600, 600)
  })
}

test('a revoked session stays revoked in every cookie, whatever the timeout becomes', async (t) => {
  const { clock, directory, open, findAccepted, set } = await openSessions(t)
  await directory.createUser(DRAFT, PROGRAM)
  const cookie = await open('ada')
  clock.advance(100)
  const { session } = (await findAccepted(cookie))?.credential ?? {}
  const copy = session?.cookie?.renew()?.value ?? ''
  if (session?.cookie)
    await directory.endSession({ id: session.id, name: session.name, expiresAt: session.cookie.lastExpiry() })
  set({ timeoutSeconds: 1_000_000 })
  for (const seconds of [0, 500, 1000, 10_000, 100_000]) {
    clock.advance(seconds)
    await directory.catchUp()
    for (const value of [cookie, copy]) assert.equal(await findAccepted(value), undefined, `${seconds}`)
  }
})

test('a raised timeout applies to new cookies, a lowered one to all', async (t) => {
  const { clock, directory, open, findAccepted, set } = await openSessions(t)
  await directory.createUser(DRAFT, PROGRAM)
  const short = await open('ada')
  set({ timeoutSeconds: 1000 })
  const long = await open('ada')
  clock.advance(600)
  assert.equal(await findAccepted(short), undefined)
  assert.ok(await findAccepted(long))
  set({ timeoutSeconds: 100 })
  assert.equal(await findAccepted(long), undefined)
})

test('a session ends after its longest lifetime, however often it is renewed', async (t) => {
  const { clock, directory, open, findAccepted, set } = await openSessions(t, { maxLifetimeSeconds: 700 })
  await directory.createUser(DRAFT, PROGRAM)
  const first = await open('ada')
  clock.advance(500)
  const renewed = (await findAccepted(first))?.credential.session?.cookie?.renew() ?? assert.fail('not renewed')
  assert.equal(renewed.maxAgeSeconds, 200)
  clock.advance(199)
  assert.ok(await findAccepted(renewed.value))
  clock.advance(1)
  assert.equal(await findAccepted(renewed.value), undefined)
  set({ maxLifetimeSeconds: 0 })
  assert.ok(await findAccepted(renewed.value), 'the limit was what ended it')
  set({ maxLifetimeSeconds: 600 })
  assert.equal(await findAccepted(renewed.value), undefined, 'a lower limit applies to existing sessions')
})

test('while a longest lifetime is set, a session of unknown age is not renewed', async (t) => {
  const { clock, directory, accounts, findAccepted, set } = await openSessions(t)
  await directory.createUser(DRAFT, PROGRAM)
  const account = (await directory.findAccount('ada')) ?? assert.fail()
  const { value } = accounts.open(account, { hasPassword: false, hasFactor: false })
  clock.advance(500)
  const session = (await findAccepted(value))?.credential.session
  assert.ok(session?.cookie?.renew())
  set({ maxLifetimeSeconds: 10_000 })
  assert.equal((await findAccepted(value))?.credential.session?.cookie?.renew(), undefined)
})

test('cookies of a replaced secret verify for one more timeout', async (t) => {
  const { clock, directory, open, findAccepted, secrets } = await openSessions(t)
  await directory.createUser(DRAFT, PROGRAM)
  clock.advance(1)
  const cookie = await open('ada')
  secrets.replace('another')
  clock.advance(599)
  const renewed = (await findAccepted(cookie))?.credential.session?.cookie?.renew()?.value ?? assert.fail('not renewed')
  clock.advance(1)
  assert.equal(await findAccepted(cookie), undefined)
  assert.ok(await findAccepted(renewed), 'renewal signs with the new one')
})

for (const [what, change] of [
  ['a password change', (directory: Opened['directory']) => directory.setPassword('ada', PROGRAM, { password: 'new' })],
  ['a deactivation', (directory: Opened['directory']) => directory.setActive('ada', PROGRAM, false)],
  ['a sign-out of everything', (directory: Opened['directory']) => directory.signOut('ada', PROGRAM)],
  ['a deletion', (directory: Opened['directory']) => directory.removeUser('ada', PROGRAM, 'any')],
] as const) {
  test(`${what} revokes a session at once, and a renewal made before it`, async (t) => {
    const { clock, directory, open, findAccepted } = await openSessions(t)
    await directory.createUser(DRAFT, PROGRAM)
    const cookie = await open('ada')
    clock.advance(100)
    const session = (await findAccepted(cookie))?.credential.session
    await change(directory)
    const late = session?.cookie?.renew()?.value ?? ''
    for (const value of [cookie, late]) assert.equal(await findAccepted(value), undefined)
  })
}

type Opened = Awaited<ReturnType<typeof openSessions>>

test('setting the password a user already has keeps its sessions', async (t) => {
  const { clock, directory, open, findAccepted } = await openSessions(t)
  await directory.createUser(DRAFT, PROGRAM)
  const cookie = await open('ada')
  clock.advance(100)
  await directory.setPassword('ada', PROGRAM, { password: 'pw' })
  assert.ok(await findAccepted(cookie))
})

test('a new user of the same name has none of the old sessions', async (t) => {
  const { directory, open, findAccepted } = await openSessions(t)
  await directory.createUser(DRAFT, PROGRAM)
  const cookie = await open('ada')
  await directory.removeUser('ada', PROGRAM, 'any')
  await directory.createUser(DRAFT, PROGRAM)
  assert.equal(await findAccepted(cookie), undefined)
})

test('a user who becomes an administrator loses the session, and the other way round', async (t) => {
  const { directory, open, findAccepted } = await openSessions(t)
  await directory.setAdministrator('root', PROGRAM, { password: 'pw' })
  await directory.createUser(DRAFT, PROGRAM)
  const before = await open('ada')
  await directory.setAdministrator('ada', PROGRAM, { password: 'pw' })
  assert.equal(await findAccepted(before), undefined)
  const after = await open('ada')
  assert.equal((await findAccepted(after))?.identity.isAdmin, true)
  await directory.removeAdministrator('ada', PROGRAM)
  assert.equal(await findAccepted(after), undefined)
})

test('a session is verified without a query to the store', async (t) => {
  const { directory, open, read, countQuestions } = await openSessions(t)
  await directory.createUser(DRAFT, PROGRAM)
  await directory.catchUp()
  const cookie = await open('ada')
  await read(cookie)
  countQuestions()
  await read(cookie)
  assert.equal(countQuestions(), 0)
})

test('no other text is accepted, and none throws', async (t) => {
  const { directory, open, read } = await openSessions(t)
  await directory.createUser(DRAFT, PROGRAM)
  const good = Buffer.from(await open('ada'), 'base64url')
  const mutated = fc
    .tuple(fc.nat(good.length - 1), fc.integer({ min: 1, max: 255 }))
    .map(([at, by]) => Buffer.from(good.map((byte, i) => (i === at ? byte ^ by : byte))).toString('base64url'))
  const structured = fc
    .tuple(fc.constantFrom('ada', '', 'x'), fc.stringMatching(/^[0-9A-F~]{0,14}$/), fc.uint8Array({ maxLength: 120 }))
    .map(([name, time, tail]) => Buffer.concat([Buffer.from(`${name}:${time}:`), tail]).toString('base64url'))
  const cookies = fc.oneof(mutated, structured, fc.string(), fc.base64String())
  await fc.assert(
    fc.asyncProperty(cookies, async (cookie) => assert.notEqual((await read(cookie)).kind, 'accepted')),
    { numRuns: 500 },
  )
})
