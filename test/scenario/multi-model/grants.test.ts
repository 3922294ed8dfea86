// Grants: how they are given, what they say, and what they open.
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { AccessRule } from '../../../src/directory/account.ts'
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
  runUserRows,
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
  runUserRows(
    [
      {
        name: 'sets the level of a database',
        as: AS_ADMIN,
        method: 'PUT',
        path: on('shop'),
        body: { grant: 'rw' },
        expect: { status: 200, json: { shop: 'rw', error: false, code: 200 } },
      },
      {
        name: 'sets the level of all databases',
        as: AS_ADMIN,
        method: 'PUT',
        path: on('*'),
        body: { grant: 'ro' },
        expect: { status: 200, json: { '*': 'ro', error: false, code: 200 } },
      },
      {
        name: 'reads an empty level as none',
        as: AS_ADMIN,
        method: 'PUT',
        path: on('shop'),
        body: { grant: '' },
        expect: { status: 200, json: { shop: 'none', error: false, code: 200 } },
      },
      {
        name: 'sets the level of a collection',
        as: AS_ADMIN,
        method: 'PUT',
        path: on('_system/c'),
        body: { grant: 'ro' },
        expect: { status: 200, json: { '_system/c': 'ro', error: false, code: 200 } },
      },
      {
        name: 'sets the level of all collections',
        as: AS_ADMIN,
        method: 'PUT',
        path: on('_system/*'),
        body: { grant: 'ro' },
        expect: { status: 200, json: { '_system/*': 'ro', error: false, code: 200 } },
      },
      {
        name: 'sets the level of all collections of all databases',
        as: AS_ADMIN,
        method: 'PUT',
        path: on('*/*'),
        body: { grant: 'rw' },
        expect: { status: 200, json: { '*/*': 'rw', error: false, code: 200 } },
      },
      {
        name: 'sets the level of a database called error',
        as: AS_ADMIN,
        method: 'PUT',
        path: on('error'),
        body: { grant: 'rw' },
        expect: { status: 200, json: { error: false, code: 200 } },
      },
      {
        name: 'rejects a collection of an unknown database',
        as: AS_ADMIN,
        method: 'PUT',
        path: on('shop/c'),
        body: { grant: 'ro' },
        expect: { status: 404, json: NO_DATABASE },
      },
      {
        name: 'rejects a system collection',
        as: AS_ADMIN,
        method: 'PUT',
        path: on('_system/_users'),
        body: { grant: 'ro' },
        expect: { status: 400, json: refusal(400, 10, 'Cannot set rights for system collections') },
      },
      {
        name: 'rejects one collection of all databases',
        as: AS_ADMIN,
        method: 'PUT',
        path: on('*/c'),
        body: { grant: 'ro' },
        expect: { status: 400, json: refusal(400, 10, 'Only all collections can be granted on all databases') },
      },
      {
        name: 'rejects an unknown level',
        as: AS_ADMIN,
        method: 'PUT',
        path: on('shop'),
        body: { grant: 'admin' },
        expect: { status: 400, json: LEVEL },
      },
      {
        name: 'rejects a level that is a number',
        as: AS_ADMIN,
        method: 'PUT',
        path: on('shop'),
        body: { grant: 1 },
        expect: { status: 400, json: LEVEL },
      },
      {
        name: 'rejects a missing level',
        as: AS_ADMIN,
        method: 'PUT',
        path: on('shop'),
        body: {},
        expect: { status: 400, json: LEVEL },
      },
      {
        name: 'rejects a level in __proto__',
        as: AS_ADMIN,
        method: 'PUT',
        path: on('shop'),
        body: '{"__proto__":{"grant":"rw"}}',
        expect: { status: 400, json: LEVEL },
      },
      {
        name: 'rejects an unknown user',
        as: AS_ADMIN,
        method: 'PUT',
        path: on('shop', 'unknown'),
        body: { grant: 'rw' },
        expect: { status: 404, json: NOT_FOUND },
      },
      {
        name: 'rejects a grant for an administrator',
        as: AS_ADMIN,
        method: 'PUT',
        path: on('shop', 'admin'),
        body: { grant: 'ro' },
        expect: { status: 403, json: FORBIDDEN },
      },
      {
        name: 'a user cannot grant itself a database',
        as: ANN,
        method: 'PUT',
        path: on('shop'),
        body: { grant: 'rw' },
        expect: { status: 403, json: FORBIDDEN },
      },
      {
        name: 'a user who may read the system database cannot grant',
        as: ROB,
        method: 'PUT',
        path: on('shop'),
        body: { grant: 'rw' },
        expect: { status: 403, json: FORBIDDEN },
      },
      {
        name: 'a user who may write the system database can grant',
        as: MAX,
        method: 'PUT',
        path: on('shop'),
        body: { grant: 'rw' },
        expect: { status: 200, json: { shop: 'rw', error: false, code: 200 } },
      },
      {
        name: 'rejects a lower level of root on _system',
        as: AS_ADMIN,
        method: 'PUT',
        path: on('_system', 'root'),
        body: { grant: 'ro' },
        expect: { status: 403, json: refusal(403, 11, "Cannot lower access level of 'root' to _system") },
      },
      {
        name: 'rejects removing the grant of root on _system',
        as: AS_ADMIN,
        method: 'DELETE',
        path: on('_system', 'root'),
        expect: { status: 403, json: refusal(403, 11, "Cannot lower access level of 'root' to _system") },
      },
      {
        name: 'removes a grant that does not exist',
        as: AS_ADMIN,
        method: 'DELETE',
        path: on('shop'),
        expect: { status: 202, json: DONE },
      },
      {
        name: 'rejects removing a grant of an unknown user',
        as: AS_ADMIN,
        method: 'DELETE',
        path: on('shop', 'unknown'),
        expect: { status: 404, json: NOT_FOUND },
      },
      {
        name: 'rejects removing a grant of an administrator',
        as: AS_ADMIN,
        method: 'DELETE',
        path: on('shop', 'admin'),
        expect: { status: 403, json: FORBIDDEN },
      },
      {
        name: 'a user cannot remove its own grant',
        as: ANN,
        method: 'DELETE',
        path: on('shop'),
        expect: { status: 403, json: FORBIDDEN },
      },
      {
        name: 'rejects a database name that is too long',
        as: AS_ADMIN,
        method: 'PUT',
        path: on('x'.repeat(300)),
        body: { grant: 'rw' },
        expect: { status: 400, json: refusal(400, 10, 'The name of a database must not be longer than 256 bytes.') },
      },
    ],
    { isSeparate: true },
  )
})

