// Grants: how they are given, what they say, and what they open.
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { GATE, type MultiModel, member, openMultiModel, superuser } from '../../support/multi-model.ts'
import {
  ANN,
  FORBIDDEN,
  MAX,
  NOT_FOUND,
  NOT_OWNER,
  openWithUsers,
  ROB,
  refusal,
  runRows,
} from '../../support/multi-model-users.ts'
import { AS_ADMIN } from '../../support/request.ts'

const LEVEL = refusal(400, 10, "expecting access type 'rw', 'ro' or 'none'")
const NO_DATABASE = refusal(404, 1228, 'database not found')
const wrapped = (result: unknown) => ({ error: false, code: 200, result })
const DONE = { error: false, code: 202 }
const on = (place: string, user = 'ann') => `/_api/user/${user}/database/${place}`

const grant = ({ ask }: Pick<MultiModel, 'ask'>, place: string, level: string, user = 'ann') =>
  ask('PUT', on(place, user), { as: AS_ADMIN, body: { grant: level } })

describe('setting and removing grants', () => {
  runRows([
    [
      'sets the level of a database',
      'PUT',
      on('shop'),
      { as: AS_ADMIN, body: { grant: 'rw' } },
      200,
      { shop: 'rw', error: false, code: 200 },
    ],
    [
      'sets the level of all databases',
      'PUT',
      on('*'),
      { as: AS_ADMIN, body: { grant: 'ro' } },
      200,
      { '*': 'ro', error: false, code: 200 },
    ],
    [
      'reads an empty level as none',
      'PUT',
      on('shop'),
      { as: AS_ADMIN, body: { grant: '' } },
      200,
      { shop: 'none', error: false, code: 200 },
    ],
    [
      'sets the level of a collection',
      'PUT',
      on('_system/c'),
      { as: AS_ADMIN, body: { grant: 'ro' } },
      200,
      { '_system/c': 'ro', error: false, code: 200 },
    ],
    [
      'sets the level of all collections',
      'PUT',
      on('_system/*'),
      { as: AS_ADMIN, body: { grant: 'ro' } },
      200,
      { '_system/*': 'ro', error: false, code: 200 },
    ],
    [
      'sets the level of all collections of all databases',
      'PUT',
      on('*/*'),
      { as: AS_ADMIN, body: { grant: 'rw' } },
      200,
      { '*/*': 'rw', error: false, code: 200 },
    ],
    [
      'sets the level of a database called error',
      'PUT',
      on('error'),
      { as: AS_ADMIN, body: { grant: 'rw' } },
      200,
      { error: false, code: 200 },
    ],
    [
      'rejects a collection of an unknown database',
      'PUT',
      on('shop/c'),
      { as: AS_ADMIN, body: { grant: 'ro' } },
      404,
      NO_DATABASE,
    ],
    [
      'rejects a system collection',
      'PUT',
      on('_system/_users'),
      { as: AS_ADMIN, body: { grant: 'ro' } },
      400,
      refusal(400, 10, 'Cannot set rights for system collections'),
    ],
    [
      'rejects one collection of all databases',
      'PUT',
      on('*/c'),
      { as: AS_ADMIN, body: { grant: 'ro' } },
      400,
      refusal(400, 10, 'Only all collections can be granted on all databases'),
    ],
    ['rejects an unknown level', 'PUT', on('shop'), { as: AS_ADMIN, body: { grant: 'admin' } }, 400, LEVEL],
    ['rejects a level that is a number', 'PUT', on('shop'), { as: AS_ADMIN, body: { grant: 1 } }, 400, LEVEL],
    ['rejects a missing level', 'PUT', on('shop'), { as: AS_ADMIN, body: {} }, 400, LEVEL],
    [
      'rejects a level in __proto__',
      'PUT',
      on('shop'),
      { as: AS_ADMIN, body: '{"__proto__":{"grant":"rw"}}' },
      400,
      LEVEL,
    ],
    ['rejects an unknown user', 'PUT', on('shop', 'unknown'), { as: AS_ADMIN, body: { grant: 'rw' } }, 404, NOT_FOUND],
    [
      'rejects a grant for an administrator',
      'PUT',
      on('shop', 'admin'),
      { as: AS_ADMIN, body: { grant: 'ro' } },
      403,
      FORBIDDEN,
    ],
    ['a user cannot grant itself a database', 'PUT', on('shop'), { as: ANN, body: { grant: 'rw' } }, 403, FORBIDDEN],
    [
      'a user who may read the system database cannot grant',
      'PUT',
      on('shop'),
      { as: ROB, body: { grant: 'rw' } },
      403,
      FORBIDDEN,
    ],
    [
      'a user who may write the system database can grant',
      'PUT',
      on('shop'),
      { as: MAX, body: { grant: 'rw' } },
      200,
      { shop: 'rw', error: false, code: 200 },
    ],
    [
      'rejects a lower level of root on _system',
      'PUT',
      on('_system', 'root'),
      { as: AS_ADMIN, body: { grant: 'ro' } },
      403,
      refusal(403, 11, "Cannot lower access level of 'root' to _system"),
    ],
    [
      'rejects removing the grant of root on _system',
      'DELETE',
      on('_system', 'root'),
      { as: AS_ADMIN },
      403,
      refusal(403, 11, "Cannot lower access level of 'root' to _system"),
    ],
    ['removes a grant that does not exist', 'DELETE', on('shop'), { as: AS_ADMIN }, 202, DONE],
    ['rejects removing a grant of an unknown user', 'DELETE', on('shop', 'unknown'), { as: AS_ADMIN }, 404, NOT_FOUND],
    ['rejects removing a grant of an administrator', 'DELETE', on('shop', 'admin'), { as: AS_ADMIN }, 403, FORBIDDEN],
    ['a user cannot remove its own grant', 'DELETE', on('shop'), { as: ANN }, 403, FORBIDDEN],
    [
      'rejects a database name that is too long',
      'PUT',
      on('x'.repeat(300)),
      { as: AS_ADMIN, body: { grant: 'rw' } },
      400,
      refusal(400, 10, 'The name of a database must not be longer than 256 bytes.'),
    ],
  ])
})

