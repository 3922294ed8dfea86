// Who may call which operation of the admin API: one test for each operation and kind of caller.
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { Operation } from '../../src/dialects/admin-api/operation.ts'
import type { Right } from '../../src/dialects/admin-api/rights.ts'
import { OPERATIONS } from '../../src/modules.ts'
import { superuser } from '../support/multi-model.ts'
import { AS_ADMIN, send } from '../support/request.ts'
import { createSharedScope } from '../support/scope.ts'
import { startServer } from '../support/server.ts'

const API = '/_cardea/api'
const { document: url, multiModel } = await startServer(createSharedScope(), {
  admin: { 'user-admin-role': 'helpdesk' },
})

const ask = (as: string | undefined, method: string, path: string, body?: unknown) =>
  send(url, { method, path: `${API}${path}`, ...(as && { as }), ...(body !== undefined && { body }) })

async function addUser(name: string, more: object = {}): Promise<void> {
  const { status, body } = await ask(AS_ADMIN, 'POST', '/users', { name, password: 'pw', ...more })
  assert.equal(status, 200, body)
}

const RO = [{ database: 'sales', level: 'ro' }]
await addUser('plain')
await addUser('helper', { roles: ['helpdesk', 'reader'], grants: RO })
await addUser('starter', { roles: ['helpdesk'], mustChangePassword: true })

interface Caller {
  readonly right: Right
  readonly as?: string
  readonly door?: string
}

const CALLERS: Readonly<Record<string, Caller>> = {
  anonymous: { right: 'anonymous' },
  self: { right: 'self', as: 'plain:pw' },
  userAdmin: { right: 'userAdmin', as: 'helper:pw' },
  administrator: { right: 'administrator', as: AS_ADMIN },
  'a superuser token': { right: 'administrator', as: superuser(), door: multiModel },
  'a superuser token for some paths': {
    right: 'anonymous',
    as: superuser({ allowed_paths: ['/_api/version'] }),
    door: multiModel,
  },
}

/** The operations that are not for administrators alone. */
const ALLOWED: Readonly<Record<string, Right>> = {
  'account.show': 'self',
  'account.delete': 'self',
  'account.check-password': 'self',
  'account.set-password': 'self',
  'account.create-totp': 'self',
  'account.confirm-totp': 'self',
  'account.remove-totp': 'self',
  'account.replace-recovery-codes': 'self',
  'account.export': 'self',
  'account.tokens': 'self',
  'account.create-token': 'self',
  'account.remove-token': 'self',
  'password-link.find': 'anonymous',
  'password-link.use': 'anonymous',
  'account.request-password-reset': 'anonymous',
  'account.confirm-password-reset': 'anonymous',
  'account.request-sign-up': 'anonymous',
  'account.find-sign-up': 'anonymous',
  'account.confirm-sign-up': 'anonymous',
  'account.find-invitation': 'anonymous',
  'account.accept-invitation': 'anonymous',
  'account.find-address-link': 'anonymous',
  'account.find-address-undo': 'anonymous',
  'account.undo-address': 'anonymous',
  'account.confirm-address': 'anonymous',
  'account.address': 'self',
  'account.request-address': 'self',
  'user.address': 'userAdmin',
  'user.databases': 'userAdmin',
  'account.external-accounts': 'self',
  'passkey.sign-in-options': 'anonymous',
  'account.passkeys': 'self',
  'account.passkey-options': 'self',
  'account.passkey-proof-options': 'self',
  'account.remove-password': 'self',
  'account.add-passkey': 'self',
  'account.rename-passkey': 'self',
  'account.remove-passkey': 'self',
  'user.passkeys': 'userAdmin',
  'user.remove-passkey': 'userAdmin',
  'account.link-account': 'self',
  'account.unlink-account': 'self',
  'user.external-accounts': 'userAdmin',
  'user.unlink-account': 'userAdmin',
  'account.sessions': 'self',
  'account.end-session': 'self',
  'account.end-other-sessions': 'self',
  'user.end-sessions': 'userAdmin',
  'user.list': 'userAdmin',
  'user.show': 'userAdmin',
  'user.add': 'userAdmin',
  'user.remove': 'userAdmin',
  'user.set-password': 'userAdmin',
  'user.set-password-change': 'userAdmin',
  'user.set-expiry': 'userAdmin',
  'user.set-roles': 'userAdmin',
  'user.set-grant': 'userAdmin',
  'user.set-active': 'userAdmin',
  'user.sign-out': 'userAdmin',
  'user.sessions': 'userAdmin',
  'user.tokens': 'userAdmin',
  'user.remove-token': 'userAdmin',
  'user.end-session': 'userAdmin',
  'user.create-password-link': 'userAdmin',
  'user.batch': 'userAdmin',
  'user.access': 'userAdmin',
  'user.unlock': 'userAdmin',
  'user.reset-totp': 'userAdmin',
}