describe('reading grants', () => {
  runUserRows([
    { name: 'shows a user its own level', as: ANN, path: on('shop'), expect: { status: 200, json: wrapped('none') } },
    {
      name: 'shows none for an unknown user',
      as: AS_ADMIN,
      path: on('shop', 'unknown'),
      expect: { status: 200, json: wrapped('none') },
    },
    {
      name: 'shows rw for an administrator',
      as: AS_ADMIN,
      path: on('shop', 'admin'),
      expect: { status: 200, json: wrapped('rw') },
    },
    {
      name: 'does not show a user the level of another',
      as: ANN,
      path: on('shop', 'rob'),
      expect: { status: 403, json: NOT_OWNER },
    },
    {
      name: 'shows the level of a collection',
      as: ROB,
      path: on('_system/c', 'rob'),
      expect: { status: 200, json: wrapped('ro') },
    },
    {
      name: 'shows none for a system collection',
      as: AS_ADMIN,
      path: on('_system/_users', 'admin'),
      expect: { status: 200, json: wrapped('none') },
    },
    {
      name: 'shows none for a collection of an unknown database',
      as: ANN,
      path: on('shop/c'),
      expect: { status: 200, json: wrapped('none') },
    },
    {
      name: 'lists the databases of a user',
      as: ROB,
      path: '/_api/user/rob/database',
      expect: { status: 200, json: wrapped({ _system: 'ro' }) },
    },
    {
      name: 'shows the configured grants of an administrator',
      as: AS_ADMIN,
      path: '/_api/user/admin/database?full=true',
      expect: {
        status: 200,
        json: wrapped({ _system: { permission: 'rw', collections: { '*': 'rw' } }, '*': { permission: 'rw' } }),
      },
    },
    {
      name: 'rejects the list of an unknown user',
      as: AS_ADMIN,
      path: '/_api/user/unknown/database',
      expect: { status: 404, json: NOT_FOUND },
    },
    {
      name: 'does not list the databases of another user',
      as: ANN,
      path: '/_api/user/rob/database',
      expect: { status: 403, json: NOT_OWNER },
    },
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
    const { json } = await door.ask('GET', '/_api/user/ann/database?full=true', { as: AS_ADMIN })
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
      for (const name of ['none', 'sho', '*'])
        assert.deepEqual((await door.ask('GET', `/_db/${name}${VERSION}`, { as: by })).json, NO_DATABASE, name)
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
  it('a client learns no name of a database that it may not enter', async (t) => {
    const door = await openWithUsers(t)
    await grant(door, 'secret', 'rw', 'max')
    await grant(door, 'shop', 'ro')
    for (const name of ['rob', 'ann']) await grant(door, 'secret', 'none', name)
    const ask = async (path: string, as?: string) => (await door.ask('GET', path, as ? { as } : {})).body
    assert.deepEqual(JSON.parse(await ask('/_api/database', ROB)), wrapped(['_system', 'shop']))
    assert.doesNotMatch(await ask('/_api/user/ann/database?full=true', ANN), /secret/)
    assert.match(await ask('/_api/user/ann/database?full=true', AS_ADMIN), /secret/)
    for (const path of ['', '/', '/app', '/_open/auth', '/_api/user/ann', '/_api/token/ann', '/_api/version'])
      for (const as of [undefined, ANN])
        assert.equal(await ask(`/_db/secret${path}`, as), await ask(`/_db/no-such${path}`, as), path)
  })
  it('with an upstream every database name is accepted', async (t) => {
    const { ask } = await openMultiModel(t, {
      upstream: { 'multi-model': 'http://127.0.0.1:1', 'multi-model-identity': 'client' },
    })
    const json = { username: 'admin', password: 'adminpw' }
    assert.equal((await ask('POST', '/_db/whatever/_open/auth', { body: json })).status, 200)
  })
})

describe('with document.grants = enforce, a grant on all databases', () => {
  const ENFORCE = { document: { grants: 'enforce' } } as const

  it('makes no manager, who could lift the limits of the own account', async (t) => {
    const { ask } = await openWithUsers(t, ENFORCE)
    await grant({ ask }, '*', 'rw')
    await grant({ ask }, 'secret', 'none')
    const asAnn = { as: ANN, body: { grant: 'rw' } }
    assert.deepEqual((await ask('PUT', on('secret'), asAnn)).json, FORBIDDEN)
    assert.deepEqual((await ask('DELETE', on('secret'), { as: ANN })).json, FORBIDDEN)
    assert.deepEqual((await ask('GET', '/_api/user', { as: ANN })).json, NOT_OWNER)
    assert.deepEqual((await ask('POST', '/_api/user', { as: ANN, body: { user: 'eve' } })).json, FORBIDDEN)
    assert.deepEqual((await ask('POST', '/_api/token/max', { as: ANN, body: { name: 'x' } })).json, NOT_OWNER)
    const mode = { as: ANN, body: { mode: 'readonly' } }
    assert.deepEqual((await ask('PUT', '/_admin/server/mode', mode)).json, FORBIDDEN)
    assert.equal((await ask('PUT', on('secret'), { ...asAnn, as: MAX })).status, 200)
  })

  it('is explained so', async (t) => {
    const { ask } = await openWithUsers(t, ENFORCE)
    await grant({ ask }, '*', 'rw')
    const off = await openWithUsers(t)
    await grant(off, '*', 'rw')
    const explain = async (door: Pick<MultiModel, 'ask'>, name: string) => {
      const { json } = await door.ask('GET', `/_cardea/api/users/${name}/access`, { as: AS_ADMIN })
      const [, { rules }] = member(json, 'doors') as [unknown, { rules: AccessRule[] }]
      return rules.find(({ what }) => what === 'manage users and the server')
    }
    assert.deepEqual(await explain({ ask }, 'ann'), {
      what: 'manage users and the server',
      isAllowed: false,
      because: 'With document.grants = enforce this needs a grant on _system itself.',
    })
    assert.equal((await explain({ ask }, 'max'))?.isAllowed, true)
    assert.equal((await explain(off, 'ann'))?.isAllowed, true)
  })
})
