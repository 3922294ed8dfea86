// What programs do for the users they have authenticated: access tokens, second factor, password links, events.
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { readTotp, renderCode } from '../../../src/directory/second-factor/totp.ts'
import { type Cardea, CardeaError, type CardeaEvent, createTestCardea } from '../../../src/index.ts'
import { basic, send } from '../../support/request.ts'
import { createSharedScope } from '../../support/scope.ts'
import { waitUntil } from '../../support/wait.ts'
import { openCardea } from './server.ts'

const scope = createSharedScope()
const { cardea, document, multiModel } = await openCardea(scope, { auth: { 'min-password-length': 2 } })
const { users, sessions, accessTokens, secondFactor, passwordLinks } = cardea

const failsWith = (code: string) => (error: unknown) => error instanceof CardeaError && error.code === code

const codeOf = (secret: string, step = 0): string =>
  renderCode(readTotp({ key: secret }) ?? assert.fail(), Math.floor(Date.now() / 30_000) + step)

async function addUser(name: string): Promise<string> {
  await users.create({ name, password: 'pw' })
  return name
}

describe('cardea.accessTokens', () => {
  const expiresAt = new Date('2100-01-01T00:00:00Z')

  it('creates, lists and removes the access tokens of a user', async () => {
    const name = await addUser('tokens')
    await users.update(name, { grants: { shop: 'rw' } })
    const created = await accessTokens.create(name, { name: 'backup', expiresAt, databases: ['shop'] })
    const { token, ...shown } = created
    assert.deepEqual(await accessTokens.list(name), [shown])
    assert.deepEqual(
      [shown.name, shown.expiresAt, shown.databases, shown.isActive],
      ['backup', expiresAt, ['shop'], true],
    )
    const ask = () =>
      send(multiModel, { path: '/_db/shop/_api/version', headers: { Authorization: basic(name, token) } })
    assert.notEqual((await ask()).status, 401)
    await accessTokens.remove(name, 'backup')
    assert.deepEqual(await accessTokens.list(name), [])
    assert.equal((await ask()).status, 401)
  })

  it('rejects what the doors reject', async () => {
    const name = await addUser('token-rules')
    const untyped = accessTokens as unknown as Record<string, (...given: unknown[]) => Promise<unknown>>
    await accessTokens.create(name, { name: 'one', expiresAt })
    const rows: readonly [code: string, work: () => Promise<unknown> | undefined][] = [
      ['name_taken', () => accessTokens.create(name, { name: 'one', expiresAt })],
      ['not_found', () => accessTokens.remove(name, 'two')],
      ['not_found', () => accessTokens.list('unknown')],
      ['forbidden', () => accessTokens.create('admin', { name: 'one', expiresAt })],
      ['bad_request', () => accessTokens.create(name, { name: 'two', expiresAt, services: [] })],
      ['bad_request', () => accessTokens.create(name, { name: 'two', expiresAt: new Date('never') })],
      ['bad_request', () => untyped['create']?.(name, { name: 'two', expires: '2100-01-01' })],
      ['bad_request', () => untyped['create']?.(name, { name: 5, expiresAt })],
      ['bad_request', () => untyped['list']?.(undefined)],
    ]
    for (const [code, work] of rows) await assert.rejects(async () => work(), failsWith(code), `${work}`)
  })
})

describe('cardea.secondFactor', () => {
  it('is created, confirmed and required', async () => {
    const name = await addUser('factor')
    await sessions.create(name)
    const { secret, uri } = await secondFactor.create(name)
    assert.match(uri, /^otpauth:\/\/totp\/Cardea%3Afactor\?secret=/)
    assert.equal((await users.checkPassword(name, 'pw')).status, 'verified')
    await assert.rejects(secondFactor.confirm(name, { secret, code: '000000' }), failsWith('bad_request'))
    const codes = await secondFactor.confirm(name, { secret, code: codeOf(secret) })
    assert.equal(codes.length, 10)
    assert.deepEqual((await sessions.list(name)).sessions, [])
    assert.deepEqual(await users.checkPassword(name, 'pw'), { status: 'code_required' })
    assert.deepEqual(await users.checkPassword(name, 'pw', { code: '123' }), { status: 'wrong_password' })
    assert.equal(await users.verifyPassword(name, 'pw'), undefined)
    const checked = await users.checkPassword(name, 'pw', { code: codeOf(secret, 1) })
    assert.equal(checked.status, 'verified')
    const change = { currentPassword: 'pw', password: 'new' }
    assert.deepEqual(await users.changePassword(name, change), { status: 'code_required' })
    const [code = ''] = codes
    assert.equal((await users.changePassword(name, { ...change, code })).status, 'changed')
    assert.equal((await secondFactor.replaceRecoveryCodes(name)).length, 10)
    await secondFactor.remove(name)
    assert.equal((await users.checkPassword(name, 'new')).status, 'verified')
    await assert.rejects(secondFactor.replaceRecoveryCodes(name), failsWith('conflict'))
  })

  it('stays when the members of the user change', async () => {
    const name = await addUser('factor-members')
    const { secret } = await secondFactor.create(name)
    await secondFactor.confirm(name, { secret, code: codeOf(secret) })
    assert.deepEqual((await users.update(name, { members: { city: 'London' } })).members, { city: 'London' })
    assert.equal((await users.checkPassword(name, 'pw')).status, 'code_required')
  })
})

