// /_api/user: the directory as drivers of the multi-model database manage it.
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { GATE, member, openMultiModel, superuser } from '../../support/multi-model.ts'
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
  shown,
} from '../../support/multi-model-users.ts'
import { AS_ADMIN, basic, send } from '../../support/request.ts'

describe('reading', () => {
  runRows([
    ['the own user', 'GET', '/_api/user/ann', { as: ANN }, 200, shown('ann')],
    ['another user, as an administrator', 'GET', '/_api/user/ann', { as: AS_ADMIN }, 200, shown('ann')],
    ['another user, as a superuser', 'GET', '/_api/user/ann', { as: superuser() }, 200, shown('ann')],
    ['another user, with rw on the system database', 'GET', '/_api/user/ann', { as: MAX }, 200, shown('ann')],
    ['another user', 'GET', '/_api/user/rob', { as: ANN }, 403, NOT_OWNER],
    ['an unknown user, which looks like another one', 'GET', '/_api/user/unknown', { as: ANN }, 403, NOT_OWNER],
    ['another user, with ro on the system database', 'GET', '/_api/user/ann', { as: ROB }, 403, NOT_OWNER],
    ['an unknown user', 'GET', '/_api/user/unknown', { as: AS_ADMIN }, 404, NOT_FOUND],
    ['an administrator', 'GET', '/_api/user/admin', { as: AS_ADMIN }, 200, shown('admin')],
    ['in another database', 'GET', '/_db/_system/_api/user/ann', { as: ANN }, 200, shown('ann')],
    ['in an unknown database', 'GET', '/_db/none/_api/user/ann', { as: ANN }, 401, GATE],
    ['without a credential', 'GET', '/_api/user/ann', {}, 401, GATE],
    ['all, without any grant', 'GET', '/_api/user', { as: ANN }, 401, GATE],
    ['all, with ro on the system database', 'GET', '/_api/user', { as: ROB }, 403, NOT_OWNER],
    ['__proto__', 'GET', '/_api/user/__proto__', { as: AS_ADMIN }, 404, NOT_FOUND],
    ['constructor', 'GET', '/_api/user/constructor', { as: AS_ADMIN }, 404, NOT_FOUND],
    ['with HEAD', 'HEAD', '/_api/user/ann', { as: AS_ADMIN }, 200, undefined],
  ])

  it('lists each name once, administrators as active users, in byte order', async (t) => {
    const { ask } = await openWithUsers(t, { admins: { zoe: 'z', Ada: 'a' } })
    await ask('POST', '/_api/user', {
      as: AS_ADMIN,
      body: { user: 'Zed', passwd: 'z', active: false, extra: { a: 1 } },
    })
    const answer = await ask('GET', '/_api/user', { as: AS_ADMIN })
    const names = ['Ada', 'Zed', 'admin', 'ann', 'max', 'rob', 'zoe']
    const result = names.map((user) => ({ user, active: user !== 'Zed', extra: user === 'Zed' ? { a: 1 } : {} }))
    assert.deepEqual([answer.status, answer.json], [200, { error: false, code: 200, result }])
  })
  it('lists few users with a length and streams many', async (t) => {
    const { ask } = await openMultiModel(t)
    const few = await ask('GET', '/_api/user', { as: AS_ADMIN })
    assert.deepEqual(
      [few.header('content-length'), few.header('transfer-encoding')],
      [String(few.body.length), undefined],
    )
    const extra = { much: 'x'.repeat(60_000) }
    for (let at = 0; at < 20; at += 1)
      await ask('POST', '/_api/user', { as: AS_ADMIN, body: { user: `user-${at}`, extra } })
    const many = await ask('GET', '/_api/user', { as: AS_ADMIN })
    assert.deepEqual([many.header('content-length'), many.header('transfer-encoding')], [undefined, 'chunked'])
    assert.equal(Object(member(many.json, 'result')).length, 21)
  })
  it('lists more users than one page of the store', async (t) => {
    const { ask } = await openMultiModel(t)
    const names = Array.from({ length: 501 }, (_, index) => `user-${String(index).padStart(5, '0')}`)
    for (let at = 0; at < names.length; at += 50) {
      const made = names.slice(at, at + 50).map((user) => ask('POST', '/_api/user', { as: AS_ADMIN, body: { user } }))
      for (const answer of await Promise.all(made)) assert.equal(answer.status, 201)
    }
    const result = member((await ask('GET', '/_api/user', { as: AS_ADMIN })).json, 'result')
    assert.deepEqual(
      Object(result).map(({ user }: { user: string }) => user),
      ['admin', ...names],
    )
  })
})

