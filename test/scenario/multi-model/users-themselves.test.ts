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
  runRows,
} from '../../support/multi-model-users.ts'
import { AS_ADMIN, basic } from '../../support/request.ts'

const PARTS = refusal(400, 10, 'the path has too many or too few parts')

describe('checking a password', () => {
  const check = (passwd: unknown, by = ANN) => ({ as: by, body: { passwd } })
  runRows([
    ['the own password', 'POST', '/_api/user/ann', check('apple'), 200, { error: false, code: 200, result: true }],
    ['of another user', 'POST', '/_api/user/rob', check('r'), 200, { error: false, code: 200, result: true }],
    [
      'of an administrator',
      'POST',
      '/_api/user/admin',
      check('adminpw'),
      200,
      { error: false, code: 200, result: true },
    ],
    ['a wrong password', 'POST', '/_api/user/rob', check('x'), 404, NOT_FOUND],
    ['of an unknown user', 'POST', '/_api/user/unknown', check('x'), 404, NOT_FOUND],
    [
      'no password',
      'POST',
      '/_api/user/rob',
      { as: ANN, body: {} },
      400,
      refusal(400, 10, "'passwd' must be a string"),
    ],
    ['without a credential', 'POST', '/_api/user/ann', { body: { passwd: 'apple' } }, 401, GATE],
    [
      'with a wrong credential of that name',
      'POST',
      '/_api/user/ann/',
      { ...check('apple', basic('ann', 'x')) },
      401,
      GATE,
    ],
  ])
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
  runRows([
    ['of another user', 'GET', '/_api/user/rob/config', { as: ANN }, 403, NOT_OWNER],
    ['writing that of another user', 'PUT', '/_api/user/rob/config/a', { as: ANN, body: { value: 1 } }, 403, FORBIDDEN],
    [
      'without a value',
      'PUT',
      '/_api/user/ann/config/a',
      { as: ANN, body: {} },
      400,
      refusal(400, 10, "'value' is missing"),
    ],
    [
      'too many bytes',
      'PUT',
      '/_api/user/ann/config/a',
      { as: ANN, body: { value: 'x'.repeat(70_000) } },
      400,
      refusal(400, 10, 'the data of a user must not exceed 65536 bytes'),
    ],
    ['of an administrator', 'GET', '/_api/user/admin/config', { as: AS_ADMIN }, 200, EMPTY],
    [
      'writing that of an administrator',
      'PUT',
      '/_api/user/admin/config/a',
      { as: AS_ADMIN, body: { value: 1 } },
      403,
      FORBIDDEN,
    ],
    ['of an unknown user', 'GET', '/_api/user/unknown/config', { as: AS_ADMIN }, 404, NOT_FOUND],
  ])
})

describe('unknown paths and methods', () => {
  const METHOD = refusal(400, 405, 'method not supported')
  runRows([
    ['PUT without a name', 'PUT', '/_api/user', { as: AS_ADMIN, body: {} }, 400, PARTS],
    ['PATCH without a name', 'PATCH', '/_api/user', { as: AS_ADMIN, body: {} }, 400, PARTS],
    ['DELETE without a name', 'DELETE', '/_api/user', { as: AS_ADMIN }, 400, PARTS],
    ['too many parts', 'GET', '/_api/user/ann/database/a/b/c', { as: AS_ADMIN }, 400, PARTS],
    ['another word', 'GET', '/_api/user/ann/nothing', { as: AS_ADMIN }, 400, PARTS],
    ['an unsupported method', 'POST', '/_api/user/ann/database', { as: AS_ADMIN }, 400, METHOD],
    ['an unknown method', 'PROPFIND', '/_db/_system/_api/user/ann', { as: AS_ADMIN }, 400, METHOD],
  ])
})
