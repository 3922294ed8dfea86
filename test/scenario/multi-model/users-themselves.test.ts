// /_api/user: password checks, the data of a web console, and invalid requests.
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { GATE } from '../../support/multi-model.ts'
import {
  ANN,
  FORBIDDEN,
  NOT_FOUND,
  NOT_OWNER,
  openWithUsers,
  ROB,
  refusal,
  runUserRows,
} from '../../support/multi-model-users.ts'
import { AS_ADMIN, basic } from '../../support/request.ts'

const PARTS = refusal(400, 10, 'the path has too many or too few parts')

describe('checking a password', () => {
  const check = (passwd: unknown, by = ANN) => ({ as: by, body: { passwd } })
  runUserRows(
    [
      {
        name: 'the own password',
        method: 'POST',
        path: '/_api/user/ann',
        ...check('apple'),
        expect: { status: 200, json: { error: false, code: 200, result: true } },
      },
      {
        name: 'of another user',
        method: 'POST',
        path: '/_api/user/rob',
        ...check('r'),
        expect: { status: 200, json: { error: false, code: 200, result: true } },
      },
      {
        name: 'of an administrator',
        method: 'POST',
        path: '/_api/user/admin',
        ...check('adminpw'),
        expect: { status: 200, json: { error: false, code: 200, result: true } },
      },
      {
        name: 'a wrong password',
        method: 'POST',
        path: '/_api/user/rob',
        ...check('x'),
        expect: { status: 404, json: NOT_FOUND },
      },
      {
        name: 'of an unknown user',
        method: 'POST',
        path: '/_api/user/unknown',
        ...check('x'),
        expect: { status: 404, json: NOT_FOUND },
      },
      {
        name: 'no password',
        as: ANN,
        method: 'POST',
        path: '/_api/user/rob',
        body: {},
        expect: { status: 400, json: refusal(400, 10, "'passwd' must be a string") },
      },
      {
        name: 'without a credential',
        method: 'POST',
        path: '/_api/user/ann',
        body: { passwd: 'apple' },
        expect: { status: 401, json: GATE },
      },
      {
        name: 'with a wrong credential of that name',
        method: 'POST',
        path: '/_api/user/ann/',
        ...check('apple', basic('ann', 'x')),
        expect: { status: 401, json: GATE },
      },
    ],
    { isSeparate: true },
  )
  it('counts for the lockout', async (t) => {
    const { ask } = await openWithUsers(t, { chttpd_auth_lockout: { threshold: 3 } })
    for (let i = 0; i < 3; i += 1) assert.equal((await ask('POST', '/_api/user/rob', check('x'))).status, 404)
    assert.deepEqual((await ask('POST', '/_api/user/rob', check('r'))).json, NOT_FOUND)
    assert.equal((await ask('GET', '/_api/user/rob', { as: ROB })).status, 401)
  })
})

describe('data of a web console', () => {
  const EMPTY = { error: false, code: 200, result: null }

  it('is written, read and removed', async (t) => {
    const { ask } = await openWithUsers(t)
    const path = '/_api/user/ann/config'
    assert.deepEqual((await ask('GET', path, { as: ANN })).json, EMPTY)
    for (const [key, value] of Object.entries({ a: 1, ['__proto__']: { x: 1 }, b: null })) {
      const put = await ask('PUT', `${path}/${key}`, { as: ANN, body: { value } })
      assert.deepEqual([put.status, put.body, put.header('content-type')], [200, '', 'text/plain'])
    }
    assert.equal(
      (await ask('GET', path, { as: ANN })).body.includes('"result":{"a":1,"__proto__":{"x":1},"b":null}'),
      true,
    )
    assert.deepEqual((await ask('GET', `${path}/a`, { as: AS_ADMIN })).json, { error: false, code: 200, result: 1 })
    assert.deepEqual((await ask('GET', `${path}/none`, { as: AS_ADMIN })).json, {
      error: false,
      code: 200,
      result: null,
    })
    assert.equal((await ask('DELETE', `${path}/a`, { as: ANN })).status, 200)
    assert.deepEqual((await ask('GET', `${path}/a`, { as: AS_ADMIN })).json, { error: false, code: 200, result: null })
    assert.equal((await ask('DELETE', path, { as: ANN })).status, 200)
    assert.deepEqual((await ask('GET', path, { as: ANN })).json, EMPTY)
  })
  runUserRows([
    { name: 'of another user', as: ANN, path: '/_api/user/rob/config', expect: { status: 403, json: NOT_OWNER } },
    {
      name: 'writing that of another user',
      as: ANN,
      method: 'PUT',
      path: '/_api/user/rob/config/a',
      body: { value: 1 },
      expect: { status: 403, json: FORBIDDEN },
    },
    {
      name: 'without a value',
      as: ANN,
      method: 'PUT',
      path: '/_api/user/ann/config/a',
      body: {},
      expect: { status: 400, json: refusal(400, 10, "'value' is missing") },
    },
    {
      name: 'too many bytes',
      as: ANN,
      method: 'PUT',
      path: '/_api/user/ann/config/a',
      body: { value: 'x'.repeat(70_000) },
      expect: { status: 400, json: refusal(400, 10, 'the data of a user must not exceed 65536 bytes') },
    },
    {
      name: 'of an administrator',
      as: AS_ADMIN,
      path: '/_api/user/admin/config',
      expect: { status: 200, json: EMPTY },
    },
    {
      name: 'writing that of an administrator',
      as: AS_ADMIN,
      method: 'PUT',
      path: '/_api/user/admin/config/a',
      body: { value: 1 },
      expect: { status: 403, json: FORBIDDEN },
    },
    {
      name: 'of an unknown user',
      as: AS_ADMIN,
      path: '/_api/user/unknown/config',
      expect: { status: 404, json: NOT_FOUND },
    },
  ])
})

describe('unknown paths and methods', () => {
  const METHOD = refusal(400, 405, 'method not supported')
  runUserRows([
    {
      name: 'PUT without a name',
      as: AS_ADMIN,
      method: 'PUT',
      path: '/_api/user',
      body: {},
      expect: { status: 400, json: PARTS },
    },
    {
      name: 'PATCH without a name',
      as: AS_ADMIN,
      method: 'PATCH',
      path: '/_api/user',
      body: {},
      expect: { status: 400, json: PARTS },
    },
    {
      name: 'DELETE without a name',
      as: AS_ADMIN,
      method: 'DELETE',
      path: '/_api/user',
      expect: { status: 400, json: PARTS },
    },
    {
      name: 'too many parts',
      as: AS_ADMIN,
      path: '/_api/user/ann/database/a/b/c',
      expect: { status: 400, json: PARTS },
    },
    { name: 'another word', as: AS_ADMIN, path: '/_api/user/ann/nothing', expect: { status: 400, json: PARTS } },
    {
      name: 'an unsupported method',
      as: AS_ADMIN,
      method: 'POST',
      path: '/_api/user/ann/database',
      expect: { status: 400, json: METHOD },
    },
    {
      name: 'an unknown method',
      as: AS_ADMIN,
      method: 'PROPFIND',
      path: '/_db/_system/_api/user/ann',
      expect: { status: 400, json: METHOD },
    },
  ])
})
