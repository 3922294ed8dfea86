// What every user may do with the own account at /_cardea/api/account.
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { idOf } from '../../src/directory/account.ts'
import { createAccounts, errorOf, NEEDS_PASSWORD, PASSWORD } from '../support/accounts.ts'
import { API } from '../support/browser.ts'
import { AS_ADMIN, send } from '../support/request.ts'
import { createSharedScope } from '../support/scope.ts'
import { startServer } from '../support/server.ts'

const server = await startServer(createSharedScope(), {
  admin: { 'user-admin-role': 'helpdesk' },
  auth: { 'min-password-length': 8 },
})
const url = server.document

const { ask, addUser, openBrowser, openDoorSession } = createAccounts(url)

async function openToken(name: string): Promise<string> {
  const body = { username: name, password: PASSWORD }
  return (await send(server.multiModel, { method: 'POST', path: '/_open/auth', body })).json.jwt
}

describe('rights', () => {
  it('a credential that only has the name of an account does not reach it', async (t) => {
    const { document, cardea } = await startServer(t, { chttpd_auth: { proxy_use_secret: false } })
    await cardea.users.create({ name: 'sue', password: PASSWORD })
    for (const name of ['admin', 'sue'])
      for (const [method, path] of [
        ['GET', '/account'],
        ['GET', '/account/sessions'],
        ['POST', '/account/sessions/end-others'],
        ['GET', '/account/tokens'],
        ['GET', '/account/external-accounts'],
      ] as const) {
        const headers = { 'X-Auth-CouchDB-UserName': name }
        const reply = await send(document, { method, path: `${API}${path}`, headers })
        assert.deepEqual(errorOf(reply), [403, 'forbidden'], `${name} ${path}`)
      }
    const asAdministrator = { 'X-Auth-CouchDB-UserName': 'admin', 'X-Auth-CouchDB-Roles': '_admin' }
    assert.equal((await send(document, { path: `${API}/account`, headers: asAdministrator })).status, 200)
    const unlink = { method: 'DELETE', path: `${API}/users/sue/external-accounts/1` }
    assert.equal((await send(document, { ...unlink, headers: asAdministrator })).status, 404)
    const asOwner = { ...asAdministrator, 'X-Auth-CouchDB-UserName': 'sue' }
    assert.deepEqual(errorOf(await send(document, { ...unlink, headers: asOwner })), NEEDS_PASSWORD)
  })

  it('the session and the account show them', async () => {
    await addUser('rita', { roles: ['helpdesk', 'reader'], expires: '2040-01-01' })
    await addUser('rob', { mustChangePassword: true })
    const rita = await openBrowser('rita')
    assert.equal((await rita.browser.ask('/session')).json.rights, 'userAdmin')
    assert.deepEqual((await rita.call('GET', '/account')).json, {
      name: 'rita',
      id: idOf({ name: 'rita' }),
      isAdministrator: false,
      rights: 'userAdmin',
      roles: ['helpdesk', 'reader'],
      hasPassword: true,
      mustChangePassword: false,
      expires: '2040-01-01T00:00:00Z',
      totp: { isEnabled: false, recoveryCodesLeft: 0 },
      passwordRules: ['Use at least 8 characters.'],
    })
    const { rights, mustChangePassword } = (await openBrowser('rob')).answer.json
    assert.deepEqual([rights, mustChangePassword], ['user', true])
    const { json } = await ask(AS_ADMIN, 'GET', '/account')
    assert.deepEqual([json.name, json.isAdministrator, json.rights], ['admin', true, 'administrator'])
  })

  it('a new password is checked by the rules of the server', async () => {
    const as = await addUser('carl')
    const check = async (password: string) => (await ask(as, 'POST', '/account/check-password', { password })).json
    assert.deepEqual(await check('short'), { problems: ['Use at least 8 characters.'] })
    assert.deepEqual(await check('long enough too'), { problems: [] })
    assert.deepEqual(errorOf(await ask(as, 'POST', '/account/check-password', {})), [400, 'bad_request'])
  })
})

