// The driver as it is, unchanged.
import assert from 'node:assert/strict'
import { beforeEach, describe, it } from 'node:test'
import { Database } from 'arangojs'
import { isArangoError } from 'arangojs/errors'
import { makeToken, now, userToken } from '../support/multi-model.ts'
import { createSharedScope } from '../support/scope.ts'
import { startServer } from '../support/server.ts'

const { multiModel: url } = await startServer(createSharedScope())

const connect = (databaseName = '_system'): Database => new Database({ url, databaseName })

async function connectAsAdmin(): Promise<Database> {
  const db = connect()
  await db.login('admin', 'adminpw')
  return db
}

/** Refused with this status and number of the database's own. */
const isRefused =
  (code: number, errorNum: number) =>
  (error: unknown): boolean =>
    isArangoError(error) && error.code === code && error.errorNum === errorNum

const drop = async (...names: string[]) => {
  const admin = await connectAsAdmin()
  for (const name of names) await admin.removeUser(name).catch(() => {})
}

beforeEach(() => drop('ann', 'bob'))

describe('credentials', () => {
  it('login signs in', async () => {
    const db = connect()
    const token = await db.login('admin', 'adminpw')
    assert.equal(token.split('.').length, 3)
    assert.equal((await db.version()).server, 'arango')
  })
  it('rejects a wrong password', async () => {
    const db = connect()
    await assert.rejects(db.login('admin', 'wrong'), isRefused(401, 401))
    await assert.rejects(db.version(), isRefused(401, 11))
  })
  it('useBasicAuth signs in', async () => {
    const db = connect()
    db.useBasicAuth('admin', 'adminpw')
    assert.equal((await db.version()).server, 'arango')
    db.useBasicAuth('admin', 'wrong')
    await assert.rejects(db.version(), isRefused(401, 11))
  })
  it('useBearerAuth signs in', async () => {
    const db = connect()
    db.useBearerAuth(await connect().login('admin', 'adminpw'))
    assert.equal((await db.version()).server, 'arango')
    db.useBearerAuth(makeToken({ iss: 'arangodb', server_id: 'arangojs' }))
    assert.equal((await db.version()).server, 'arango')
  })
  it('rejects an expired token', async () => {
    const db = connect()
    db.useBearerAuth(userToken('admin', { exp: now() - 1 }).slice('Bearer '.length))
    await assert.rejects(db.version(), isRefused(401, 11))
  })
  it('renewAuthToken keeps a valid token', async () => {
    const db = await connectAsAdmin()
    assert.equal(await db.renewAuthToken(), null)
    assert.equal((await db.version()).server, 'arango')
  })
  it('renewAuthToken replaces a token that expires soon', async () => {
    const db = connect()
    db.useBearerAuth(userToken('admin', { exp: now() + 60 }).slice('Bearer '.length))
    const renewed = await db.renewAuthToken()
    assert.equal(renewed?.split('.').length, 3)
    assert.equal((await db.version()).server, 'arango')
  })
  it('availability needs no credential', async () => assert.equal(await connect().availability(), 'default'))
  it('rejects a revoked token', async () => {
    const db = await connectAsAdmin()
    await db.request({ method: 'DELETE', pathname: '/_open/auth' })
    await assert.rejects(db.version(), isRefused(401, 11))
  })
})

describe('users', () => {
  it('create, get, list, update, replace, remove', async () => {
    const db = await connectAsAdmin()
    const made = await db.createUser('ann', { passwd: 'apple', extra: { colour: 'red' } })
    assert.deepEqual([made.user, made.active, made.extra], ['ann', true, { colour: 'red' }])
    assert.equal((await db.getUser('ann')).user, 'ann')
    assert.deepEqual(
      (await db.listUsers()).map(({ user }) => user),
      ['admin', 'ann'],
    )
    await db.updateUser('ann', { passwd: 'pear', extra: { size: 1 } })
    assert.deepEqual((await db.getUser('ann')).extra, { colour: 'red', size: 1 })
    await connect().login('ann', 'pear')
    await db.replaceUser('ann', { passwd: 'fig', active: false })
    assert.deepEqual((await db.getUser('ann')).extra, {})
    await assert.rejects(connect().login('ann', 'fig'), isRefused(401, 401))
    await db.removeUser('ann')
    await assert.rejects(db.getUser('ann'), isRefused(404, 1703))
  })
  it('names may need encoding', async () => {
    const db = await connectAsAdmin()
    for (const name of ['jörg', 'a b', '50%', 'a+b', 'x@y.example', '名前']) {
      await db.createUser(name, 'pw')
      assert.equal((await db.getUser(name)).user, name)
      await db.removeUser(name)
    }
  })
  it('errors have the codes of ArangoDB', async () => {
    const db = await connectAsAdmin()
    await db.createUser('ann', 'apple')
    await assert.rejects(db.createUser('ann', 'x'), isRefused(409, 1702))
    await assert.rejects(db.createUser('', 'x'), isRefused(400, 1700))
    await assert.rejects(db.updateUser('admin', { passwd: 'x' }), isRefused(403, 11))
    const ann = connect()
    await ann.login('ann', 'apple')
    await assert.rejects(ann.getUser('admin'), isRefused(403, 403))
    await assert.rejects(ann.version(), isRefused(401, 11))
  })
})

