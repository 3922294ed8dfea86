// What the options of the door change: authentication off, Unix sockets, roles, hardening, remembered passwords.
import assert from 'node:assert/strict'
import { join } from 'node:path'
import { describe, it, type TestContext } from 'node:test'
import { GATE, member, now, openMultiModel, superuser, userToken } from '../../support/multi-model.ts'
import { ANN, FORBIDDEN, MAX, openWithUsers, ROB, refusal } from '../../support/multi-model-users.ts'
import { request, sendRaw } from '../../support/raw.ts'
import { AS_ADMIN } from '../../support/request.ts'
import { makeFolder } from '../../support/scope.ts'
import { startServer } from '../../support/server.ts'

const OFF = { server: { authentication: false } }

describe('authentication off', () => {
  it('allows every read without a credential or with a wrong one', async (t) => {
    const { ask } = await openWithUsers(t, OFF)
    for (const path of [
      '/_api/version',
      '/_admin/status',
      '/_api/user',
      '/_api/user/ann',
      '/_api/user/ann/database',
      '/_api/user/ann/config',
      '/_api/token/ann',
      '/_api/database',
      '/_api/database/user',
      '/',
    ]) {
      assert.equal((await ask('GET', path)).status, 200, path)
      assert.equal((await ask('GET', path, { as: 'Basic x' })).status, 200, path)
    }
  })
  it('allows changes only to administrators and superusers', async (t) => {
    const { ask } = await openWithUsers(t, OFF)
    const changes: readonly (readonly [string, string, object?])[] = [
      ['POST', '/_api/user', { user: 'new' }],
      ['PUT', '/_api/user/ann', { passwd: 'x' }],
      ['PATCH', '/_api/user/ann', { passwd: 'x' }],
      ['DELETE', '/_api/user/ann'],
      ['POST', '/_api/user/ann', { passwd: 'apple' }],
      ['PUT', '/_api/user/ann/database/shop', { grant: 'rw' }],
      ['DELETE', '/_api/user/ann/database/shop'],
      ['PUT', '/_api/user/ann/config/a', { value: 1 }],
      ['POST', '/_api/token/ann', { name: 'x' }],
      ['DELETE', '/_api/token/ann/1'],
      ['GET', '/_admin/server/jwt'],
      ['POST', '/_admin/server/jwt'],
    ]
    for (const [method, path, json] of changes) {
      for (const auth of [undefined, 'Basic eDp5', 'Bearer x.y.z', ROB]) {
        const answer = await ask(method, path, { ...(auth ? { as: auth } : {}), ...(json ? { body: json } : {}) })
        const isOwnCheck = method === 'POST' && path === '/_api/user/ann' && auth === ROB
        assert.equal(answer.status, isOwnCheck ? 200 : 403, `${method} ${path} ${auth}`)
      }
    }
    assert.deepEqual((await ask('DELETE', '/_api/user/ann')).json, FORBIDDEN)
    assert.equal((await ask('POST', '/_api/user', { as: AS_ADMIN, body: { user: 'new' } })).status, 201)
    assert.equal((await ask('DELETE', '/_api/user/new', { as: superuser() })).status, 202)
    assert.equal((await ask('PATCH', '/_api/user/ann', { as: ANN, body: { passwd: 'pear' } })).status, 200)
  })
  it('reports an unknown database', async (t) => {
    const { ask } = await openMultiModel(t, OFF)
    assert.equal(member((await ask('GET', '/_db/none/_api/version')).json, 'errorNum'), 1228)
  })
  it('ignores the allowed_paths of a token', async (t) => {
    const { ask } = await openMultiModel(t, OFF)
    assert.equal((await ask('GET', '/_api/version', { as: superuser({ allowed_paths: ['/x'] }) })).status, 200)
  })
})

describe('Unix sockets', () => {
  async function openSocket(t: TestContext, isRequired: boolean) {
    const path = join(makeFolder(t), 'door')
    await startServer(t, { server: { endpoint: `unix://${path}`, 'authentication-unix-sockets': isRequired } })
    const ask = async (method: string, target: string, ...headers: string[]) =>
      sendRaw({ path }, request(target, ...headers).replace('GET', method))
    return ask
  }

  it('--server.authentication-unix-sockets true: a credential is needed there too', async (t) => {
    const ask = await openSocket(t, true)
    assert.equal((await ask('GET', '/_api/version')).status, 401)
    assert.equal((await ask('GET', '/_api/version', `Authorization: ${AS_ADMIN}`)).status, 200)
  })
  it('--server.authentication-unix-sockets false: no credential is needed for reads, but for changes', async (t) => {
    const ask = await openSocket(t, false)
    assert.equal((await ask('GET', '/_api/version')).status, 200)
    assert.equal((await ask('GET', '/_api/user')).status, 200)
    assert.equal((await ask('GET', '/_admin/server/jwt')).status, 403)
    assert.equal((await ask('DELETE', '/_api/user/admin')).status, 403)
    assert.equal((await ask('DELETE', '/_api/user/x', `Authorization: ${AS_ADMIN}`)).status, 404)
  })
})