const ORDER: readonly Right[] = ['anonymous', 'self', 'userAdmin', 'administrator']
/** No user has it, and its body is invalid: an operation that may be called changes nothing. */
const toBody = ({ body }: Operation<unknown>) => (body ? INVALID : undefined)
const INVALID = { isUnknown: true }
/** Node adds no length to the body of DELETE. */
const toHeaders = ({ body }: Operation<unknown>) => ({
  'Content-Length': String(body ? JSON.stringify(INVALID).length : 0),
})
const toPath = (path: string) => path.replaceAll(/\{\w+\}/g, 'unknown')

describe('operation and caller', () => {
  for (const [name, operation] of Object.entries<Operation<unknown>>(OPERATIONS))
    for (const [caller, { right, as, door = url }] of Object.entries(CALLERS)) {
      const isAllowed = ORDER.indexOf(right) >= ORDER.indexOf(ALLOWED[name] ?? 'administrator')
      it(`${name}: ${caller} ${isAllowed ? 'may' : 'may not'}`, async () => {
        const { method, path } = operation
        const sent = { method, path: `${API}${toPath(path)}`, body: toBody(operation), headers: toHeaders(operation) }
        const reply = await send(door, { ...sent, ...(as && { as }) })
        const rejected = right === 'anonymous' ? 'authentication_required' : 'admin_required'
        if (isAllowed) assert.ok(!['authentication_required', 'admin_required'].includes(reply.json.error), reply.body)
        else assert.equal(reply.json.error, rejected)
      })
    }
})

it('a user who must change the password may call nothing but what that needs', async () => {
  for (const [name, operation] of Object.entries<Operation<unknown>>(OPERATIONS)) {
    const { method, path, isBeforeRequiredActions } = operation
    if ((ALLOWED[name] ?? 'administrator') === 'administrator' || ALLOWED[name] === 'anonymous') continue
    const sent = { method, path: `${API}${toPath(path)}`, body: toBody(operation), headers: toHeaders(operation) }
    const reply = await send(url, { as: 'starter:pw', ...sent })
    const isRejected = reply.json.error === 'password_change_required'
    assert.equal(isRejected, !isBeforeRequiredActions, `${name}: ${reply.body}`)
  }
})

it('an empty role names no user administrator', async () => {
  const { document: other } = await startServer(createSharedScope())
  const body = { name: 'helper', password: 'pw', roles: ['helpdesk'] }
  await send(other, { method: 'POST', path: `${API}/users`, as: AS_ADMIN, body })
  assert.equal((await send(other, { path: `${API}/users`, as: 'helper:pw' })).status, 403)
})

it('a superuser token manages users and administrators', async () => {
  const as = superuser()
  const call = (method: string, path: string, body?: unknown) =>
    send(multiModel, { as, method, path: `${API}${path}`, ...(body !== undefined && { body }) })
  assert.equal((await call('GET', '/session')).json.isAdministrator, true)
  assert.equal((await call('POST', '/users', { name: 'of-token', password: 'pw', roles: ['writer'] })).status, 200)
  assert.equal((await call('PUT', '/users/of-token/password', { password: 'other' })).status, 200)
  assert.equal((await call('POST', '/administrators', { name: 'root', password: 'pw' })).status, 200)
  assert.equal((await call('DELETE', '/administrators/root')).status, 200)
})

