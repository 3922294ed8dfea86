// Grants: how they are given, what they say, and what they open.
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { AS_ADMIN, GATE, type MultiModel, member, openMultiModel, superuser } from '../../support/multi-model.ts'
import {
  ANN,
  FORBIDDEN,
  MAX,
  NOT_FOUND,
  openWithUsers,
  ROB,
  refusal,
  runRows,
  SOMEBODY_ELSES,
} from '../../support/multi-model-users.ts'

const auth = AS_ADMIN
const LEVEL = refusal(400, 10, "expecting access type 'rw', 'ro' or 'none'")
const NO_DATABASE = refusal(404, 1228, 'database not found')
const wrapped = (result: unknown) => ({ error: false, code: 200, result })
const DONE = { error: false, code: 202 }
const on = (place: string, user = 'ann') => `/_api/user/${user}/database/${place}`

const grant = ({ ask }: Pick<MultiModel, 'ask'>, place: string, level: string, user = 'ann') =>
  ask('PUT', on(place, user), { auth, json: { grant: level } })

describe('giving', () => {
  runRows([
    ['a database', 'PUT', on('shop'), { auth, json: { grant: 'rw' } }, 200, { shop: 'rw', error: false, code: 200 }],
    ['all databases', 'PUT', on('*'), { auth, json: { grant: 'ro' } }, 200, { '*': 'ro', error: false, code: 200 }],
    ['nothing', 'PUT', on('shop'), { auth, json: { grant: '' } }, 200, { shop: 'none', error: false, code: 200 }],
    [
      'a collection',
      'PUT',
      on('_system/c'),
      { auth, json: { grant: 'ro' } },
      200,
      { '_system/c': 'ro', error: false, code: 200 },
    ],
    [
      'all collections',
      'PUT',
      on('_system/*'),
      { auth, json: { grant: 'ro' } },
      200,
      { '_system/*': 'ro', error: false, code: 200 },
    ],
    ['everything', 'PUT', on('*/*'), { auth, json: { grant: 'rw' } }, 200, { '*/*': 'rw', error: false, code: 200 }],
    ['a database called error', 'PUT', on('error'), { auth, json: { grant: 'rw' } }, 200, { error: false, code: 200 }],
    ['a collection of a database nobody has', 'PUT', on('shop/c'), { auth, json: { grant: 'ro' } }, 404, NO_DATABASE],
    [
      'a collection of the server',
      'PUT',
      on('_system/_users'),
      { auth, json: { grant: 'ro' } },
      400,
      refusal(400, 10, 'Cannot set rights for system collections'),
    ],
    [
      'one collection of all databases',
      'PUT',
      on('*/c'),
      { auth, json: { grant: 'ro' } },
      400,
      refusal(400, 10, 'Only all collections can be granted on all databases'),
    ],
    ['a level nobody knows', 'PUT', on('shop'), { auth, json: { grant: 'admin' } }, 400, LEVEL],
    ['a level that is a number', 'PUT', on('shop'), { auth, json: { grant: 1 } }, 400, LEVEL],
    ['no level', 'PUT', on('shop'), { auth, json: {} }, 400, LEVEL],
    ['a level of the prototype', 'PUT', on('shop'), { auth, text: '{"__proto__":{"grant":"rw"}}' }, 400, LEVEL],
    ['to nobody', 'PUT', on('shop', 'nobody'), { auth, json: { grant: 'rw' } }, 404, NOT_FOUND],
    ['to an administrator', 'PUT', on('shop', 'admin'), { auth, json: { grant: 'ro' } }, 403, FORBIDDEN],
    ['to oneself', 'PUT', on('shop'), { auth: ANN, json: { grant: 'rw' } }, 403, FORBIDDEN],
    ['as who may read the system database', 'PUT', on('shop'), { auth: ROB, json: { grant: 'rw' } }, 403, FORBIDDEN],
    [
      'as who may write the system database',
      'PUT',
      on('shop'),
      { auth: MAX, json: { grant: 'rw' } },
      200,
      { shop: 'rw', error: false, code: 200 },
    ],
    [
      'lowering root',
      'PUT',
      on('_system', 'root'),
      { auth, json: { grant: 'ro' } },
      403,
      refusal(403, 11, "Cannot lower access level of 'root' to _system"),
    ],
    [
      'taking it from root',
      'DELETE',
      on('_system', 'root'),
      { auth },
      403,
      refusal(403, 11, "Cannot lower access level of 'root' to _system"),
    ],
    ['taking what nobody has', 'DELETE', on('shop'), { auth }, 202, DONE],
    ['taking from nobody', 'DELETE', on('shop', 'nobody'), { auth }, 404, NOT_FOUND],
    ['taking from an administrator', 'DELETE', on('shop', 'admin'), { auth }, 403, FORBIDDEN],
    ['taking from oneself', 'DELETE', on('shop'), { auth: ANN }, 403, FORBIDDEN],
    [
      'a database with a name without end',
      'PUT',
      on('x'.repeat(300)),
      { auth, json: { grant: 'rw' } },
      400,
      refusal(400, 10, 'The name of a database must not be longer than 256 bytes.'),
    ],
  ])
})

