// Which credentials may change their user's own password and access tokens.
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { type MultiModel, member, now, readClaims, superuser, userToken } from '../../support/multi-model.ts'
import { ANN, openWithUsers, refusal } from '../../support/multi-model-users.ts'
import { AS_ADMIN, basic } from '../../support/request.ts'

const NEEDS_PASSWORD = refusal(
  403,
  11,
  'Sign in with the password to change it, the second factor or access tokens, to end other sessions, or to delete or deactivate the account.',
)

const TOKENS = '/_api/token/ann'
const token = (name: string) => ({ name, valid_until: now() + 100 })

type Change = readonly [method: string, path: string, json?: object]

/** Every change of the account of ann that must not be delegated. */
const CHANGES: readonly Change[] = [
  ['PATCH', '/_api/user/ann', { passwd: 'stolen' }],
  ['PUT', '/_api/user/ann', { passwd: 'stolen' }],
  ['PATCH', '/_api/user/ann', { active: false }],
  ['POST', TOKENS, token('another')],
  ['DELETE', `${TOKENS}/1`],
]

async function assertRefused({ ask }: MultiModel, auth: string, changes = CHANGES): Promise<void> {
  for (const [method, path, json] of changes) {
    const answer = await ask(method, path, { as: auth, body: json })
    assert.deepEqual(answer.json, NEEDS_PASSWORD, `${method} ${path}`)
  }
  assert.equal((await ask('GET', '/_api/user/ann', { as: ANN })).status, 200, 'the password is the same')
}

const createAccessToken = async ({ ask }: MultiModel): Promise<string> =>
  String(member((await ask('POST', TOKENS, { as: ANN, body: token('first') })).json, 'token'))

describe('a credential that has not proved the password', () => {
  it('an access token as Basic password changes neither password nor tokens', async (t) => {
    const door = await openWithUsers(t)
    const text = await createAccessToken(door)
    await assertRefused(door, basic('ann', text))
    await assertRefused(door, basic('', text))
  })
  it('a token issued for an access token changes neither', async (t) => {
    const door = await openWithUsers(t)
    await assertRefused(door, await door.signIn('ann', await createAccessToken(door)))
  })
  it('a token that another program signed with the right secret changes neither, whatever it claims', async (t) => {
    const door = await openWithUsers(t)
    await assertRefused(door, userToken('ann', { iat: now() }))
    const claims = readClaims((await door.signIn('ann', 'apple')).slice('Bearer '.length))
    const { jti: _, ...rest } = claims
    await assertRefused(door, userToken('ann', { ...rest, jti: Buffer.alloc(16, 7).toString('base64url') }))
  })
  it('a token renewed from one that another program signed changes neither', async (t) => {
    const door = await openWithUsers(t)
    const auth = userToken('ann', { iat: now(), exp: now() + 60 })
    const renewed = await door.ask('POST', '/_open/auth/renew', { as: auth })
    await assertRefused(door, `Bearer ${member(renewed.json, 'jwt')}`)
  })
  it('may still change other data', async (t) => {
    const door = await openWithUsers(t)
    const auth = basic('ann', await createAccessToken(door))
    assert.equal(
      (await door.ask('PATCH', '/_api/user/ann', { as: auth, body: { active: true, extra: { a: 1 } } })).status,
      200,
    )
  })
  it('of a manager cannot delete its own account, but sets the passwords of others', async (t) => {
    const door = await openWithUsers(t)
    await door.ask('PUT', '/_api/user/ann/database/_system', { as: AS_ADMIN, body: { grant: 'rw' } })
    const auth = basic('ann', await createAccessToken(door))
    await assertRefused(door, auth, [['DELETE', '/_api/user/ann']])
    assert.equal((await door.ask('PATCH', '/_api/user/rob', { as: auth, body: { passwd: 'new' } })).status, 200)
    assert.equal((await door.ask('GET', '/_api/user/rob', { as: basic('rob', 'new') })).status, 200)
  })
})

describe('a credential that has proved the password', () => {
  for (const [name, toAuth] of [
    ['Basic with the password', async () => ANN],
    ['a token issued by POST /_open/auth', (door: MultiModel) => door.signIn('ann', 'apple')],
  ] as const) {
    it(`${name} changes password and access tokens`, async (t) => {
      const door = await openWithUsers(t)
      const auth = await toAuth(door)
      assert.equal((await door.ask('POST', TOKENS, { as: auth, body: token('x') })).status, 200)
      assert.equal((await door.ask('DELETE', `${TOKENS}/1`, { as: auth })).status, 200)
      assert.equal((await door.ask('PATCH', '/_api/user/ann', { as: auth, body: { passwd: 'pear' } })).status, 200)
      assert.equal((await door.ask('GET', '/_api/user/ann', { as: basic('ann', 'pear') })).status, 200)
    })
  }
  it('Basic with the password deactivates the own account', async (t) => {
    const door = await openWithUsers(t)
    assert.equal((await door.ask('PATCH', '/_api/user/ann', { as: ANN, body: { active: false } })).status, 200)
    assert.equal((await door.ask('GET', '/_api/user/ann', { as: ANN })).status, 401)
  })
  it('a superuser token changes any password', async (t) => {
    const door = await openWithUsers(t)
    const answer = await door.ask('PATCH', '/_api/user/ann', { as: superuser(), body: { passwd: 'pear' } })
    assert.equal(answer.status, 200)
  })
})
