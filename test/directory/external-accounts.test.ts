// The roles that identity providers gave, and which of them count.
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { openTestNode } from '../support/directory.ts'

const ISSUER = 'https://id.example.com'
const ACCOUNT = { provider: 'open', issuer: ISSUER, subject: '1' }

async function openNode(t: Parameters<typeof openTestNode>[0], roleIssuers: readonly string[]) {
  const { directory } = await openTestNode(t, { settings: { roleIssuers } })
  await directory.createUser({ name: 'wim', roles: ['own'] })
  await directory.linkAccount('wim', ACCOUNT)
  await directory.setLinkRoles('wim', ACCOUNT, ['Writer'])
  const search = async (query: object) =>
    (await directory.searchUsers({ limit: 10, ...query })).users.map(({ name }) => name)
  return { directory, search }
}

describe('roles that an identity provider gave', () => {
  it('count while the provider gives roles, also for searches', async (t) => {
    const { directory, search } = await openNode(t, [ISSUER])
    assert.deepEqual((await directory.findAccount('wim'))?.roles, ['own', 'Writer'])
    for (const query of [{ role: 'writer' }, { role: 'writer', hasNoFactor: true }, { text: 'wri' }])
      assert.deepEqual(await search(query), ['wim'], JSON.stringify(query))
    const { counts } = await directory.countUsersBy('role', '', 10)
    assert.deepEqual(
      counts.map(({ key, count }) => [key, count]),
      [
        ['own', 1],
        ['writer', 1],
      ],
    )
  })

  it('have no effect when its users are linked only, or it was removed', async (t) => {
    const { directory, search } = await openNode(t, ['https://other.example.com'])
    assert.deepEqual((await directory.findAccount('wim'))?.roles, ['own'])
    for (const query of [{ role: 'writer' }, { role: 'writer', hasNoFactor: true }, { text: 'wri' }])
      assert.deepEqual(await search(query), [], JSON.stringify(query))
    assert.deepEqual(await search({ role: 'own' }), ['wim'])
    await directory.createUser({ name: 'ada', roles: ['writer'] })
    const { counts } = await directory.countUsersBy('role', '', 10)
    assert.deepEqual(
      counts.map(({ key, count }) => [key, count]),
      [
        ['own', 1],
        ['writer', 1],
      ],
    )
  })
})