describe('asking', () => {
  runRows([
    ['for a level, of oneself', 'GET', on('shop'), { auth: ANN }, 200, wrapped('none')],
    ['for a level, of nobody', 'GET', on('shop', 'nobody'), { auth }, 200, wrapped('none')],
    ['for a level, of an administrator', 'GET', on('shop', 'admin'), { auth }, 200, wrapped('rw')],
    ['for a level, of somebody else', 'GET', on('shop', 'rob'), { auth: ANN }, 403, SOMEBODY_ELSES],
    ['for a collection', 'GET', on('_system/c', 'rob'), { auth: ROB }, 200, wrapped('ro')],
    ['for a collection of the server', 'GET', on('_system/_users', 'admin'), { auth }, 200, wrapped('none')],
    ['for a collection of an unknown database', 'GET', on('shop/c'), { auth: ANN }, 200, wrapped('none')],
    ['for all databases', 'GET', '/_api/user/rob/database', { auth: ROB }, 200, wrapped({ _system: 'ro' })],
    [
      'for what was granted, of an administrator',
      'GET',
      '/_api/user/admin/database?full=true',
      { auth },
      200,
      wrapped({ _system: { permission: 'rw', collections: { '*': 'rw' } }, '*': { permission: 'rw' } }),
    ],
    ['for all databases, of nobody', 'GET', '/_api/user/nobody/database', { auth }, 404, NOT_FOUND],
    ['for all databases, of somebody else', 'GET', '/_api/user/rob/database', { auth: ANN }, 403, SOMEBODY_ELSES],
  ])

  it('levels follow from what is more general', async (t) => {
    const door = await openWithUsers(t)
    await grant(door, 'shop', 'ro')
    await grant(door, 'store', 'none')
    await grant(door, 'shop/c', 'rw')
    await grant(door, '*', 'ro')
    const level = async (place: string) => member((await door.ask('GET', on(place), { auth })).json, 'result')
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
    assert.deepEqual((await door.ask('GET', '/_api/user/ann/database', { auth: ANN })).json, {
      ...wrapped({ _system: 'ro', shop: 'ro' }),
    })
  })
  it('what was granted, in full', async (t) => {
    const door = await openWithUsers(t)
    await grant(door, 'shop', 'none')
    await grant(door, 'shop/c', 'rw')
    await grant(door, 'shop/*', 'ro')
    const { json } = await door.ask('GET', '/_api/user/ann/database?full=true', { auth: ANN })
    assert.deepEqual(json, {
      ...wrapped({
        _system: { permission: 'undefined', collections: { '*': 'undefined' } },
        shop: { permission: 'none', collections: { c: 'rw', '*': 'ro' } },
        '*': { permission: 'none' },
      }),
    })
  })
  it('an administrator may everything', async (t) => {
    const door = await openWithUsers(t)
    await grant(door, 'shop', 'ro')
    const { json } = await door.ask('GET', '/_api/user/admin/database', { auth })
    assert.deepEqual(json, wrapped({ _system: 'rw', shop: 'rw' }))
  })
})