describe('reading grants', () => {
  runRows([
    ['shows a user its own level', 'GET', on('shop'), { as: ANN }, 200, wrapped('none')],
    ['shows none for an unknown user', 'GET', on('shop', 'unknown'), { as: AS_ADMIN }, 200, wrapped('none')],
    ['shows rw for an administrator', 'GET', on('shop', 'admin'), { as: AS_ADMIN }, 200, wrapped('rw')],
    ['does not show a user the level of another', 'GET', on('shop', 'rob'), { as: ANN }, 403, NOT_OWNER],
    ['shows the level of a collection', 'GET', on('_system/c', 'rob'), { as: ROB }, 200, wrapped('ro')],
    [
      'shows none for a system collection',
      'GET',
      on('_system/_users', 'admin'),
      { as: AS_ADMIN },
      200,
      wrapped('none'),
    ],
    ['shows none for a collection of an unknown database', 'GET', on('shop/c'), { as: ANN }, 200, wrapped('none')],
    ['lists the databases of a user', 'GET', '/_api/user/rob/database', { as: ROB }, 200, wrapped({ _system: 'ro' })],
    [
      'shows the configured grants of an administrator',
      'GET',
      '/_api/user/admin/database?full=true',
      { as: AS_ADMIN },
      200,
      wrapped({ _system: { permission: 'rw', collections: { '*': 'rw' } }, '*': { permission: 'rw' } }),
    ],
    ['rejects the list of an unknown user', 'GET', '/_api/user/unknown/database', { as: AS_ADMIN }, 404, NOT_FOUND],
    ['does not list the databases of another user', 'GET', '/_api/user/rob/database', { as: ANN }, 403, NOT_OWNER],
  ])

  it('levels default to those of more general grants', async (t) => {
    const door = await openWithUsers(t)
    await grant(door, 'shop', 'ro')
    await grant(door, 'store', 'none')
    await grant(door, 'shop/c', 'rw')
    await grant(door, '*', 'ro')
    const level = async (place: string) => member((await door.ask('GET', on(place), { as: AS_ADMIN })).json, 'result')
    for (const [place, expected] of [
      ['shop', 'ro'],
      ['shop?configured=true', 'ro'],
      ['shop/c', 'rw'],
      ['shop/d', 'ro'],
      ['store', 'none'],
      ['any', 'ro'],
      ['_system', 'ro'],
      ['*', 'ro'],
    ] as const) {
      assert.equal(await level(place), expected, place)
    }
    assert.deepEqual((await door.ask('GET', '/_api/user/ann/database', { as: ANN })).json, {
      ...wrapped({ _system: 'ro', shop: 'ro' }),
    })
  })
  it('full=true shows the configured grants', async (t) => {
    const door = await openWithUsers(t)
    await grant(door, 'shop', 'none')
    await grant(door, 'shop/c', 'rw')
    await grant(door, 'shop/*', 'ro')
    const { json } = await door.ask('GET', '/_api/user/ann/database?full=true', { as: ANN })
    assert.deepEqual(json, {
      ...wrapped({
        _system: { permission: 'undefined', collections: { '*': 'undefined' } },
        shop: { permission: 'none', collections: { c: 'rw', '*': 'ro' } },
        '*': { permission: 'none' },
      }),
    })
  })
  it('an administrator has rw on every database', async (t) => {
    const door = await openWithUsers(t)
    await grant(door, 'shop', 'ro')
    const { json } = await door.ask('GET', '/_api/user/admin/database', { as: AS_ADMIN })
    assert.deepEqual(json, wrapped({ _system: 'rw', shop: 'rw' }))
  })
})

