// A token that does not name the time it was signed cannot be ordered against a change of the password.
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { now, superuser, userToken } from '../../support/multi-model.ts'
import { openWithUsers } from '../../support/multi-model-users.ts'
import { AS_ADMIN } from '../../support/request.ts'

const OWN = '/_api/user/ann'
const WITHOUT_IAT = userToken('ann')
type Door = Awaited<ReturnType<typeof openWithUsers>>

const statusOf = async ({ ask }: Door, auth: string) => (await ask('GET', OWN, { as: auth })).status

describe('a token without iat', () => {
  it('is accepted while no session of its user was ended', async (t) => {
    assert.equal(await statusOf(await openWithUsers(t), WITHOUT_IAT), 200)
  })

  const ENDINGS: readonly (readonly [name: string, ...changes: object[]])[] = [
    ['another password', { passwd: 'pear' }],
    ['deactivation, also when it is undone', { active: false }, { active: true }],
  ]
  for (const [name, ...changes] of ENDINGS)
    it(`is rejected after ${name}; one with an iat a minute later is accepted`, async (t) => {
      const door = await openWithUsers(t)
      for (const json of changes) assert.equal((await door.ask('PATCH', OWN, { as: AS_ADMIN, body: json })).status, 200)
      assert.equal(await statusOf(door, WITHOUT_IAT), 401)
      assert.equal(await statusOf(door, userToken('ann', { iat: now() - 60 })), 401)
      assert.equal(await statusOf(door, userToken('ann', { iat: now() + 50 })), 401)
      const systemNow = Date.now
      t.mock.method(Date, 'now', () => systemNow() + 61_000)
      assert.equal(await statusOf(door, userToken('ann', { iat: now() + 1 })), 200)
    })

  it('is accepted after the same password was set again', async (t) => {
    const door = await openWithUsers(t)
    await door.ask('PATCH', OWN, { as: AS_ADMIN, body: { passwd: 'apple' } })
    assert.equal(await statusOf(door, WITHOUT_IAT), 200)
  })

  it('of a superuser is not affected', async (t) => {
    const door = await openWithUsers(t)
    await door.ask('PATCH', OWN, { as: AS_ADMIN, body: { passwd: 'pear' } })
    assert.equal(await statusOf(door, superuser()), 200)
  })
})