describe('--server.role', () => {
  for (const role of ['agent', 'dbserver'] as const) {
    it(`${role}: superuser tokens only`, async (t) => {
      const { ask } = await openMultiModel(t, { server: { role } })
      const path = '/_admin/server/role'
      assert.equal((await ask('GET', path, { as: superuser() })).status, 200)
      for (const auth of [AS_ADMIN, userToken('admin'), userToken('admin', { iat: now() })]) {
        assert.deepEqual((await ask('GET', path, { as: auth })).json, GATE)
      }
      const users = refusal(401, 401, 'This server does not support users')
      for (const [method, target] of [
        ['POST', '/_open/auth'],
        ['POST', '/_open/auth/renew'],
        ['DELETE', '/_open/auth'],
      ] as const) {
        assert.deepEqual((await ask(method, target, { body: {} })).json, users)
      }
      assert.equal((await ask('GET', '/_admin/server/availability')).status, 200)
    })
  }
})

describe('paths about the server', () => {
  const UUID = '0'.repeat(32)
  const rows: readonly (readonly [string, object])[] = [
    ['/_api/version', { server: 'arango', license: 'community', version: '3.12.5' }],
    ['/_admin/version', { server: 'arango', license: 'community', version: '3.12.5' }],
    ['/_admin/server/availability', { mode: 'default', error: false, code: 200 }],
    ['/_admin/server/mode', { mode: 'default', error: false, code: 200 }],
    ['/_admin/server/role', { role: 'SINGLE', error: false, code: 200 }],
    ['/_admin/server/id', { id: `SNGL-${UUID}`, error: false, code: 200 }],
  ]
  for (const [path, json] of rows) {
    it(path, async (t) => {
      const { ask } = await openWithUsers(t)
      assert.deepEqual((await ask('GET', path, { as: ROB })).json, json)
      assert.equal((await ask('DELETE', path, { as: AS_ADMIN })).status, 405)
    })
  }
  it('/_api/version?details=true', async (t) => {
    const { ask } = await openMultiModel(t)
    const { json } = await ask('GET', '/_api/version?details=true', { as: AS_ADMIN })
    assert.equal(member(member(json, 'details'), 'mode'), 'server')
  })
  it('/_admin/status', async (t) => {
    const { ask } = await openMultiModel(t)
    const { json } = await ask('GET', '/_admin/status', { as: AS_ADMIN })
    assert.deepEqual([member(json, 'server'), member(json, 'mode')], ['arango', 'server'])
  })
  it('unknown path below /_admin/server', async (t) => {
    const { ask } = await openMultiModel(t)
    const { json } = await ask('GET', '/_admin/server/nothing', { as: AS_ADMIN })
    assert.deepEqual(json, refusal(404, 404, "unknown path '/_admin/server/nothing'"))
  })
})

describe('--server.harden', () => {
  const HARDENED = { server: { harden: true } }
  it('shows versions and status only to managers of the server', async (t) => {
    const { ask } = await openWithUsers(t, HARDENED)
    for (const path of ['/_api/version', '/_admin/version', '/_api/version?details=true']) {
      assert.deepEqual((await ask('GET', path, { as: ROB })).json, { server: 'arango', license: 'community' })
      for (const auth of [AS_ADMIN, MAX, superuser()]) {
        assert.equal(member((await ask('GET', path, { as: auth })).json, 'version'), '3.12.5')
      }
    }
    assert.deepEqual((await ask('GET', '/_admin/status', { as: ROB })).json, FORBIDDEN)
    assert.equal((await ask('GET', '/_admin/status', { as: AS_ADMIN })).status, 200)
  })
})

describe('options for tokens', () => {
  it('expiryTime must be within the configured bounds', async (t) => {
    const { ask } = await openMultiModel(t, {
      auth: { 'minimal-jwt-expiry-time': 2, 'maximal-jwt-expiry-time': 100_000 },
    })
    const status = async (expiryTime: number) =>
      (await ask('POST', '/_open/auth', { body: { username: 'admin', password: 'adminpw', expiryTime } })).status
    assert.deepEqual(
      [await status(1), await status(2), await status(100_000), await status(100_001)],
      [400, 200, 200, 400],
    )
  })
  it('a minimum above the maximum is rejected at start', async (t) => {
    const auth = { 'minimal-jwt-expiry-time': 100, 'maximal-jwt-expiry-time': 10 }
    await assert.rejects(openMultiModel(t, { auth }), /must not be greater/)
  })
})
