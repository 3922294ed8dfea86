// /_api/token: access tokens, which users give to their programs instead of the password.
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { GATE, type MultiModel, member, now, readClaims, superuser, userToken } from '../../support/multi-model.ts'
import {
  ANN,
  FORBIDDEN,
  NOT_FOUND,
  NOT_OWNER,
  openWithUsers,
  refusal,
  runUserRows,
} from '../../support/multi-model-users.ts'
import { AS_ADMIN, basic } from '../../support/request.ts'

const TOKENS = '/_api/token/ann'

interface Token {
  readonly id: number
  readonly name: string
  readonly token: string
  readonly active: boolean
  readonly fingerprint: string
}

async function create({ ask }: Pick<MultiModel, 'ask'>, name: string, validUntil = now() + 100): Promise<Token> {
  const answer = await ask('POST', TOKENS, { as: ANN, body: { name, valid_until: validUntil } })
  assert.equal(answer.status, 200, answer.body)
  return Object(answer.json)
}

describe('creating, listing and deleting', () => {
  it('shows the text of a token once', async (t) => {
    const door = await openWithUsers(t)
    const made = await create(door, 'first', 4102444800)
    const { token, ...rest } = made
    assert.match(token, /^v1\.[0-9a-f]+$/)
    const inside = JSON.parse(Buffer.from(token.slice(3), 'hex').toString())
    assert.deepEqual({ ...inside, c: 0, r: '' }, { e: 4102444800, c: 0, u: 'ann', r: '' })
    assert.match(inside.r, /^[A-Za-z0-9]{20}$/)
    assert.deepEqual({ ...rest, created_at: 0 }, {
      id: 1,
      name: 'first',
      valid_until: 4102444800,
      created_at: 0,
      fingerprint: `v1...${token.slice(-6)}`,
      active: true,
    } as object)
    const { json, body } = await door.ask('GET', TOKENS, { as: ANN })
    assert.deepEqual(json, { tokens: [rest] })
    assert.ok(!body.includes(token))
  })
  it('numbers continue from the highest', async (t) => {
    const door = await openWithUsers(t)
    assert.equal((await create(door, 'a')).id, 1)
    assert.equal((await create(door, 'b')).id, 2)
    await door.ask('DELETE', `${TOKENS}/1`, { as: ANN })
    assert.equal((await create(door, 'c')).id, 3)
  })
  it('shows expired tokens as inactive', async (t) => {
    const door = await openWithUsers(t)
    for (const json of [{ name: 'a' }, { name: 'b', valid_until: 'x' }, { name: 'c', valid_until: 1 }]) {
      assert.equal(member((await door.ask('POST', TOKENS, { as: ANN, body: json })).json, 'active'), false)
    }
  })
  it('limits the number of tokens', async (t) => {
    const door = await openWithUsers(t)
    for (let i = 0; i < 100; i += 1) await create(door, `token ${i}`)
    const answer = await door.ask('POST', TOKENS, { as: ANN, body: { name: 'one more' } })
    assert.deepEqual(answer.json, refusal(400, 10, 'a user has at most 100 tokens'))
  })

  const make = (body: unknown) => ({ as: ANN, body })
  const EMPTY = refusal(400, 10, "'name' must not be empty")
  const BODY = refusal(400, 10, 'the body must be a JSON object')
  runUserRows(
    [
      { name: 'no name', method: 'POST', path: TOKENS, ...make({}), expect: { status: 400, json: EMPTY } },
      {
        name: 'an empty name',
        method: 'POST',
        path: TOKENS,
        ...make({ name: '' }),
        expect: { status: 400, json: EMPTY },
      },
      {
        name: 'a name that is a number',
        method: 'POST',
        path: TOKENS,
        ...make({ name: 7 }),
        expect: { status: 400, json: refusal(400, 10, "invalid 'name': not text") },
      },
      {
        name: 'a name that is too long',
        method: 'POST',
        path: TOKENS,
        ...make({ name: 'x'.repeat(300) }),
        expect: { status: 400, json: refusal(400, 10, "invalid 'name': too long") },
      },
      {
        name: 'an infinite valid_until',
        as: ANN,
        method: 'POST',
        path: TOKENS,
        body: '{"name":"x","valid_until":1e999}',
        expect: { status: 400, json: refusal(400, 10, 'the body contains a number that cannot be stored exactly') },
      },
      ...[1_893_456_000_000, 253_402_300_800, -1].map((until) => ({
        name: `valid_until ${until}, which is not a time in seconds`,
        method: 'POST',
        path: TOKENS,
        ...make({ name: 'x', valid_until: until }),
        expect: {
          status: 400,
          json: refusal(400, 10, "'valid_until' must be a time in seconds since 1970, not later than the year 9999"),
        },
      })),
      {
        name: 'the last valid_until',
        method: 'POST',
        path: TOKENS,
        ...make({ name: 'x', valid_until: 253_402_300_799 }),
        expect: { status: 200 },
      },
      ...['database', 'Databases', 'service', 'scope', 'validUntil'].map((member) => ({
        name: `the unknown member ${member}`,
        method: 'POST',
        path: TOKENS,
        ...make({ name: 'x', valid_until: 4102444800, [member]: ['shop'] }),
        expect: { status: 400, json: refusal(400, 10, `unknown member '${member}'`) },
      })),
      { name: 'a list', method: 'POST', path: TOKENS, ...make([]), expect: { status: 400, json: BODY } },
      { name: 'no body', as: ANN, method: 'POST', path: TOKENS, expect: { status: 400, json: BODY } },
      {
        name: 'for an unknown user',
        as: AS_ADMIN,
        method: 'POST',
        path: '/_api/token/unknown',
        body: { name: 'x' },
        expect: { status: 404, json: NOT_FOUND },
      },
      {
        name: 'for another user',
        method: 'POST',
        path: '/_api/token/rob',
        ...make({ name: 'x' }),
        expect: { status: 403, json: NOT_OWNER },
      },
      { name: 'of another user', as: ANN, path: '/_api/token/rob', expect: { status: 403, json: NOT_OWNER } },
      {
        name: 'deleting that of another user',
        as: ANN,
        method: 'DELETE',
        path: '/_api/token/rob/1',
        expect: { status: 403, json: NOT_OWNER },
      },
      {
        name: 'of an unknown user',
        as: AS_ADMIN,
        path: '/_api/token/unknown',
        expect: { status: 404, json: NOT_FOUND },
      },
      {
        name: 'for an administrator',
        as: AS_ADMIN,
        method: 'POST',
        path: '/_api/token/admin',
        body: { name: 'x' },
        expect: { status: 403, json: FORBIDDEN },
      },
      {
        name: 'of an administrator',
        as: AS_ADMIN,
        path: '/_api/token/admin',
        expect: { status: 200, json: { tokens: [] } },
      },
      { name: 'as a superuser', as: superuser(), path: TOKENS, expect: { status: 200, json: { tokens: [] } } },
      { name: 'without a credential', path: TOKENS, expect: { status: 401, json: GATE } },
      {
        name: 'without a user',
        as: AS_ADMIN,
        path: '/_api/token',
        expect: { status: 400, json: refusal(400, 400, "path parameter 'user' is missing") },
      },
      {
        name: 'deleting without an id',
        as: ANN,
        method: 'DELETE',
        path: TOKENS,
        expect: { status: 400, json: refusal(400, 400, "path parameter 'id' is missing") },
      },
      {
        name: 'deleting with an id that is not a number',
        as: ANN,
        method: 'DELETE',
        path: `${TOKENS}/x`,
        expect: { status: 400, json: refusal(400, 400, "path parameter 'id' is not a number") },
      },
      {
        name: 'deleting an unknown id',
        as: ANN,
        method: 'DELETE',
        path: `${TOKENS}/7`,
        expect: { status: 200, text: '' },
      },
      {
        name: 'an unsupported method',
        as: ANN,
        method: 'PUT',
        path: TOKENS,
        expect: { status: 400, json: refusal(400, 405, 'method not supported') },
      },
      {
        name: 'too many parts',
        as: ANN,
        path: `${TOKENS}/1/x`,
        expect: { status: 400, json: refusal(400, 10, 'the path has too many or too few parts') },
      },
    ],
    { isSeparate: true },
  )
  it('rejects a duplicate name', async (t) => {
    const door = await openWithUsers(t)
    await create(door, 'first')
    const answer = await door.ask('POST', TOKENS, { as: ANN, body: { name: 'first' } })
    assert.deepEqual(answer.json, refusal(409, 1207, 'duplicate name'))
  })
  it('deleting returns an empty body', async (t) => {
    const door = await openWithUsers(t)
    await create(door, 'first')
    const answer = await door.ask('DELETE', `${TOKENS}/1`, { as: ANN })
    assert.deepEqual([answer.status, answer.body, answer.header('content-type')], [200, '', 'text/plain'])
  })
})