it('a query parameter that is unknown or repeated is refused', async () => {
  for (const path of [
    '/users?limit=1&limit=2',
    '/users?Limit=1',
    '/users/plain?x',
    '/health?range=1h',
    '/audit?users=x',
  ])
    assert.deepEqual([path, (await ask(AS_ADMIN, 'GET', path)).json.error], [path, 'bad_request'])
  assert.equal((await ask('plain:pw', 'GET', '/users?x')).json.error, 'admin_required', 'rights come first')
  assert.equal((await ask(AS_ADMIN, 'GET', '/users?limit=1&role=reader')).status, 200)
})

it('an expiry on a day that does not exist is refused', async () => {
  for (const expires of ['2030-02-31', '2030-13-01', '0000-01-01', '1969-12-31', '2030-01-01T24:00:00Z'])
    assert.equal((await ask(AS_ADMIN, 'PUT', '/users/plain/expiry', { expires })).status, 400, expires)
  assert.equal((await ask(AS_ADMIN, 'PUT', '/users/plain/expiry', { expires: '2032-02-29' })).status, 200)
})

it('paths of no operation are for administrators', async () => {
  for (const path of ['', '/unknown', '/openapi.json'])
    assert.equal((await ask('helper:pw', 'GET', path)).json.error, 'admin_required', path)
})