describe('what grants open', () => {
  const VERSION = '/_api/version'

  it('a user without any reaches nothing but itself', async (t) => {
    const { ask } = await openWithUsers(t)
    for (const path of [VERSION, '/_admin/status', '/_api/database/user', '/_api/anything']) {
      assert.deepEqual((await ask('GET', path, { auth: ANN })).json, GATE, path)
    }
    assert.equal((await ask('GET', '/_api/user/ann', { auth: ANN })).status, 200)
  })
  it('none, ro, rw and nothing again hold at once', async (t) => {
    const door = await openWithUsers(t)
    const status = async () => (await door.ask('GET', `/_db/shop${VERSION}`, { auth: ANN })).status
    assert.equal(await status(), 401)
    for (const [level, expected] of [
      ['ro', 200],
      ['none', 401],
      ['rw', 200],
    ] as const) {
      assert.equal((await grant(door, 'shop', level)).status, 200)
      assert.equal(await status(), expected, level)
    }
    await door.ask('DELETE', on('shop'), { auth })
    assert.equal(await status(), 401)
  })
  it('a name that does not exist looks like one that was not granted', async (t) => {
    const door = await openWithUsers(t)
    await grant(door, 'shop', 'ro', 'rob')
    for (const name of ['shop', 'none', '_system', 'x%20y']) {
      assert.deepEqual((await door.ask('GET', `/_db/${name}${VERSION}`, { auth: ANN })).json, GATE, name)
      assert.deepEqual((await door.ask('GET', `/_db/${name}${VERSION}`)).json, GATE, name)
    }
  })
  it('who may enter all databases is told which there are', async (t) => {
    const door = await openWithUsers(t)
    await grant(door, '*', 'ro')
    await grant(door, 'shop', 'ro', 'rob')
    for (const by of [ANN, AS_ADMIN, superuser(), MAX]) {
      assert.equal((await door.ask('GET', `/_db/shop${VERSION}`, { auth: by })).status, 200)
      assert.deepEqual((await door.ask('GET', `/_db/none${VERSION}`, { auth: by })).json, NO_DATABASE)
    }
  })
  it('databases, as drivers ask for them', async (t) => {
    const door = await openWithUsers(t)
    await grant(door, 'shop', 'ro')
    await grant(door, 'store', 'ro', 'rob')
    const ask = async (path: string, by: string) => (await door.ask('GET', path, { auth: by })).json
    assert.deepEqual(await ask('/_api/database', auth), wrapped(['_system', 'shop', 'store']))
    assert.deepEqual(await ask('/_api/database/user', auth), wrapped(['_system', 'shop', 'store']))
    assert.deepEqual(await ask('/_db/shop/_api/database/user', ANN), wrapped(['shop']))
    assert.deepEqual(
      await ask('/_db/shop/_api/database', ANN),
      refusal(403, 1230, 'operation only allowed in system database'),
    )
    const current = { name: 'shop', id: 'shop', path: '', isSystem: false }
    assert.deepEqual(await ask('/_db/shop/_api/database/current', ANN), wrapped(current))
    const system = { name: '_system', id: '1', path: '', isSystem: true }
    assert.deepEqual(await ask('/_api/database/current', auth), wrapped(system))
  })
  it('an upstream knows which databases there are', async (t) => {
    const { ask } = await openMultiModel(t, {
      upstream: { 'multi-model': 'http://127.0.0.1:1', 'multi-model-identity': 'client' },
    })
    const json = { username: 'admin', password: 'adminpw' }
    assert.equal((await ask('POST', '/_db/whatever/_open/auth', { json })).status, 200)
  })
})