describe('creating', () => {
  const create = (body: unknown) => ({ as: AS_ADMIN, body })
  runRows([
    ['with a name alone', 'POST', '/_api/user', create({ user: 'new' }), 201, shown('new', {}, 201)],
    [
      'with all members',
      'POST',
      '/_api/user',
      create({ user: 'new', passwd: 'x', active: false, extra: { a: { b: [1] } } }),
      201,
      shown('new', { active: false, extra: { a: { b: [1] } } }, 201),
    ],
    ['unknown members', 'POST', '/_api/user', create({ user: 'new', roles: ['_admin'] }), 201, shown('new', {}, 201)],
    [
      'null members',
      'POST',
      '/_api/user',
      create({ user: 'new', passwd: null, extra: null }),
      201,
      shown('new', {}, 201),
    ],
    [
      'with rw on the system database',
      'POST',
      '/_api/user',
      { as: MAX, body: { user: 'new' } },
      201,
      shown('new', {}, 201),
    ],
    ['a name that is taken', 'POST', '/_api/user', create({ user: 'ann' }), 409, refusal(409, 1702, 'duplicate user')],
    [
      'the name of an administrator',
      'POST',
      '/_api/user',
      create({ user: 'admin' }),
      409,
      refusal(409, 1702, 'duplicate user'),
    ],
    ['no name', 'POST', '/_api/user', create({}), 400, refusal(400, 1700, 'invalid user name')],
    ['an empty name', 'POST', '/_api/user', create({ user: '' }), 400, refusal(400, 1700, 'invalid user name')],
    [
      'a name that is a number',
      'POST',
      '/_api/user',
      create({ user: 7 }),
      400,
      refusal(400, 1700, 'invalid user name'),
    ],
    [
      'a name with a colon',
      'POST',
      '/_api/user',
      create({ user: 'a:b' }),
      400,
      refusal(400, 1700, 'invalid user name'),
    ],
    [
      'a name that begins with an underscore',
      'POST',
      '/_api/user',
      create({ user: '_x' }),
      400,
      refusal(400, 1700, 'invalid user name'),
    ],
    [
      'a password that is a number',
      'POST',
      '/_api/user',
      create({ user: 'new', passwd: 7 }),
      400,
      refusal(400, 10, "'passwd' must be a string"),
    ],
    [
      'active as a string',
      'POST',
      '/_api/user',
      create({ user: 'new', active: 'yes' }),
      400,
      refusal(400, 10, "'active' must be true or false"),
    ],
    [
      'extra as a list',
      'POST',
      '/_api/user',
      create({ user: 'new', extra: [] }),
      400,
      refusal(400, 10, "'extra' must be an object"),
    ],
    [
      'too much extra',
      'POST',
      '/_api/user',
      create({ user: 'new', extra: { a: 'x'.repeat(70_000) } }),
      400,
      refusal(400, 10, 'the data of a user must not exceed 65536 bytes'),
    ],
    ['no body', 'POST', '/_api/user', { as: AS_ADMIN }, 400, refusal(400, 10, 'the body must be a JSON object')],
    ['a list', 'POST', '/_api/user', create([]), 400, refusal(400, 10, 'the body must be a JSON object')],
    ['not JSON', 'POST', '/_api/user', { as: AS_ADMIN, body: '{' }, 400, refusal(400, 10, 'the body is not JSON')],
    [
      'an infinite number',
      'POST',
      '/_api/user',
      { as: AS_ADMIN, body: '{"user":"new","extra":{"a":[1e999]}}' },
      400,
      refusal(400, 10, 'the body contains a number that cannot be stored exactly'),
    ],
    [
      'a number that would be rounded',
      'POST',
      '/_api/user',
      { as: AS_ADMIN, body: '{"user":"new","extra":{"a":9007199254740993}}' },
      400,
      refusal(400, 10, 'the body contains a number that cannot be stored exactly'),
    ],
    [
      'a duplicate member',
      'POST',
      '/_api/user',
      { as: AS_ADMIN, body: '{"user":"a","user":"b"}' },
      400,
      refusal(400, 10, 'the body names a member twice'),
    ],
    [
      'a password with NUL',
      'POST',
      '/_api/user',
      create({ user: 'new', passwd: 'x\0' }),
      400,
      refusal(400, 10, 'Password does not conform to requirements. It holds the character NUL.'),
    ],
    ['as a user', 'POST', '/_api/user', { as: ROB, body: { user: 'new' } }, 403, FORBIDDEN],
  ])

  it('rejects names that a path of this door cannot contain', async (t) => {
    const { ask } = await openMultiModel(t)
    const names = [
      'a/b',
      'a\\b',
      '.',
      '..',
      '\u2025',
      ';a',
      '\u200b',
      '\u200b_a',
      '\uff3fa',
      'a\uff0fb',
      'a%2fb',
      '%2e',
      'a%5Fb',
    ]
    for (const user of names) {
      const made = await ask('POST', '/_api/user', { as: AS_ADMIN, body: { user } })
      assert.deepEqual(made.json, refusal(400, 1700, 'invalid user name'), JSON.stringify(user))
      assert.equal((await ask('GET', `/_api/user/${encodeURIComponent(user)}`, { as: AS_ADMIN })).status, 400)
    }
  })
  it('accepts names that a path can contain', async (t) => {
    const { ask } = await openMultiModel(t)
    for (const user of ['100%', 'a b', 'a;b', 'a?b', 'a#b', 'é', 'a.b', '...', 'ann@example.org', '%zz']) {
      assert.equal((await ask('POST', '/_api/user', { as: AS_ADMIN, body: { user } })).status, 201, user)
      const answer = await ask('GET', `/_api/user/${encodeURIComponent(user)}`, { as: AS_ADMIN })
      assert.deepEqual(answer.json, shown(user))
    }
  })
  it('rejects a password that breaks a rule', async (t) => {
    const { ask } = await openMultiModel(t, { chttpd_auth: { password_regexp: '[{".{8}", "At least eight."}]' } })
    const answer = await ask('POST', '/_api/user', { as: AS_ADMIN, body: { user: 'new', passwd: 'short' } })
    assert.deepEqual([answer.status, member(answer.json, 'errorNum')], [400, 10])
    assert.match(String(member(answer.json, 'errorMessage')), /At least eight/)
  })
  it('the user can sign in at the document door', async (t) => {
    const { document } = await openWithUsers(t)
    const { status, body } = await send(document, { path: '/_session', headers: { Authorization: ANN } })
    assert.deepEqual([status, JSON.parse(body).userCtx], [200, { name: 'ann', roles: [] }])
  })
})