describe('sessions', () => {
  const isLive = async (cookie: string) =>
    (await send(url, { path: '/_session', headers: { Cookie: cookie } })).json.userCtx.name !== null

  it('lists those of every door and marks the current one', async () => {
    await addUser('sam')
    const { call } = await openBrowser('sam')
    await openDoorSession('sam')
    await openToken('sam')
    const { sessions } = (await call('GET', '/account/sessions')).json
    assert.deepEqual(
      sessions.map(({ door, isCurrent }: { door: string; isCurrent: boolean }) => `${door} ${isCurrent}`).sort(),
      ['admin true', 'document false', 'multi-model false'],
    )
    for (const session of sessions)
      assert.deepEqual(Object.keys(session).sort(), [
        'createdAt',
        'door',
        'expiresAt',
        'id',
        'isCurrent',
        'peer',
        'seenAt',
        'userAgent',
      ])
  })

  it('one that is ended ends at once, at either door', async () => {
    await addUser('sue')
    const { call } = await openBrowser('sue')
    const cookie = await openDoorSession('sue')
    const token = await openToken('sue')
    const isTokenLive = async () =>
      (await send(server.multiModel, { path: '/_api/user/sue', headers: { Authorization: `bearer ${token}` } }))
        .status === 200
    assert.deepEqual([await isLive(cookie), await isTokenLive()], [true, true])
    const idOf = async (door: string) =>
      (await call('GET', '/account/sessions')).json.sessions.find((each: { door: string }) => each.door === door).id
    assert.equal((await call('DELETE', `/account/sessions/${await idOf('document')}`)).status, 200)
    assert.deepEqual([await isLive(cookie), await isTokenLive()], [false, true])
    assert.equal((await call('DELETE', `/account/sessions/${await idOf('multi-model')}`)).status, 200)
    assert.equal(await isTokenLive(), false)
    assert.equal((await call('GET', '/account')).status, 200)
  })

  it('all but the current one end together', async () => {
    await addUser('sid')
    const { call } = await openBrowser('sid')
    const others = [await openDoorSession('sid'), await openDoorSession('sid')]
    assert.deepEqual((await call('POST', '/account/sessions/end-others')).json, { endedSessions: 2 })
    for (const cookie of others) assert.equal(await isLive(cookie), false)
    assert.equal((await call('GET', '/account/sessions')).json.sessions.length, 1)
  })

  it('an administrator ends all of another account and sees none of them in the list', async () => {
    const credentials = { name: 'abi', password: PASSWORD }
    assert.equal((await ask(AS_ADMIN, 'POST', '/administrators', credentials)).status, 200)
    const { call } = await openBrowser('abi')
    await openDoorSession('abi')
    const find = async () => {
      const { administrators } = (await ask(AS_ADMIN, 'GET', '/administrators')).json
      return administrators.find(({ name }: { name: string }) => name === 'abi')
    }
    const { sessions, lastSignIn } = await find()
    assert.deepEqual([sessions, lastSignIn.peer], [2, '127.0.0.1'])
    assert.deepEqual((await ask(AS_ADMIN, 'DELETE', '/users/abi/sessions')).json, { endedSessions: 2 })
    assert.equal((await find()).sessions, 0)
    assert.equal((await call('GET', '/account')).status, 401)
    assert.equal((await ask(AS_ADMIN, 'DELETE', '/users/unknown/sessions')).status, 404)
  })

  it('those of another user cannot be ended, and look as if they did not exist', async () => {
    await addUser('sara')
    const as = await addUser('stan')
    const cookie = await openDoorSession('sara')
    const [{ id }] = (await ask(AS_ADMIN, 'GET', '/users/sara/sessions')).json.sessions
    assert.deepEqual(errorOf(await ask(as, 'DELETE', `/account/sessions/${id}`)), [404, 'not_found'])
    assert.deepEqual(errorOf(await ask(as, 'DELETE', '/account/sessions/unknown')), [404, 'not_found'])
    assert.deepEqual(errorOf(await ask(AS_ADMIN, 'DELETE', `/users/stan/sessions/${id}`)), [404, 'not_found'])
    assert.equal(await isLive(cookie), true)
    assert.equal((await ask(AS_ADMIN, 'DELETE', `/users/sara/sessions/${id}`)).status, 200)
    assert.equal(await isLive(cookie), false)
    assert.deepEqual(errorOf(await ask(AS_ADMIN, 'GET', '/users/nil/sessions')), [404, 'not_found'])
  })
})