describe('a token is accepted', () => {
  const ME = '/_api/user/ann'
  const open = async ({ ask }: MultiModel, by: string) => (await ask('GET', ME, { as: by })).status

  it('as a password, with the name or without', async (t) => {
    const door = await openWithUsers(t)
    const { token } = await create(door, 'x')
    assert.equal(await open(door, basic('ann', token)), 200)
    assert.equal(await open(door, basic('', token)), 200)
    for (const name of ['rob', 'admin', 'Ann']) assert.equal(await open(door, basic(name, token)), 401, name)
  })
  it('to sign in, for no longer than it is valid', async (t) => {
    const door = await openWithUsers(t)
    const until = now() + 100
    const { token } = await create(door, 'x', until)
    for (const username of ['ann', '']) {
      const { json } = await door.ask('POST', '/_open/auth', { body: { username, password: token } })
      const claims = readClaims(member(json, 'jwt'))
      assert.deepEqual([claims['preferred_username'], claims['exp'], claims['cdu']], ['ann', until, until])
      const auth = `Bearer ${member(json, 'jwt')}`
      assert.equal(await open(door, auth), 200)
      const renewed = await door.ask('POST', '/_open/auth/renew', { as: auth })
      assert.ok(Number(readClaims(member(renewed.json, 'jwt'))['exp']) <= until)
    }
    const wrong = await door.ask('POST', '/_open/auth', { body: { username: 'rob', password: token } })
    assert.equal(wrong.status, 401)
  })
  it('until it expires', async (t) => {
    const door = await openWithUsers(t)
    const { token } = await create(door, 'x', now() - 1)
    assert.equal(await open(door, basic('ann', token)), 401)
    const answer = await door.ask('POST', '/_open/auth', { body: { username: 'ann', password: token } })
    assert.equal(answer.status, 401)
  })
  it('until it is deleted', async (t) => {
    const door = await openWithUsers(t)
    const { token, id } = await create(door, 'x')
    for (let i = 0; i < 2; i += 1) assert.equal(await open(door, basic('ann', token)), 200)
    await door.ask('DELETE', `${TOKENS}/${id}`, { as: ANN })
    assert.equal(await open(door, ANN), 200)
    assert.equal(await open(door, basic('ann', token)), 401, 'although the header was accepted before')
  })
  it('as are the JWTs issued for it, until it is deleted', async (t) => {
    const door = await openWithUsers(t)
    const { token, id } = await create(door, 'x')
    const { token: other } = await create(door, 'y')
    const [first, second] = [await door.signIn('ann', token), await door.signIn('', other)]
    const renewable = userToken('ann', { ...readClaims(first), exp: now() + 50 })
    const renewed = `Bearer ${member((await door.ask('POST', '/_open/auth/renew', { as: renewable })).json, 'jwt')}`
    for (const auth of [first, second, renewable, renewed]) assert.equal(await open(door, auth), 200)
    await door.ask('DELETE', `${TOKENS}/${id}`, { as: ANN })
    for (const auth of [first, renewable, renewed]) assert.equal(await open(door, auth), 401)
    assert.equal(await open(door, second), 200)
  })
  it('but not a JWT issued for a deleted one, even if the number is used again', async (t) => {
    const door = await openWithUsers(t)
    const { token, id } = await create(door, 'x')
    const got = await door.signIn('ann', token)
    await door.ask('DELETE', `${TOKENS}/${id}`, { as: ANN })
    assert.equal((await create(door, 'x')).id, id)
    assert.equal(await open(door, got), 401)
  })
  it('until the user is deactivated or replaced', async (t) => {
    const door = await openWithUsers(t)
    const { token } = await create(door, 'x')
    await door.ask('PATCH', ME, { as: AS_ADMIN, body: { active: false } })
    assert.equal(await open(door, basic('ann', token)), 401)
    await door.ask('PATCH', ME, { as: AS_ADMIN, body: { active: true } })
    assert.equal(await open(door, basic('ann', token)), 401)
    const { token: other } = await create(door, 'y')
    assert.equal(await open(door, basic('ann', other)), 200)
    await door.ask('PUT', ME, { as: AS_ADMIN, body: { passwd: 'apple' } })
    assert.equal(await open(door, basic('ann', other)), 200, 'the password is the same')
    await door.ask('PUT', ME, { as: AS_ADMIN, body: { passwd: 'pear' } })
    assert.equal(await open(door, basic('ann', other)), 401)
  })
  it('until the user has another password', async (t) => {
    const door = await openWithUsers(t)
    const { token } = await create(door, 'x')
    await door.ask('PATCH', ME, { as: AS_ADMIN, body: { passwd: 'pear' } })
    assert.equal(await open(door, basic('ann', token)), 401)
    const answer = await door.ask('POST', '/_open/auth', { body: { username: 'ann', password: token } })
    assert.equal(answer.status, 401)
    const { json } = await door.ask('GET', TOKENS, { as: AS_ADMIN })
    assert.equal(member(Object(member(json, 'tokens'))[0], 'active'), false)
  })
  it('until the user is signed out', async (t) => {
    const door = await openWithUsers(t)
    const { token } = await create(door, 'x')
    assert.equal((await door.ask('POST', '/_cardea/api/users/ann/sign-out', { as: AS_ADMIN })).status, 200)
    assert.equal(await open(door, basic('ann', token)), 401)
    const { token: other, active } = await create(door, 'y')
    assert.deepEqual([active, await open(door, basic('ann', other))], [true, 200])
  })
  it('after other changes of the user', async (t) => {
    const door = await openWithUsers(t)
    const { token } = await create(door, 'x')
    await door.ask('PATCH', ME, { as: AS_ADMIN, body: { active: true, extra: { a: 1 } } })
    await door.ask('PUT', `${ME}/database/db`, { as: AS_ADMIN, body: { grant: 'ro' } })
    assert.equal(await open(door, basic('ann', token)), 200)
  })
  it('but not a text that only looks like a token', async (t) => {
    const door = await openWithUsers(t)
    const { token } = await create(door, 'x')
    const hex = (text: string) => `v1.${Buffer.from(text).toString('hex')}`
    const texts = [
      'v1.',
      'v1.zz',
      'v1.7b7',
      hex('{'),
      hex('null'),
      hex('{"u":7}'),
      hex('{"u":"ann"}'),
      hex('{"u":"__proto__"}'),
      token.toUpperCase(),
      `${token}00`,
      token.slice(0, -2),
    ]
    for (const text of texts) {
      assert.equal(await open(door, basic('', text)), 401, text)
      const answer = await door.ask('POST', '/_open/auth', { body: { username: '', password: text } })
      assert.equal(answer.status, 401, text)
    }
  })
})

describe('signing in and out with an access token many times', () => {
  it('removes the access token and revokes nothing else of its owner', async (t) => {
    const door = await openWithUsers(t)
    const own = await door.signIn('ann', 'apple')
    const { token } = await create(door, 'a program')
    const kept = await door.signIn('ann', token)
    for (let turn = 0; turn <= 100; turn += 1) {
      const session = await door.signIn('ann', token)
      assert.equal((await door.ask('DELETE', '/_open/auth', { as: session })).status, 200)
    }
    assert.equal((await door.ask('POST', '/_open/auth', { body: { username: 'ann', password: token } })).status, 401)
    assert.equal((await door.ask('GET', '/_api/user/ann', { as: kept })).status, 401)
    assert.equal((await door.ask('GET', '/_api/user/ann', { as: own })).status, 200)
    assert.deepEqual((await door.ask('GET', TOKENS, { as: ANN })).json, { tokens: [] })
  })
})