describe('changing', () => {
  const EXTRA = { a: { b: 1, c: [1] }, d: 1 }

  it('applies valid members and ignores the others', async (t) => {
    const { ask } = await openWithUsers(t)
    const json = { passwd: 7, active: 'no', extra: [], user: 'other', grant: 'rw' }
    assert.deepEqual((await ask('PATCH', '/_api/user/ann', { as: AS_ADMIN, body: json })).json, shown('ann'))
    assert.equal((await ask('GET', '/_api/user/ann', { as: ANN })).status, 200)
  })
  it('merges extra', async (t) => {
    const { ask } = await openWithUsers(t)
    await ask('PATCH', '/_api/user/ann', { as: ANN, body: { extra: EXTRA } })
    const text = '{"extra":{"a":{"c":[2],"__proto__":{"x":1}},"e":null}}'
    const { body } = await ask('PATCH', '/_api/user/ann', { as: ANN, body: text })
    assert.match(body, /"extra":\{"a":\{"b":1,"c":\[2\],"__proto__":\{"x":1\}\},"d":1,"e":null\}/)
  })
  it('limits the size of merged extra', async (t) => {
    const { ask } = await openWithUsers(t)
    const part = (name: string) => ({ as: ANN, body: { extra: { [name]: 'x'.repeat(40_000) } } })
    assert.equal((await ask('PATCH', '/_api/user/ann', part('a'))).status, 200)
    assert.equal((await ask('PATCH', '/_api/user/ann', part('b'))).status, 400)
  })
  it('keeps grants; a replacement removes them and the password', async (t) => {
    const { ask } = await openWithUsers(t)
    const path = '/_api/user/ann/database/shop'
    await ask('PUT', path, { as: AS_ADMIN, body: { grant: 'ro' } })
    await ask('PATCH', '/_api/user/ann', { as: ANN, body: { extra: EXTRA } })
    assert.equal(member((await ask('GET', path, { as: AS_ADMIN })).json, 'result'), 'ro')
    assert.deepEqual((await ask('PUT', '/_api/user/ann', { as: ANN, body: {} })).json, shown('ann'))
    assert.equal(member((await ask('GET', path, { as: AS_ADMIN })).json, 'result'), 'none')
    assert.equal((await ask('GET', '/_api/user/ann', { as: ANN })).status, 401)
    assert.equal((await ask('GET', '/_api/user/ann', { as: basic('ann', '') })).status, 200)
  })
  it('a user changes its own password', async (t) => {
    const { ask } = await openWithUsers(t)
    assert.equal((await ask('PATCH', '/_api/user/ann', { as: ANN, body: { passwd: 'pear' } })).status, 200)
    assert.equal((await ask('GET', '/_api/user/ann', { as: ANN })).status, 401)
    assert.equal((await ask('GET', '/_api/user/ann', { as: basic('ann', 'pear') })).status, 200)
  })
  it('keeps the data of the document door', async (t) => {
    const { ask, document } = await openWithUsers(t)
    const headers = { Authorization: AS_ADMIN, 'Content-Type': 'application/json' }
    const path = '/_users/org.couchdb.user:dan'
    const body = JSON.stringify({ name: 'dan', type: 'user', roles: ['editor'], password: 'd', shoe: 43 })
    assert.equal((await send(document, { method: 'PUT', path, headers, body })).status, 201)
    assert.equal(
      (await ask('PUT', '/_api/user/dan', { as: AS_ADMIN, body: { passwd: 'e', extra: { a: 1 } } })).status,
      200,
    )
    const kept = JSON.parse((await send(document, { path, headers })).body)
    assert.deepEqual([kept.roles, kept.shoe, kept.extra], [['editor'], 43, undefined])
  })
  runRows([
    ['another user, as a user', 'PATCH', '/_api/user/rob', { as: ANN, body: {} }, 403, FORBIDDEN],
    ['replacing another user, as a user', 'PUT', '/_api/user/rob', { as: ANN, body: {} }, 403, FORBIDDEN],
    ['an unknown user', 'PATCH', '/_api/user/unknown', { as: AS_ADMIN, body: { passwd: 'x' } }, 404, NOT_FOUND],
    ['replacing an unknown user', 'PUT', '/_api/user/unknown', { as: AS_ADMIN, body: { passwd: 'x' } }, 404, NOT_FOUND],
    ['an administrator', 'PATCH', '/_api/user/admin', { as: AS_ADMIN, body: { passwd: 'x' } }, 403, FORBIDDEN],
    ['replacing an administrator', 'PUT', '/_api/user/admin', { as: AS_ADMIN, body: { passwd: 'x' } }, 403, FORBIDDEN],
    [
      'an administrator, with rw on the system database',
      'PATCH',
      '/_api/user/admin',
      { as: MAX, body: {} },
      403,
      FORBIDDEN,
    ],
    [
      'a body that is not JSON',
      'PATCH',
      '/_api/user/ann',
      { as: AS_ADMIN, body: 'x' },
      400,
      refusal(400, 10, 'the body is not JSON'),
    ],
    [
      'a body that is a list',
      'PUT',
      '/_api/user/ann',
      { as: AS_ADMIN, body: [] },
      400,
      refusal(400, 10, 'the body must be a JSON object'),
    ],
  ])
})

describe('deleting', () => {
  runRows([
    ['a user', 'DELETE', '/_api/user/ann', { as: AS_ADMIN }, 202, { error: false, code: 202 }],
    ['an unknown user', 'DELETE', '/_api/user/unknown', { as: AS_ADMIN }, 404, NOT_FOUND],
    ['an administrator', 'DELETE', '/_api/user/admin', { as: AS_ADMIN }, 403, FORBIDDEN],
    ['root', 'DELETE', '/_api/user/root', { as: AS_ADMIN }, 403, FORBIDDEN],
    ['the own user', 'DELETE', '/_api/user/ann', { as: ANN }, 403, FORBIDDEN],
    ['another user, as a user', 'DELETE', '/_api/user/rob', { as: ANN }, 403, FORBIDDEN],
  ])
})