describe('cardea.users.changePassword', () => {
  it('takes the current password, ends all sessions and proves the new one', async () => {
    const name = await addUser('change')
    await sessions.create(name)
    const change = { currentPassword: 'pw', password: 'engine' }
    assert.deepEqual(await users.changePassword(name, { ...change, currentPassword: 'x' }), {
      status: 'wrong_password',
    })
    await assert.rejects(users.changePassword(name, { ...change, password: 'x' }), failsWith('password_refused'))
    assert.equal((await sessions.list(name)).sessions.length, 1)
    const changed = await users.changePassword(name, change)
    assert.ok(changed.status === 'changed')
    assert.deepEqual((await sessions.list(name)).sessions, [])
    const { cookie } = await sessions.create(changed.user)
    // a session that was opened with the password may delete the account
    const headers = { Cookie: cookie.split(';')[0] ?? '' }
    const path = `/_users/org.couchdb.user:${name}`
    const { json } = await send(document, { path, headers })
    assert.equal((await send(document, { method: 'DELETE', path: `${path}?rev=${json._rev}`, headers })).status, 200)
  })

  it('says when the name is locked', async (t) => {
    const locking = await openCardea(t, { chttpd_auth_lockout: { mode: 'enforce', threshold: 1 } })
    const change = { currentPassword: 'wrong', password: 'engine' }
    assert.equal((await locking.cardea.users.changePassword('ada', change)).status, 'wrong_password')
    const locked = await locking.cardea.users.checkPassword('ada', 'pw')
    assert.ok(locked.status === 'locked' && locked.retryAfter > 0)
    assert.equal((await locking.cardea.users.changePassword('ada', change)).status, 'locked')
  })
})

describe('cardea.passwordLinks', () => {
  it('sets a password once', async () => {
    const name = await addUser('link')
    const { url, token, expiresAt } = await passwordLinks.create(name)
    assert.ok(url.endsWith(`/_cardea/#/password-link/${token}`), url)
    assert.ok(expiresAt.getTime() > Date.now())
    await assert.rejects(passwordLinks.use(token, 'x'), failsWith('password_refused'))
    assert.equal(
      await passwordLinks.use(token, 'engine', { request: new Request('http://a/'), peer: '192.0.2.1' }),
      name,
    )
    assert.equal((await users.checkPassword(name, 'engine')).status, 'verified')
    await assert.rejects(passwordLinks.use(token, 'other'), failsWith('not_found'))
    await assert.rejects(passwordLinks.create('unknown'), failsWith('not_found'))
  })
})

it('sessions.revokeOthers keeps the session of the request', async () => {
  const name = await addUser('others')
  const [kept] = [await sessions.create(name), await sessions.create(name), await sessions.create(name)]
  const request = new Request('http://a/', { headers: { Cookie: kept.cookie.split(';')[0] ?? '' } })
  const user = (await cardea.authenticate(request)) ?? assert.fail()
  assert.equal(await sessions.revokeOthers(user), 2)
  assert.deepEqual(
    (await sessions.list(name)).sessions.map(({ id }) => id),
    [kept.id],
  )
  await assert.rejects(sessions.revokeOthers({ name }), failsWith('bad_request'))
})

interface Profile {
  readonly city: string
  readonly likes?: readonly string[]
}

it('users have members of the type that the program gives', async (t) => {
  const typed: Cardea<Profile> = await createTestCardea<Profile>()
  t.after(() => typed.close())
  const created = await typed.users.create({ name: 'ada', password: 'pw', members: { city: 'London', likes: ['tea'] } })
  const { city, likes = [] } = created.members
  assert.deepEqual([city, ...likes], ['London', 'tea'])
  assert.deepEqual((await typed.users.update('ada', { members: { likes: null } })).members, { city: 'London' })
  const untyped = typed.users as unknown as Record<string, (...given: unknown[]) => Promise<unknown>>
  for (const members of [{ totp: {} }, { _x: 1 }, { roles: [] }, { salt: 'x' }, { password: 'x' }, 'x', ['x']])
    await assert.rejects(async () => untyped['update']?.('ada', { members }), failsWith('bad_request'))
})

describe('cardea.events', () => {
  it('calls listeners with the events of the process', async (t) => {
    const seen: CardeaEvent<'user.created'>[] = []
    const remove = cardea.events.on('user.created', (event) => seen.push(event))
    t.after(remove)
    await addUser('events')
    await waitUntil(() => seen.length > 0)
    const [{ event, time, outcome, fields } = assert.fail()] = seen
    assert.deepEqual(
      [event, outcome, fields.subject, time instanceof Date],
      ['user.created', 'success', 'events', true],
    )
    remove()
    await addUser('events-2')
    assert.equal(seen.length, 1)
  })

  it('logs what a listener throws or rejects with, and goes on', async (t) => {
    const { cardea: other, log } = await openCardea(t)
    other.events.on('user.removed', () => assert.fail('thrown'))
    other.events.on('user.removed', () => Promise.reject(new Error('rejected')))
    await other.users.remove('ada')
    await waitUntil(() => log.filter(({ message }) => message === 'a listener failed').length === 2)
  })

  it('rejects an unknown event', () => {
    const on = cardea.events.on as (...given: unknown[]) => unknown
    assert.throws(() => on('user.create', () => {}), { name: 'TypeError', message: /no security event "user\.create"/ })
    assert.throws(() => on('user.created'), { name: 'TypeError' })
  })
})