describe('what grants allow', () => {
  const VERSION = '/_api/version'

  it('a user without grants reaches only its own data', async (t) => {
    const { ask } = await openWithUsers(t)
    for (const path of [VERSION, '/_admin/status', '/_api/database/user', '/_api/anything']) {
      assert.deepEqual((await ask('GET', path, { as: ANN })).json, GATE, path)
    }
    assert.equal((await ask('GET', '/_api/user/ann', { as: ANN })).status, 200)
  })
  it('a changed grant takes effect at once', async (t) => {
    const door = await openWithUsers(t)
    const status = async () => (await door.ask('GET', `/_db/shop${VERSION}`, { as: ANN })).status
    assert.equal(await status(), 401)
    for (const [level, expected] of [
      ['ro', 200],
      ['none', 401],
      ['rw', 200],
    ] as const) {
      assert.equal((await grant(door, 'shop', level)).status, 200)
      assert.equal(await status(), expected, level)
    }
    await door.ask('DELETE', on('shop'), { as: AS_ADMIN })
    assert.equal(await status(), 401)
  })
  it('an unknown database looks like one that was not granted', async (t) => {
    const door = await openWithUsers(t)
    await grant(door, 'shop', 'ro', 'rob')
    for (const name of ['shop', 'none', '_system', 'x%20y']) {
      assert.deepEqual((await door.ask('GET', `/_db/${name}${VERSION}`, { as: ANN })).json, GATE, name)
      assert.deepEqual((await door.ask('GET', `/_db/${name}${VERSION}`)).json, GATE, name)
    }
  })
  it('a user who may enter all databases gets 404 for an unknown one', async (t) => {
    const door = await openWithUsers(t)
    await grant(door, '*', 'ro')
    await grant(door, 'shop', 'ro', 'rob')
    for (const by of [ANN, AS_ADMIN, superuser(), MAX]) {
      assert.equal((await door.ask('GET', `/_db/shop${VERSION}`, { as: by })).status, 200)
      assert.deepEqual((await door.ask('GET', `/_db/none${VERSION}`, { as: by })).json, NO_DATABASE)
    }
  })
  it('lists databases as drivers expect', async (t) => {
    const door = await openWithUsers(t)
    await grant(door, 'shop', 'ro')
    await grant(door, 'store', 'ro', 'rob')
    const ask = async (path: string, by: string) => (await door.ask('GET', path, { as: by })).json
    assert.deepEqual(await ask('/_api/database', AS_ADMIN), wrapped(['_system', 'shop', 'store']))
    assert.deepEqual(await ask('/_api/database/user', AS_ADMIN), wrapped(['_system', 'shop', 'store']))
    assert.deepEqual(await ask('/_db/shop/_api/database/user', ANN), wrapped(['shop']))
    assert.deepEqual(
      await ask('/_db/shop/_api/database', ANN),
      refusal(403, 1230, 'operation only allowed in system database'),
    )
    const current = { name: 'shop', id: 'shop', path: '', isSystem: false }
    assert.deepEqual(await ask('/_db/shop/_api/database/current', ANN), wrapped(current))
    const system = { name: '_system', id: '1', path: '', isSystem: true }
    assert.deepEqual(await ask('/_api/database/current', AS_ADMIN), wrapped(system))
  })
  it('with an upstream every database name is accepted', async (t) => {
    const { ask } = await openMultiModel(t, {
      upstream: { 'multi-model': 'http://127.0.0.1:1', 'multi-model-identity': 'client' },
    })
    const json = { username: 'admin', password: 'adminpw' }
    assert.equal((await ask('POST', '/_db/whatever/_open/auth', { body: json })).status, 200)
  })
})
