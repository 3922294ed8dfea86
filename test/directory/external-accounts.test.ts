// The roles that identity providers gave, and which of them count.

import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { PROGRAM } from '../../src/directory/caller.ts'
import type { SessionOpening } from '../../src/directory/sessions/session.ts'
import { toExternalKey } from '../../src/directory/users/user.ts'
import { openTestNode } from '../support/directory.ts'

const ISSUER = 'https://id.example.com'
const ACCOUNT = { provider: 'open', issuer: ISSUER, subject: '1' }

async function openNode(t: Parameters<typeof openTestNode>[0], roleIssuers: readonly string[]) {
  const settings = { roleIssuers: new Map(roleIssuers.map((issuer) => [issuer, () => true])) }
  const { directory } = await openTestNode(t, { settings })
  await directory.createUser({ name: 'wim', roles: ['own'] }, PROGRAM)
  await directory.linkAccount('wim', PROGRAM, ACCOUNT)
  await directory.setLinkRoles('wim', PROGRAM, ACCOUNT, ['Writer'])
  const search = async (query: object) =>
    (await directory.searchUsers({ limit: 10, ...query })).users.map(({ name }) => name)
  return { directory, search }
}

describe('roles that an identity provider gave', () => {
  it('count in its sessions while the provider gives roles, and for searches', async (t) => {
    const { directory, search } = await openNode(t, [ISSUER])
    const account = (await directory.findAccount('wim')) ?? assert.fail()
    assert.deepEqual(account.roles, ['own'])
    const open = (opening: Partial<SessionOpening>) =>
      directory.createSession(account, { hasPassword: false, hasFactor: false, ...opening }).id
    const rolesIn = (id: string) => directory.toActing(account, id).roles
    const external = { account: toExternalKey(ACCOUNT), isFresh: false }
    for (const hasFactor of [false, true])
      for (const isFresh of [false, true])
        assert.deepEqual(rolesIn(open({ external: { ...external, isFresh }, hasFactor })), ['own', 'Writer'])
    const others: readonly Partial<SessionOpening>[] = [
      {},
      { hasPassword: true },
      { hasPassword: true, external },
      { accessToken: 'a'.repeat(32) },
      { external: { ...external, account: toExternalKey({ ...ACCOUNT, subject: '2' }) } },
      // of a version that did not keep the account
      { external: { ...external, account: undefined } },
    ]
    for (const opening of others) assert.deepEqual(rolesIn(open(opening)), ['own'], JSON.stringify(opening))
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
    await directory.createUser({ name: 'ada', roles: ['writer'] }, PROGRAM)
    const { counts } = await directory.countUsersBy('role', '', 10)
    assert.deepEqual(
      counts.map(({ key, count }) => [key, count]),
      [
        ['own', 1],
        ['writer', 1],
      ],
    )
  })

  it('do not hide users who still have them behind many who do not', async (t) => {
    const { directory, search } = await openNode(t, [ISSUER])
    // sorts before the other issuer in the entries of the role; more users than one page examines
    const removed = 'https://removed-3.example.com'
    const account = { provider: 'open', issuer: removed, linkedAt: 1, roles: ['aaa', 'writer'] }
    const drafts = Array.from({ length: 2010 }, (_, index) => `a${index}`).map((name) => ({
      name,
      links: [{ ...account, subject: name }],
    }))
    const outcomes = await directory.importUsers(drafts, PROGRAM, 'keep')
    assert.ok(outcomes.every(({ kind }) => kind === 'created'))
    for (const query of [{ role: 'writer' }, { role: 'writer', hasNoFactor: true }, { text: 'wri' }])
      assert.deepEqual(await search(query), ['wim'], JSON.stringify(query))
    assert.deepEqual(await search({ role: 'aaa' }), [])
    const { counts, next } = await directory.countUsersBy('role', '', 1)
    assert.deepEqual([counts.map(({ key }) => key), next], [['own'], 'own'])
  })

  it('are counted once for each user, page by page', async (t) => {
    const OTHER = 'https://other.example.com'
    const { directory } = await openNode(t, [ISSUER, OTHER])
    const give = async (name: string, issuer: string, roles: readonly string[]) => {
      const account = { provider: 'open', issuer, subject: `${name} ${issuer}` }
      await directory.linkAccount(name, PROGRAM, account)
      await directory.setLinkRoles(name, PROGRAM, account, roles)
    }
    for (const name of ['ada', 'bob', 'cyd'])
      await directory.createUser({ name, roles: name === 'cyd' ? ['writer'] : [] }, PROGRAM)
    await give('ada', ISSUER, ['writer', 'zoo'])
    await give('ada', OTHER, ['writer', 'writer b', 'Ärzte'])
    await give('bob', 'https://removed.example.com', ['writer', 'lost'])
    await give('cyd', ISSUER, ['writer'])
    const found: [string, number][] = []
    let after: string | undefined
    do {
      const { counts, next } = await directory.countUsersBy('role', '', 1, after)
      found.push(...counts.map(({ key, count }): [string, number] => [key, count]))
      after = next
    } while (after !== undefined)
    const all = [
      ['own', 1],
      ['writer', 3],
      ['writer b', 1],
      ['zoo', 1],
      ['ärzte', 1],
    ]
    assert.deepEqual(found, all)
    const { counts } = await directory.countUsersBy('role', 'writer', 10)
    assert.deepEqual(
      counts.map(({ key, count }) => [key, count]),
      all.slice(1, 3),
    )
  })
})
