// What the driver's own tests expect of access tokens and of signing in with them, said again in ours.
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { Database } from 'arangojs'
import { isArangoError } from 'arangojs/errors'
import { now } from '../support/multi-model.ts'
import type { Scope } from '../support/scope.ts'
import { startServer } from '../support/server.ts'

const PASSWORD = 'testpass123'

/** The administrator, a plain user, and one who may write the system database. */
async function open(t: Scope) {
  const { multiModel: url } = await startServer(t)
  const connect = (): Database => {
    const db = new Database({ url })
    t.after(() => db.close())
    return db
  }
  const system = connect()
  system.useBasicAuth('admin', 'adminpw')
  await system.createUser('plain', PASSWORD)
  await system.createUser('operator', PASSWORD)
  await system.setUserAccessLevel('operator', { database: '_system' }, 'rw')
  return { system, connect }
}

const refusedWith =
  (code: number, errorNum?: number) =>
  (error: unknown): boolean =>
    isArangoError(error) && error.code === code && (errorNum === undefined || error.errorNum === errorNum)

describe('createAccessToken', () => {
  it('returns a text that begins with its version', async (t) => {
    const { system } = await open(t)
    const made = await system.createAccessToken('plain', { name: 'Test token 1', valid_until: now() + 60 })
    assert.match(made.token, /^v1\./)
    assert.equal(typeof made.id, 'number')
    assert.equal(made.name, 'Test token 1')
  })

  it('returns the second at which it expires', async (t) => {
    const { system } = await open(t)
    const until = now() + 24 * 60 * 60
    const made = await system.createAccessToken('plain', { name: 'Test token 2', valid_until: until })
    assert.equal(made.valid_until, until)
    assert.equal(made.active, true)
  })

  it('without an expiry is stored and never active', async (t) => {
    const { system } = await open(t)
    const made = await system.createAccessToken('plain', { name: 'endless' })
    assert.deepEqual([made.valid_until, made.active], [0, false])
  })

  it('rejects an unknown user', async (t) => {
    const { system } = await open(t)
    await assert.rejects(system.createAccessToken('unknown', { name: 'x' }), refusedWith(404, 1703))
  })

  it('rejects an empty user name and an empty token name', async (t) => {
    const { system } = await open(t)
    // the driver refuses both itself, so this is what another client would send
    for (const [pathname, name] of [
      ['/_api/token/', 'x'],
      ['/_api/token/plain', ''],
    ] as const)
      await assert.rejects(system.request({ method: 'POST', pathname, body: { name } }), refusedWith(400))
  })
})

describe('getAccessTokens', () => {
  it('lists tokens without their text', async (t) => {
    const { system } = await open(t)
    const made = await system.createAccessToken('plain', { name: 'listed', valid_until: now() + 60 })
    const [listed, ...others] = await system.getAccessTokens('plain')
    assert.deepEqual(others, [])
    assert.deepEqual([listed?.id, listed?.name], [made.id, 'listed'])
    assert.equal(listed !== undefined && 'token' in listed, false)
  })

  it('is empty for a user without tokens', async (t) => {
    const { system } = await open(t)
    assert.deepEqual(await system.getAccessTokens('plain'), [])
  })
})

describe('deleteAccessToken', () => {
  it('deletes a token', async (t) => {
    const { system } = await open(t)
    const made = await system.createAccessToken('plain', { name: 'to delete', valid_until: now() + 60 })
    await system.deleteAccessToken('plain', made.id)
    assert.deepEqual(await system.getAccessTokens('plain'), [])
  })

  it('rejects an invalid id', async (t) => {
    const { system } = await open(t)
    // the driver refuses it itself, so this is what another client would send
    const raw = system.request({ method: 'DELETE', pathname: '/_api/token/plain/-1' })
    await assert.rejects(raw, refusedWith(400))
  })
})

describe('signing in with an access token', () => {
  async function openWithToken(t: Scope) {
    const scene = await open(t)
    const { token, id } = await scene.system.createAccessToken('operator', { name: 'auth', valid_until: now() + 60 })
    return { ...scene, token, id }
  }

  const WAYS: readonly (readonly [name: string, use: (db: Database, token: string) => unknown])[] = [
    ['useAccessToken', (db, token) => db.useAccessToken(token)],
    ['login with an empty user name', (db, token) => db.login('', token)],
    ['login with the user name', (db, token) => db.login('operator', token)],
    ['useBasicAuth with an empty user name', (db, token) => db.useBasicAuth('', token)],
    ['useBasicAuth with the user name', (db, token) => db.useBasicAuth('operator', token)],
  ]
  for (const [name, use] of WAYS)
    it(name, async (t) => {
      const { connect, token } = await openWithToken(t)
      const client = connect()
      await use(client, token)
      assert.equal((await client.version()).server, 'arango')
    })

  it('rejects the token with another user name', async (t) => {
    const { connect, token } = await openWithToken(t)
    const client = connect()
    await assert.rejects(client.login('plain', token), refusedWith(401, 401))
    client.useBasicAuth('plain', token)
    await assert.rejects(client.version(), refusedWith(401, 11))
  })

  it('a deleted token and the JWTs issued for it are rejected', async (t) => {
    const { system, connect, token, id } = await openWithToken(t)
    const [basic, bearer] = [connect(), connect()]
    basic.useAccessToken(token)
    await bearer.login('', token)
    assert.equal((await bearer.version()).server, 'arango')
    await system.deleteAccessToken('operator', id)
    for (const client of [basic, bearer]) await assert.rejects(client.version(), refusedWith(401, 11))
  })
})