describe('permissions', () => {
  it('are set and read for databases and collections', async () => {
    const db = await connectAsAdmin()
    await db.createUser('ann', 'apple')
    await db.setUserAccessLevel('ann', { database: 'shop' }, 'rw')
    assert.equal(await db.getUserAccessLevel('ann', { database: 'shop' }), 'rw')
    await db.setUserAccessLevel('ann', { database: 'shop', collection: 'orders' }, 'ro')
    assert.equal(await db.getUserAccessLevel('ann', { database: 'shop', collection: 'orders' }), 'ro')
    assert.deepEqual(await db.getUserDatabases('ann'), { shop: 'rw' })
    assert.deepEqual((await db.getUserDatabases('ann', true))['shop'], {
      permission: 'rw',
      collections: { orders: 'ro', '*': 'undefined' },
    })
    await db.clearUserAccessLevel('ann', { database: 'shop', collection: 'orders' })
    assert.equal(await db.getUserAccessLevel('ann', { database: 'shop', collection: 'orders' }), 'rw')
  })
  it('apply at once', async () => {
    const db = await connectAsAdmin()
    await db.createUser('ann', 'apple')
    await db.setUserAccessLevel('ann', { database: 'shop' }, 'ro')
    const shop = connect('shop')
    await shop.login('ann', 'apple')
    assert.equal((await shop.get()).name, 'shop')
    assert.equal(await shop.exists(), true)
    assert.deepEqual(await shop.listUserDatabases(), ['shop'])
    await db.clearUserAccessLevel('ann', { database: 'shop' })
    await assert.rejects(shop.get(), isRefused(401, 11))
  })
  it('of missing databases are reported', async () => {
    const db = connect('nothing')
    // the path of the sign-in is open, and does not show whether the database exists
    await db.login('admin', 'adminpw')
    assert.equal(await db.exists(), false)
    db.useBasicAuth('admin', 'adminpw')
    assert.equal(await db.exists(), false)
    assert.deepEqual(await (await connectAsAdmin()).listDatabases(), ['_system'])
  })
})

describe('access tokens', () => {
  it('are created, listed, used and deleted', async () => {
    const admin = await connectAsAdmin()
    await admin.createUser('bob', 'b')
    const db = connect()
    db.useBasicAuth('bob', 'b')
    const made = await db.createAccessToken('bob', { name: 'ci', valid_until: now() + 100 })
    assert.deepEqual(
      (await db.getAccessTokens('bob')).map(({ id, name, active }) => [id, name, active]),
      [[made.id, 'ci', true]],
    )
    const program = connect()
    program.useAccessToken(made.token)
    assert.equal((await program.getUser('bob')).user, 'bob')
    program.useBasicAuth('bob', made.token)
    assert.equal((await program.getUser('bob')).user, 'bob')
    await program.login('bob', made.token)
    assert.equal((await program.getUser('bob')).user, 'bob')
    await db.deleteAccessToken('bob', made.id)
    program.useAccessToken(made.token)
    await assert.rejects(program.getUser('bob'), isRefused(401, 11))
    assert.deepEqual(await db.getAccessTokens('bob'), [])
  })
  it('an expired one is rejected', async () => {
    const admin = await connectAsAdmin()
    await admin.createUser('bob', 'b')
    const made = await admin.createAccessToken('bob', { name: 'old', valid_until: now() - 1 })
    assert.equal(made.active, false)
    const program = connect()
    program.useAccessToken(made.token)
    await assert.rejects(program.getUser('bob'), isRefused(401, 11))
  })
  it('a duplicate name is rejected, and so is a token of another user', async () => {
    const admin = await connectAsAdmin()
    await admin.createUser('bob', 'b')
    await admin.createAccessToken('bob', { name: 'ci', valid_until: now() + 100 })
    await assert.rejects(admin.createAccessToken('bob', { name: 'ci' }), isRefused(409, 1207))
    await admin.createUser('ann', 'apple')
    const ann = connect()
    ann.useBasicAuth('ann', 'apple')
    await assert.rejects(ann.getAccessTokens('bob'), isRefused(403, 403))
  })
})