describe('password', () => {
  it('another one ends all sessions but gives the browser a new one', async () => {
    await addUser('pia')
    const { browser, call } = await openBrowser('pia')
    const other = await openBrowser('pia')
    const body = { current_password: PASSWORD, password: 'another password' }
    const changed = await call('PUT', '/account/password', body)
    assert.deepEqual(changed.json, { endedSessions: 2 })
    assert.equal((await browser.ask('/session')).json.name, 'pia')
    assert.equal((await other.browser.ask('/session')).json.name, null)
    assert.equal((await ask(`pia:${PASSWORD}`, 'GET', '/account')).status, 401)
    assert.equal((await ask('pia:another password', 'GET', '/account')).status, 200)
  })

  it('needs the current one from a session, however new it is', async () => {
    await addUser('pit')
    const { call } = await openBrowser('pit')
    for (const current of [{}, { current_password: 'wrong' }]) {
      const reply = await call('PUT', '/account/password', { password: 'another password', ...current })
      assert.deepEqual(errorOf(reply), [403, 'password_required'])
    }
    const short = await call('PUT', '/account/password', { password: 'short', current_password: PASSWORD })
    assert.deepEqual(errorOf(short), [400, 'password_refused'])
  })

  it('a wrong current one is refused and counted, even where a new session needs none', async () => {
    await addUser('pru')
    const { call } = await openBrowser('pru')
    const token = { name: 'backup', expires: '2040-01-01' }
    for (const [method, path, body] of [
      ['POST', '/account/tokens', token],
      ['POST', '/account/totp/confirm', { secret: 'A'.repeat(32), code: '000000' }],
      ['POST', '/account/recovery-codes', {}],
    ] as const)
      assert.deepEqual(errorOf(await call(method, path, { ...body, current_password: 'wrong' })), NEEDS_PASSWORD, path)
    const wrong = { password: 'another password', current_password: 'wrong' }
    assert.deepEqual(errorOf(await ask(`pru:${PASSWORD}`, 'PUT', '/account/password', wrong)), NEEDS_PASSWORD)
    assert.equal((await call('POST', '/account/tokens', { ...token, current_password: PASSWORD })).status, 200)
    assert.equal((await call('POST', '/account/tokens', { ...token, name: 'other' })).status, 200)
    for (let index = 0; index < 20; index += 1)
      await call('POST', '/account/tokens', { ...token, current_password: `wrong ${index}` })
    assert.ok((await ask(AS_ADMIN, 'GET', '/users/pru')).json.lockout, 'wrong ones lock the account')
  })

  it('of an administrator needs the current one at /administrators too', async () => {
    assert.equal((await ask(AS_ADMIN, 'POST', '/administrators', { name: 'abe', password: PASSWORD })).status, 200)
    const { call } = await openBrowser('abe')
    const set = (path: string, more: object) => call('PUT', path, { password: 'another password', ...more })
    for (const path of ['/administrators/abe', '/administrators/abe/password'])
      for (const current of [{}, { current_password: 'wrong' }])
        assert.deepEqual(errorOf(await set(path, current)), NEEDS_PASSWORD)
    assert.equal((await set('/administrators/abe/password', { current_password: PASSWORD })).status, 200)
    assert.equal((await ask(AS_ADMIN, 'DELETE', '/administrators/abe')).status, 200)
  })

  it('of an administrator who was removed cannot be set, so that the administrator does not come back', async () => {
    const body = { password: PASSWORD }
    assert.equal((await ask(AS_ADMIN, 'POST', '/administrators', { name: 'amy', ...body })).status, 200)
    assert.deepEqual(errorOf(await ask(AS_ADMIN, 'POST', '/administrators', { name: 'amy', ...body })), [
      409,
      'conflict',
    ])
    assert.equal((await ask(AS_ADMIN, 'DELETE', '/administrators/amy')).status, 200)
    assert.equal((await ask(AS_ADMIN, 'PUT', '/administrators/amy/password', body)).status, 404)
    assert.equal((await ask(AS_ADMIN, 'PUT', '/administrators/amy', body)).status, 200)
    assert.equal((await ask(AS_ADMIN, 'PUT', '/administrators/amy/password', { password: 'another one' })).status, 200)
    assert.equal((await ask(AS_ADMIN, 'DELETE', '/administrators/amy')).status, 200)
  })

  it('a user who must change it can, and then do everything else', async () => {
    const as = await addUser('pam', { mustChangePassword: true })
    assert.deepEqual(errorOf(await ask(as, 'GET', '/account/sessions')), [403, 'password_change_required'])
    assert.equal((await ask(as, 'PUT', '/account/password', { password: 'another password' })).status, 200)
    assert.equal((await ask('pam:another password', 'GET', '/account/sessions')).status, 200)
  })

  it('an administrator changes the own one', async () => {
    assert.equal((await ask(AS_ADMIN, 'POST', '/administrators', { name: 'ann', password: PASSWORD })).status, 200)
    assert.equal((await ask(`ann:${PASSWORD}`, 'PUT', '/account/password', { password: 'new password' })).status, 200)
    assert.equal((await ask('ann:new password', 'GET', '/account')).json.isAdministrator, true)
  })
})

