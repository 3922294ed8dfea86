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
  runUserRows,
  shown,
} from '../../support/multi-model-users.ts'
import { AS_ADMIN, basic, createAsk, send } from '../../support/request.ts'

describe('reading', () => {
  runUserRows([
    { name: 'the own user', as: ANN, path: '/_api/user/ann', expect: { status: 200, json: shown('ann') } },
    {
      name: 'another user, as an administrator',
      as: AS_ADMIN,
      path: '/_api/user/ann',
      expect: { status: 200, json: shown('ann') },
    },
    {
      name: 'another user, as a superuser',
      as: superuser(),
      path: '/_api/user/ann',
      expect: { status: 200, json: shown('ann') },
    },
    {
      name: 'another user, with rw on the system database',
      as: MAX,
      path: '/_api/user/ann',
      expect: { status: 200, json: shown('ann') },
    },
    { name: 'another user', as: ANN, path: '/_api/user/rob', expect: { status: 403, json: NOT_OWNER } },
    {
      name: 'an unknown user, which looks like another one',
      as: ANN,
      path: '/_api/user/unknown',
      expect: { status: 403, json: NOT_OWNER },
    },
    {
      name: 'another user, with ro on the system database',
      as: ROB,
      path: '/_api/user/ann',
      expect: { status: 403, json: NOT_OWNER },
    },
    { name: 'an unknown user', as: AS_ADMIN, path: '/_api/user/unknown', expect: { status: 404, json: NOT_FOUND } },
    { name: 'an administrator', as: AS_ADMIN, path: '/_api/user/admin', expect: { status: 200, json: shown('admin') } },
    {
      name: 'in another database',
      as: ANN,
      path: '/_db/_system/_api/user/ann',
      expect: { status: 200, json: shown('ann') },
    },
    {
      name: 'in an unknown database, as in one that the user may not enter',
      as: ANN,
      path: '/_db/none/_api/user/ann',
      expect: { status: 200, json: shown('ann') },
    },
    { name: 'without a credential', path: '/_api/user/ann', expect: { status: 401, json: GATE } },
    { name: 'all, without any grant', as: ANN, path: '/_api/user', expect: { status: 401, json: GATE } },
    {
      name: 'all, with ro on the system database',
      as: ROB,
      path: '/_api/user',
      expect: { status: 403, json: NOT_OWNER },
    },
    { name: '__proto__', as: AS_ADMIN, path: '/_api/user/__proto__', expect: { status: 404, json: NOT_FOUND } },
    { name: 'constructor', as: AS_ADMIN, path: '/_api/user/constructor', expect: { status: 404, json: NOT_FOUND } },
    { name: 'with HEAD', as: AS_ADMIN, method: 'HEAD', path: '/_api/user/ann', expect: { status: 200, text: '' } },
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
    const { ask, document } = await openMultiModel(t)
    const names = Array.from({ length: 501 }, (_, index) => `user-${String(index).padStart(5, '0')}`)
    const docs = names.map((name) => ({ _id: `org.couchdb.user:${name}`, name, roles: [], type: 'user' }))
    const made = await createAsk(document)('POST', '/_users/_bulk_docs', { as: AS_ADMIN, body: { docs } })
    assert.deepEqual([made.status, made.json.length], [201, names.length])
    const result = member((await ask('GET', '/_api/user', { as: AS_ADMIN })).json, 'result')
    assert.deepEqual(
      Object(result).map(({ user }: { user: string }) => user),
      ['admin', ...names],
    )
  })
})

