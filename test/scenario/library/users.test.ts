import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { type Cardea, CardeaError } from '../../../src/index.ts'
import { AS_ADMIN, basic, send } from '../../support/request.ts'
import { openCardea } from './server.ts'

/** An expected failure with this code and status. */
const fails = (code: string, status: number, message?: RegExp) => (error: unknown) => {
  assert.ok(error instanceof CardeaError, String(error))
  assert.deepEqual([error.code, error.status, error.statusCode], [code, status, status])
  if (message) assert.match(error.message, message)
  return true
}

/** Users of every version have this id: it comes from the name. */
const ID = '4d82f60b-dd0a-8498-a22b-6ac5593e37a6'
const ADA = { id: ID, name: 'ada', isActive: true, roles: ['reader'], grants: {}, members: {} }

const signsIn = async (base: string, name: string, password: string) =>
  (await send(base, { path: '/_session', headers: { Authorization: basic(name, password) } })).status === 200

describe('cardea.users', () => {
  it('creates users that sign in at both doors', async (t) => {
    const { cardea, document, multiModel } = await openCardea(t)
    const bob = { name: 'bob', password: 'builder', roles: ['writer'], grants: { _system: 'ro', shop: 'rw' } } as const
    const { password: _, ...shown } = bob
    const { id, ...created } = await cardea.users.create(bob)
    assert.deepEqual(created, { ...shown, isActive: true, members: {} })
    assert.equal(id, (await cardea.users.find('bob'))?.id)
    assert.ok(await signsIn(document, 'bob', 'builder'))
    const headers = { Authorization: basic('bob', 'builder') }
    assert.equal((await send(multiModel, { path: '/_api/version', headers })).status, 200)
  })

  it('finds and lists users page by page', async (t) => {
    const { cardea } = await openCardea(t)
    assert.deepEqual(await cardea.users.find('ada'), ADA)
    assert.equal(await cardea.users.find('unknown'), undefined)
    await cardea.users.create({ name: 'bob', password: null })
    await cardea.users.create({ name: 'eve', password: null, isActive: false })
    const namesOf = ({ users }: Awaited<ReturnType<Cardea['users']['list']>>) => users.map(({ name }) => name)
    assert.deepEqual(namesOf(await cardea.users.list()), ['ada', 'bob', 'eve'])
    const first = await cardea.users.list({ limit: 2 })
    assert.deepEqual([namesOf(first), first.next], [['ada', 'bob'], 'bob'])
    const second = await cardea.users.list({ limit: 2, after: first.next ?? '' })
    assert.deepEqual([namesOf(second), second.next], [['eve'], undefined])
  })

  it('changes only what an update names', async (t) => {
    const { cardea } = await openCardea(t)
    assert.deepEqual(await cardea.users.update('ada', { grants: { shop: 'rw', old: 'ro' } }), {
      ...ADA,
      grants: { shop: 'rw', old: 'ro' },
    })
    const changed = await cardea.users.update('ada', { roles: ['a', 'b'], grants: { old: null }, isActive: false })
    assert.deepEqual(changed, { ...ADA, isActive: false, roles: ['a', 'b'], grants: { shop: 'rw' } })
    assert.deepEqual(await cardea.users.find('ada'), changed)
  })

  it('shows and sets when a user expires, and whether the password must be changed', async (t) => {
    const { cardea, document } = await openCardea(t)
    const expiresAt = new Date('2001-01-01')
    const limited = await cardea.users.update('ada', { expiresAt, mustChangePassword: true })
    assert.deepEqual(limited, { ...ADA, expiresAt, mustChangePassword: true })
    assert.equal(await signsIn(document, 'ada', 'pw'), false)
    assert.deepEqual(await cardea.users.update('ada', { expiresAt: null, mustChangePassword: false }), ADA)
    assert.ok(await signsIn(document, 'ada', 'pw'))
    const { expiresAt: given } = await cardea.users.create({ name: 'bob', password: null, expiresAt })
    assert.deepEqual(given, expiresAt)
  })

  it('sets a password, which revokes sessions', async (t) => {
    const { cardea, document } = await openCardea(t)
    await cardea.sessions.create('ada')
    await cardea.users.setPassword('ada', 'engine')
    assert.deepEqual((await cardea.sessions.list('ada')).sessions, [])
    assert.equal(await signsIn(document, 'ada', 'pw'), false)
    assert.ok(await signsIn(document, 'ada', 'engine'))
  })

  it('disables a user at once, and an update enables it again', async (t) => {
    const { cardea, document } = await openCardea(t)
    await cardea.users.disable('ada')
    assert.equal(await signsIn(document, 'ada', 'pw'), false)
    assert.equal(await cardea.users.verifyPassword('ada', 'pw'), undefined)
    await cardea.users.update('ada', { isActive: true })
    assert.ok(await signsIn(document, 'ada', 'pw'))
  })

  it('gives a later user of the same name another id, which moves with an export', async (t) => {
    const { cardea, document } = await openCardea(t)
    const signIn = async () => (await cardea.users.verifyPassword('ada', 'pw'))?.id
    assert.equal(await signIn(), ID)
    await cardea.users.remove('ada')
    const { id } = await cardea.users.create({ name: 'ada', password: 'pw' })
    assert.match(id, /^[0-9a-f]{8}-[0-9a-f]{4}-4/)
    assert.equal((await cardea.users.update('ada', { roles: ['x'] })).id, id)
    assert.equal(await signIn(), id)
    assert.notEqual((await cardea.users.verifyPassword('admin', 'adminpw'))?.id, id)
    const path = '/_cardea/api/transfer/users'
    const exported = await send(document, { as: AS_ADMIN, path: `${path}?format=cardea` })
    const users = exported.json.users.map(({ text }: { text: string }) => JSON.parse(text).user)
    const other = await openCardea(t)
    const body = { users, replace: false }
    await other.cardea.users.remove('ada')
    assert.equal((await send(other.document, { as: AS_ADMIN, method: 'POST', path, body })).status, 200)
    assert.equal((await other.cardea.users.find('ada'))?.id, id)
  })

  it('removes a user', async (t) => {
    const { cardea } = await openCardea(t)
    await cardea.users.remove('ada')
    assert.equal(await cardea.users.find('ada'), undefined)
  })

  it('verifies the password of users and administrators', async (t) => {
    const { cardea } = await openCardea(t)
    const { users } = cardea
    assert.deepEqual(await users.verifyPassword('ada', 'pw'), {
      id: ID,
      name: 'ada',
      roles: ['reader'],
      isAdmin: false,
    })
    assert.equal((await users.verifyPassword('admin', 'adminpw'))?.isAdmin, true)
    for (const [name, password] of [
      ['ada', 'wrong'],
      ['ada', ''],
      ['unknown', 'pw'],
      ['_x:', 'pw'],
    ] as const)
      assert.equal(await users.verifyPassword(name, password), undefined, name)
  })

  it('counts wrong passwords for the lockout of the client that sent them', async (t) => {
    const { cardea } = await openCardea(t, { chttpd_auth_lockout: { mode: 'enforce', threshold: 2 } })
    const at = (address: string) => {
      const socket = { remoteAddress: address }
      return { request: { headers: {}, socket } as unknown as Request }
    }
    for (let attempt = 0; attempt < 2; attempt += 1)
      assert.equal(await cardea.users.verifyPassword('ada', 'wrong', at('192.0.2.1')), undefined)
    await assert.rejects(cardea.users.verifyPassword('ada', 'pw', at('192.0.2.1')), fails('account_locked', 403))
    assert.equal((await cardea.users.verifyPassword('ada', 'pw', at('192.0.2.2')))?.name, 'ada')
  })

  const failures: readonly (readonly [
    string,
    (users: Cardea['users']) => Promise<unknown>,
    ReturnType<typeof fails>,
  ])[] = [
    [
      'a taken name',
      (users) => users.create({ name: 'ada', password: 'x' }),
      fails('conflict', 409, /^A user has the name ada already\.$/),
    ],
    [
      'a user without a password',
      (users) => users.create(JSON.parse('{"name":"bob"}')),
      fails('bad_request', 400, /^password must be a string/),
    ],
    ['the name of an administrator', (users) => users.create({ name: 'admin', password: 'x' }), fails('conflict', 409)],
    [
      'an invalid name',
      (users) => users.create({ name: '_x', password: 'x' }),
      fails('bad_request', 400, /begin with an underscore/),
    ],
    ['an invalid role', (users) => users.update('ada', { roles: ['a,b'] }), fails('bad_request', 400, /comma/)],
    ['an unknown user to update', (users) => users.update('x', {}), fails('not_found', 404)],
    ['an unknown user to disable', (users) => users.disable('x'), fails('not_found', 404)],
    ['an unknown user to remove', (users) => users.remove('x'), fails('not_found', 404)],
    ['an unknown user with a password', (users) => users.setPassword('x', 'y'), fails('not_found', 404)],
    ['a page without rows', (users) => users.list({ limit: 0 }), fails('bad_request', 400, /1 to 1000/)],
  ]
  for (const [what, work, failure] of failures) {
    it(`refuses ${what}`, async (t) => {
      const { cardea } = await openCardea(t)
      await assert.rejects(work(cardea.users), failure)
    })
  }

  it('refuses a password that breaks a rule', async (t) => {
    const { cardea } = await openCardea(t, { auth: { 'min-password-length': 8 } })
    const refused = fails('password_refused', 400, /8/)
    await assert.rejects(cardea.users.create({ name: 'bob', password: 'short' }), refused)
    await cardea.users.create({ name: 'bob', password: 'long enough' })
    await assert.rejects(cardea.users.setPassword('bob', 'short'), refused)
  })

  it('refuses values of another type, as a body of a request may hold them', async (t) => {
    const { cardea } = await openCardea(t)
    // a program without types may give anything
    const users = cardea.users as unknown as Record<string, (...args: unknown[]) => Promise<unknown>>
    const rows: readonly [method: string, args: unknown[]][] = [
      ['create', [undefined]],
      ['create', [{}]],
      ['create', [{ name: 5 }]],
      ['create', [{ name: 'bob', password: {} }]],
      ['create', [{ name: 'bob', roles: 'admin' }]],
      ['create', [{ name: 'bob', roles: [1] }]],
      ['create', [{ name: 'bob', isActive: 'no' }]],
      ['create', [{ name: 'bob', password: null, expiresAt: '2030-01-01' }]],
      ['create', [{ name: 'bob', grants: { shop: 'all' } }]],
      ['create', [{ name: 'bob', isAdmin: true }]],
      ['find', [undefined]],
      ['list', ['x']],
      ['update', ['ada', null]],
      ['update', ['ada', { password: 'x' }]],
      ['update', ['ada', { isActive: null }]],
      ['update', ['ada', { expiresAt: new Date(Number.NaN) }]],
      ['setPassword', ['ada', undefined]],
      ['verifyPassword', ['ada', undefined]],
      ['verifyPassword', [['ada'], 'pw']],
      ['verifyPassword', ['ada', 'pw', { code: 5 }]],
    ]
    for (const [method, args] of rows)
      await assert.rejects(async () => users[method]?.(...args), fails('bad_request', 400), JSON.stringify(args))
    assert.deepEqual((await cardea.users.list()).users, [ADA])
  })
})