describe('a user administrator', () => {
  const as = 'helper:pw'
  const refuses = (title: string, [method, path, body]: readonly [string, string, unknown?], before?: object) =>
    it(`may not ${title}`, async () => {
      if (before) await addUser(`target ${title}`, before)
      const name = encodeURIComponent(`target ${title}`)
      const reply = await ask(as, method, path.replace('TARGET', name), body)
      assert.deepEqual([reply.status, reply.json.error], [403, 'forbidden'], reply.body)
    })

  it('creates, changes and removes a user with no more rights', async () => {
    const grants = [{ database: 'sales', level: 'ro', collection: 'orders' }]
    const made = await ask(as, 'POST', '/users', { name: 'new', password: 'x', roles: ['reader', 'helpdesk'], grants })
    assert.equal(made.status, 200, made.body)
    for (const [method, path, body] of [
      ['PUT', '/users/new/password', { password: 'y', mustChangePassword: true }],
      ['PUT', '/users/new/roles', { remove: ['reader'] }],
      ['PUT', '/users/new/roles', { add: ['reader'] }],
      ['PUT', '/users/new/grants', { database: 'sales', level: 'ro' }],
      ['PUT', '/users/new/expiry', { expires: '2040-01-01' }],
      ['PUT', '/users/new/active', { active: false }],
      ['POST', '/users/new/sign-out', undefined],
      ['POST', '/users/new/unlock', undefined],
      ['GET', '/users/new/sessions', undefined],
      ['DELETE', '/users/new/totp', undefined],
      ['DELETE', '/users/new', undefined],
    ] as const)
      assert.equal((await ask(as, method, path, body)).status, 200, `${method} ${path}`)
  })

  it('sees which users it may change', async () => {
    await addUser('strong', { roles: ['writer'] })
    const { users } = (await ask(as, 'GET', '/users')).json
    const canEdit = Object.fromEntries(
      users.map((user: { name: string; canEdit: boolean }) => [user.name, user.canEdit]),
    )
    assert.deepEqual([canEdit.plain, canEdit.strong, canEdit.helper], [true, false, false])
    assert.equal((await ask(as, 'GET', '/users/strong')).json.canEdit, false)
  })

  const password = { password: 'taken over' }
  refuses('create a user with a role it does not have', ['POST', '/users', { name: 'n1', roles: ['writer'] }])
  refuses('create a user with the role _admin', ['POST', '/users', { name: 'n2', roles: ['_admin'] }])
  refuses('create a user with a higher grant', [
    'POST',
    '/users',
    { name: 'n3', grants: [{ database: 'sales', level: 'rw' }] },
  ])
  refuses('create a user with a grant on all databases', [
    'POST',
    '/users',
    { name: 'n4', grants: [{ database: '*', level: 'ro' }] },
  ])
  refuses('create a user with a grant on the system database', [
    'POST',
    '/users',
    { name: 'n5', grants: [{ database: '_system', level: 'ro' }] },
  ])
  refuses('create a user with a higher grant on a collection', [
    'POST',
    '/users',
    { name: 'n6', grants: [{ database: 'sales', level: 'rw', collection: 'orders' }] },
  ])
  refuses('add a role it does not have', ['PUT', '/users/plain/roles', { add: ['writer'] }])
  refuses('grant more than it has', ['PUT', '/users/plain/grants', { database: 'sales', level: 'rw' }])
  refuses('change its own roles', ['PUT', '/users/helper/roles', { add: ['writer'] }])
  refuses('set its own expiry', ['PUT', '/users/helper/expiry', { expires: null }])
  refuses('set the password of a user with another role', ['PUT', '/users/TARGET/password', password], {
    roles: ['writer'],
  })
  refuses('remove the role that makes a user stronger', ['PUT', '/users/TARGET/roles', { roles: [] }], {
    roles: ['writer'],
  })
  refuses('set the password of a user with a higher grant', ['PUT', '/users/TARGET/password', password], {
    grants: [{ database: 'sales', level: 'rw' }],
  })
  refuses('set the password of a user with other grants', ['PUT', '/users/TARGET/password', password], {
    grants: [{ database: 'hr', level: 'ro' }],
  })
  refuses('delete a user with more rights', ['DELETE', '/users/TARGET'], { roles: ['writer'] })
  refuses('disable a user with more rights', ['PUT', '/users/TARGET/active', { active: false }], { roles: ['writer'] })
  refuses('end the sessions of a user with more rights', ['POST', '/users/TARGET/sign-out'], { roles: ['writer'] })
  refuses('see the sessions of a user with more rights', ['GET', '/users/TARGET/sessions'], { roles: ['writer'] })
  refuses('reset the second factor of a user with more rights', ['DELETE', '/users/TARGET/totp'], {
    roles: ['writer'],
  })
  refuses('create a link for a user with more rights', ['POST', '/users/TARGET/password-link'], {
    roles: ['writer'],
  })
  refuses('unlock a user with more rights', ['POST', '/users/TARGET/unlock'], { roles: ['writer'] })

  it('may not touch an administrator, even one that is also a user', async () => {
    await addUser('both')
    assert.equal((await ask(AS_ADMIN, 'PUT', '/administrators/both', { password: 'adminpw' })).status, 200)
    for (const [method, path, body] of [
      ['PUT', '/users/both/password', { password: 'x' }],
      ['DELETE', '/users/both', undefined],
      ['GET', '/users/both/sessions', undefined],
      ['POST', '/users/both/unlock', undefined],
    ] as const)
      assert.equal((await ask(as, method, path, body)).status, 403, path)
    assert.equal((await ask(as, 'GET', '/users/admin/sessions')).status, 404)
    assert.equal((await ask(as, 'PUT', '/administrators/admin', { password: 'x' })).status, 403)
  })

  it('that expires may not manage or create a user administrator that expires later', async () => {
    const expires = '2035-01-01T00:00:00Z'
    await addUser('temporary', { roles: ['helpdesk'], expires })
    const own = 'temporary:pw'
    const later = { name: 'heir', password: 'x', roles: ['helpdesk'] }
    assert.equal((await ask(own, 'POST', '/users', later)).status, 403)
    assert.equal((await ask(own, 'POST', '/users', { ...later, expires })).status, 200)
    assert.equal((await ask(own, 'PUT', '/users/heir/expiry', { expires: null })).status, 403)
    assert.equal((await ask(own, 'POST', '/users', { name: 'customer', password: 'x' })).status, 200)
  })
})