describe('creating', () => {
  const create = (body: unknown) => ({ as: AS_ADMIN, body })
  runUserRows(
    [
      {
        name: 'with a name alone',
        method: 'POST',
        path: '/_api/user',
        ...create({ user: 'new' }),
        expect: { status: 201, json: shown('new', {}, 201) },
      },
      {
        name: 'with all members',
        method: 'POST',
        path: '/_api/user',
        ...create({ user: 'new', passwd: 'x', active: false, extra: { a: { b: [1] } } }),
        expect: { status: 201, json: shown('new', { active: false, extra: { a: { b: [1] } } }, 201) },
      },
      {
        name: 'unknown members',
        method: 'POST',
        path: '/_api/user',
        ...create({ user: 'new', roles: ['_admin'] }),
        expect: { status: 201, json: shown('new', {}, 201) },
      },
      {
        name: 'null members',
        method: 'POST',
        path: '/_api/user',
        ...create({ user: 'new', passwd: null, extra: null }),
        expect: { status: 201, json: shown('new', {}, 201) },
      },
      {
        name: 'with rw on the system database',
        as: MAX,
        method: 'POST',
        path: '/_api/user',
        body: { user: 'new' },
        expect: { status: 201, json: shown('new', {}, 201) },
      },
      {
        name: 'a name that is taken',
        method: 'POST',
        path: '/_api/user',
        ...create({ user: 'ann' }),
        expect: { status: 409, json: refusal(409, 1702, 'duplicate user') },
      },
      {
        name: 'the name of an administrator',
        method: 'POST',
        path: '/_api/user',
        ...create({ user: 'admin' }),
        expect: { status: 409, json: refusal(409, 1702, 'duplicate user') },
      },
      {
        name: 'no name',
        method: 'POST',
        path: '/_api/user',
        ...create({}),
        expect: { status: 400, json: refusal(400, 1700, 'invalid user name') },
      },
      {
        name: 'an empty name',
        method: 'POST',
        path: '/_api/user',
        ...create({ user: '' }),
        expect: { status: 400, json: refusal(400, 1700, 'invalid user name') },
      },
      {
        name: 'a name that is a number',
        method: 'POST',
        path: '/_api/user',
        ...create({ user: 7 }),
        expect: { status: 400, json: refusal(400, 1700, 'invalid user name') },
      },
      {
        name: 'a name with a colon',
        method: 'POST',
        path: '/_api/user',
        ...create({ user: 'a:b' }),
        expect: { status: 400, json: refusal(400, 1700, 'invalid user name') },
      },
      {
        name: 'a name that begins with an underscore',
        method: 'POST',
        path: '/_api/user',
        ...create({ user: '_x' }),
        expect: { status: 400, json: refusal(400, 1700, 'invalid user name') },
      },
      {
        name: 'a password that is a number',
        method: 'POST',
        path: '/_api/user',
        ...create({ user: 'new', passwd: 7 }),
        expect: { status: 400, json: refusal(400, 10, "'passwd' must be a string") },
      },
      {
        name: 'active as a string',
        method: 'POST',
        path: '/_api/user',
        ...create({ user: 'new', active: 'yes' }),
        expect: { status: 400, json: refusal(400, 10, "'active' must be true or false") },
      },
      {
        name: 'extra as a list',
        method: 'POST',
        path: '/_api/user',
        ...create({ user: 'new', extra: [] }),
        expect: { status: 400, json: refusal(400, 10, "'extra' must be an object") },
      },
      {
        name: 'too much extra',
        method: 'POST',
        path: '/_api/user',
        ...create({ user: 'new', extra: { a: 'x'.repeat(70_000) } }),
        expect: { status: 400, json: refusal(400, 10, 'the data of a user must not exceed 65536 bytes') },
      },
      {
        name: 'no body',
        as: AS_ADMIN,
        method: 'POST',
        path: '/_api/user',
        expect: { status: 400, json: refusal(400, 10, 'the body must be a JSON object') },
      },
      {
        name: 'a list',
        method: 'POST',
        path: '/_api/user',
        ...create([]),
        expect: { status: 400, json: refusal(400, 10, 'the body must be a JSON object') },
      },
      {
        name: 'not JSON',
        as: AS_ADMIN,
        method: 'POST',
        path: '/_api/user',
        body: '{',
        expect: { status: 400, json: refusal(400, 10, 'the body is not JSON') },
      },
      {
        name: 'an infinite number',
        as: AS_ADMIN,
        method: 'POST',
        path: '/_api/user',
        body: '{"user":"new","extra":{"a":[1e999]}}',
        expect: { status: 400, json: refusal(400, 10, 'the body contains a number that cannot be stored exactly') },
      },
      {
        name: 'a number that would be rounded',
        as: AS_ADMIN,
        method: 'POST',
        path: '/_api/user',
        body: '{"user":"new","extra":{"a":9007199254740993}}',
        expect: { status: 400, json: refusal(400, 10, 'the body contains a number that cannot be stored exactly') },
      },
      {
        name: 'a duplicate member',
        as: AS_ADMIN,
        method: 'POST',
        path: '/_api/user',
        body: '{"user":"a","user":"b"}',
        expect: { status: 400, json: refusal(400, 10, 'the body names a member twice') },
      },
      {
        name: 'a password with NUL',
        method: 'POST',
        path: '/_api/user',
        ...create({ user: 'new', passwd: 'x\0' }),
        expect: {
          status: 400,
          json: refusal(400, 10, 'Password does not conform to requirements. It holds the character NUL.'),
        },
      },
      {
        name: 'as a user',
        as: ROB,
        method: 'POST',
        path: '/_api/user',
        body: { user: 'new' },
        expect: { status: 403, json: FORBIDDEN },
      },
    ],
    { isSeparate: true },
  )

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
  runUserRows([
    {
      name: 'another user, as a user',
      as: ANN,
      method: 'PATCH',
      path: '/_api/user/rob',
      body: {},
      expect: { status: 403, json: FORBIDDEN },
    },
    {
      name: 'replacing another user, as a user',
      as: ANN,
      method: 'PUT',
      path: '/_api/user/rob',
      body: {},
      expect: { status: 403, json: FORBIDDEN },
    },
    {
      name: 'an unknown user',
      as: AS_ADMIN,
      method: 'PATCH',
      path: '/_api/user/unknown',
      body: { passwd: 'x' },
      expect: { status: 404, json: NOT_FOUND },
    },
    {
      name: 'replacing an unknown user',
      as: AS_ADMIN,
      method: 'PUT',
      path: '/_api/user/unknown',
      body: { passwd: 'x' },
      expect: { status: 404, json: NOT_FOUND },
    },
    {
      name: 'an administrator',
      as: AS_ADMIN,
      method: 'PATCH',
      path: '/_api/user/admin',
      body: { passwd: 'x' },
      expect: { status: 403, json: FORBIDDEN },
    },
    {
      name: 'replacing an administrator',
      as: AS_ADMIN,
      method: 'PUT',
      path: '/_api/user/admin',
      body: { passwd: 'x' },
      expect: { status: 403, json: FORBIDDEN },
    },
    {
      name: 'an administrator, with rw on the system database',
      as: MAX,
      method: 'PATCH',
      path: '/_api/user/admin',
      body: {},
      expect: { status: 403, json: FORBIDDEN },
    },
    {
      name: 'a body that is not JSON',
      as: AS_ADMIN,
      method: 'PATCH',
      path: '/_api/user/ann',
      body: 'x',
      expect: { status: 400, json: refusal(400, 10, 'the body is not JSON') },
    },
    {
      name: 'a body that is a list',
      as: AS_ADMIN,
      method: 'PUT',
      path: '/_api/user/ann',
      body: [],
      expect: { status: 400, json: refusal(400, 10, 'the body must be a JSON object') },
    },
  ])
})

describe('deleting', () => {
  runUserRows(
    [
      {
        name: 'a user',
        as: AS_ADMIN,
        method: 'DELETE',
        path: '/_api/user/ann',
        expect: { status: 202, json: { error: false, code: 202 } },
      },
      {
        name: 'an unknown user',
        as: AS_ADMIN,
        method: 'DELETE',
        path: '/_api/user/unknown',
        expect: { status: 404, json: NOT_FOUND },
      },
      {
        name: 'an administrator',
        as: AS_ADMIN,
        method: 'DELETE',
        path: '/_api/user/admin',
        expect: { status: 403, json: FORBIDDEN },
      },
      {
        name: 'root',
        as: AS_ADMIN,
        method: 'DELETE',
        path: '/_api/user/root',
        expect: { status: 403, json: FORBIDDEN },
      },
      {
        name: 'the own user',
        as: ANN,
        method: 'DELETE',
        path: '/_api/user/ann',
        expect: { status: 403, json: FORBIDDEN },
      },
      {
        name: 'another user, as a user',
        as: ANN,
        method: 'DELETE',
        path: '/_api/user/rob',
        expect: { status: 403, json: FORBIDDEN },
      },
    ],
    { isSeparate: true },
  )
})