describe('access tokens', () => {
  it('are created, shown once, used and removed', async () => {
    const as = await addUser('tom', { grants: [{ database: 'sales', level: 'ro' }] })
    const body = { name: 'backup', expires: '2040-01-01', databases: ['sales', '_system'] }
    const made = await ask(as, 'POST', '/account/tokens', body)
    assert.match(made.json.token, /^v1\./)
    const use = async () =>
      (await send(server.multiModel, { path: '/_db/sales/_api/version', as: `:${made.json.token}` })).status
    assert.notEqual(await use(), 401)
    const { tokens } = (await ask(as, 'GET', '/account/tokens')).json
    assert.deepEqual(
      tokens.map(({ name, isActive, databases, token }: Record<string, unknown>) => ({
        name,
        isActive,
        databases,
        token,
      })),
      [{ name: 'backup', isActive: true, databases: ['sales', '_system'], token: undefined }],
    )
    assert.deepEqual(errorOf(await ask(as, 'POST', '/account/tokens', body)), [409, 'name_taken'])
    assert.equal((await ask(as, 'DELETE', '/account/tokens/backup')).status, 200)
    assert.equal(await use(), 401)
    assert.deepEqual(errorOf(await ask(as, 'DELETE', '/account/tokens/backup')), [404, 'not_found'])
  })

  it('a malformed one is rejected', async () => {
    const as = await addUser('tim')
    const base = { name: 'x', expires: '2040-01-01' }
    for (const body of [
      { name: 'x' },
      { ...base, expires: 'soon' },
      { ...base, name: '' },
      { ...base, databases: [] },
      { ...base, services: [1] },
      { ...base, scope: 'all' },
    ])
      assert.deepEqual(errorOf(await ask(as, 'POST', '/account/tokens', body)), [400, 'bad_request'])
    assert.deepEqual(errorOf(await ask(AS_ADMIN, 'POST', '/account/tokens', base)), [403, 'forbidden'])
    assert.deepEqual((await ask(AS_ADMIN, 'GET', '/account/tokens')).json, { tokens: [] })
  })

  it('do not create others', async () => {
    const as = await addUser('tess')
    const made = await ask(as, 'POST', '/account/tokens', { name: 'one', expires: '2040-01-01' })
    const more = await send(server.multiModel, {
      method: 'POST',
      path: `${API}/account/tokens`,
      as: `:${made.json.token}`,
      body: { name: 'two', expires: '2040-01-01' },
    })
    assert.deepEqual(errorOf(more), [403, 'password_required'])
  })
})
