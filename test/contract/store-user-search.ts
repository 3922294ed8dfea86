import assert from 'node:assert/strict'
import type { Store } from '../../src/directory/store-port/store.ts'
import { SEARCH_ROWS, type SearchKind } from '../../src/directory/store-port/users.ts'
import { toAddressKey } from '../../src/directory/users/address.ts'
import { toExternalKey, type User } from '../../src/directory/users/user.ts'
import type { StoreScene, StoreTests } from './store.ts'
import { countTurns, create, createIn, deleteIn, newUser, withRoles as revise } from './store-values.ts'

const LAST = '\u{10ffff}'

async function change(store: Store, name: string, changed: (user: User) => User) {
  const stored = await store.findUser(name)
  if (stored?.record.kind !== 'user') return assert.fail(name)
  return store.writeUser({ expected: stored.sequence, record: changed(stored.record) })
}

const withRoles =
  (...roles: readonly string[]) =>
  (user: User): User =>
    revise(user, ...roles)

const LINK = { provider: 'staff', issuer: 'https://id.example.com', subject: '1', linkedAt: 1 }

const withLinks =
  (...links: readonly (typeof LINK)[]) =>
  (user: User): User => ({ ...user, links })

const withAddress =
  (text: string) =>
  (user: User): User => ({ ...user, address: { text, verifiedAt: 1 } })

const find = async (store: Store, kind: SearchKind, from: string, to = `${from}${LAST}`) =>
  (await store.searchUsers({ kind, from, to }, { key: from, name: '' })).map(
    ({ key, record }) => `${key}:${record.name}`,
  )

/** As an older version writes a user: it does not know the entries. */
const forgetEntries = async ({ place, store }: StoreScene): Promise<void> => {
  await store.close()
  await place.execute('UPDATE cardea_state SET searched = 0')
  await place.execute('DELETE FROM cardea_user_entries')
}

export const USER_SEARCH_TESTS: StoreTests = {
  async 'keys are counted page by page, each with its first user'({ store }) {
    for (const name of ['ada', 'ben', 'carl']) await createIn(store, name)
    await change(store, 'ben', withRoles('Reader', 'editor'))
    await change(store, 'carl', withRoles('reader', 'writer'))
    const count = async (from: string, limit: number) =>
      (await store.countUsersByKey({ kind: 'role', from, to: LAST }, limit)).map(
        ({ key, count: users, name }) => `${key} ${users} ${name}`,
      )
    assert.deepEqual(await count('', 10), ['editor 1 ben', 'reader 2 ben', 'writer 1 carl'])
    assert.deepEqual(await count('', 2), ['editor 1 ben', 'reader 2 ben'])
    assert.deepEqual(await count('reader\u0001', 2), ['writer 1 carl'])
    assert.deepEqual(await count('x\0', 2), [])
  },

  async 'the keys of a range are listed page by page, each once'({ store }) {
    for (const name of ['ada', 'ben']) await createIn(store, name)
    await change(store, 'ada', withRoles('editor', 'reader', 'writer'))
    await change(store, 'ben', withRoles('reader', 'readers'))
    const list = (from: string, to: string, limit: number) => store.listKeys({ kind: 'role', from, to }, limit)
    assert.deepEqual(await list('', LAST, 10), ['editor', 'reader', 'readers', 'writer'])
    assert.deepEqual(await list('', LAST, 2), ['editor', 'reader'])
    assert.deepEqual(await list('reader\u0001', 'reader~', 10), ['readers'])
    assert.deepEqual(await list('reader', 'reader', 1), ['reader'])
    assert.deepEqual(await list('read', 'read', 1), [])
    await assert.rejects(list('', LAST, 0), RangeError)
  },

  async 'users are found by the beginning of the name, in any case, ordered by key'({ store }) {
    for (const name of ['Bob', 'alice', 'ALFRED', 'Élodie', 'al']) await createIn(store, name)
    assert.deepEqual(await find(store, 'name', 'al'), ['al:al', 'alfred:ALFRED', 'alice:alice'])
    assert.deepEqual(await find(store, 'name', 'é'), ['élodie:Élodie'])
    assert.deepEqual(await find(store, 'name', 'c'), [])
  },

  async 'users are found by a part of the name, also after a change, and not after their deletion'({ store }) {
    for (const name of ['Ada.Lovelace', 'al']) await createIn(store, name)
    assert.deepEqual(await find(store, 'part', 'lovel'), ['lovelace:Ada.Lovelace'])
    await change(store, 'Ada.Lovelace', withRoles('writer'))
    assert.deepEqual(await find(store, 'part', 'lovel'), ['lovelace:Ada.Lovelace'])
    await deleteIn(store, 'Ada.Lovelace')
    assert.deepEqual(await find(store, 'part', ''), [])
  },

  async 'users are found by their last sign-in, those without one first'({ store }) {
    for (const name of ['carol', 'bob', 'alice', 'dora']) await createIn(store, name)
    const signIns = { bob: 50, carol: 200, dora: 60, admin: 10 }
    await store.putSignIns(Object.entries(signIns).map(([name, at]) => ({ name, at, peer: '' })))
    await change(store, 'bob', withRoles('writer'))
    await deleteIn(store, 'dora')
    assert.deepEqual(await find(store, 'sign-in', '0', '199'), ['0:alice', '50:bob'])
    assert.deepEqual(await store.listSignIns(['alice']), [])
  },

  async 'users are found behind a page of sign-ins of administrators'({ store }) {
    await createIn(store, 'alice')
    const names = Array.from({ length: SEARCH_ROWS }, (_, index) => `admin-${index}`)
    await store.putSignIns([...names, 'alice'].map((name, index) => ({ name, at: 1 + index, peer: '' })))
    assert.deepEqual(await find(store, 'sign-in', '0', '999'), [`${1 + SEARCH_ROWS}:alice`])
  },

  async 'users are found by role, status and expiry, and no longer after a change'({ store }) {
    await createIn(store, 'alice')
    await createIn(store, 'bob')
    await change(store, 'alice', withRoles('Reader', 'reader', 'writer'))
    assert.deepEqual(await find(store, 'role', 're'), ['reader:alice'])
    await change(store, 'alice', withRoles('writer'))
    assert.deepEqual(await find(store, 'role', ''), ['writer:alice'])
    await change(store, 'bob', (user) => ({ ...user, isActive: false, expiresAt: 1000 }))
    assert.deepEqual(await find(store, 'disabled', ''), ['bob:bob'])
    assert.deepEqual(await find(store, 'expires', '', '000000001000'), ['000000001000:bob'])
    assert.deepEqual(await find(store, 'expires', '', '000000000999'), [])
    await change(store, 'bob', (user) => ({ ...user, isActive: true }))
    assert.deepEqual(await find(store, 'disabled', ''), [])
  },

  async 'a deleted user is not found'({ store }) {
    await createIn(store, 'alice')
    await change(store, 'alice', withRoles('reader'))
    await deleteIn(store, 'alice')
    assert.deepEqual([await find(store, 'name', ''), await find(store, 'role', '')], [[], []])
  },

  async 'an external account has one owner, and is remembered after it was unlinked or its user deleted'({ store }) {
    for (const name of ['alice', 'bob']) await createIn(store, name)
    const key = toExternalKey(LINK)
    await change(store, 'alice', withLinks(LINK))
    assert.deepEqual(await change(store, 'bob', withLinks(LINK)), { kind: 'taken' })
    assert.deepEqual(await find(store, 'external', ''), [`${key}:alice`])
    // every other change of the owner stays possible
    assert.equal((await change(store, 'alice', withRoles('writer')))?.kind, 'written')
    await deleteIn(store, 'alice')
    assert.deepEqual(await find(store, 'external', ''), [])
    assert.equal((await change(store, 'bob', withLinks(LINK)))?.kind, 'written')
    await change(store, 'bob', withLinks())
    assert.deepEqual(await find(store, 'external', ''), [])
    assert.deepEqual(await find(store, 'external-once', ''), [`${key}:alice`, `${key}:bob`])
  },

  async 'an external account goes from one user to another in one import, but not to two'({ store }) {
    const records = ['alice', 'bob', 'carl'].map((name) => withLinks(LINK)(newUser(name)))
    const writes = records.map((record) => ({ expected: 'absent', record }) as const)
    const kinds = async (isTrial: boolean) => (await store.importUsers(writes, isTrial)).map(({ kind }) => kind)
    assert.deepEqual(await kinds(true), ['written', 'taken', 'taken'])
    assert.equal(await store.findUser('alice'), undefined)
    assert.deepEqual(await kinds(false), ['written', 'taken', 'taken'])
    const alice = await store.findUser('alice')
    const moved = await store.importUsers([
      { expected: alice?.sequence ?? 0, record: newUser('alice') },
      { expected: 'absent', record: withLinks(LINK)(newUser('bob')) },
    ])
    assert.deepEqual(
      moved.map(({ kind }) => kind),
      ['written', 'written'],
    )
  },

  async 'an address has one owner, whatever its case, and is free again without it'({ store }) {
    for (const name of ['alice', 'bob']) await createIn(store, name)
    const key = toAddressKey('Ann@example.com')
    await change(store, 'alice', withAddress('Ann@example.com'))
    assert.deepEqual(await change(store, 'bob', withAddress('ann@example.com')), { kind: 'taken' })
    assert.deepEqual(await find(store, 'address', ''), [`${key}:alice`])
    assert.equal((await change(store, 'alice', withRoles('writer')))?.kind, 'written')
    assert.equal((await change(store, 'bob', withAddress('ann+shop@example.com')))?.kind, 'written')
    await deleteIn(store, 'alice')
    assert.equal((await change(store, 'bob', withAddress('ann@example.com')))?.kind, 'written')
    assert.deepEqual(await find(store, 'address', ''), [`${key}:bob`])
    assert.deepEqual(await find(store, 'external-once', ''), [])
  },

  async 'pages continue behind the last entry'({ store }) {
    const given = Array.from({ length: 450 }, (_, index) => `user-${String(index).padStart(3, '0')}`)
    await store.importUsers(given.map(create))
    const range = { kind: 'name', from: 'user', to: `user${LAST}` } as const
    const names: string[] = []
    let after = { key: 'user', name: '' }
    for (;;) {
      const page = await store.searchUsers(range, after)
      names.push(...page.map(({ record }) => record.name))
      const last = page.at(-1)
      if (!last || page.length < 200) break
      after = { key: last.key, name: last.record.name }
    }
    assert.deepEqual(names, given)
  },

  async 'users of an older version are found'(scene) {
    await createIn(scene.store, 'alice')
    await createIn(scene.store, 'bob')
    await change(scene.store, 'alice', withRoles('reader'))
    await deleteIn(scene.store, 'bob')
    await forgetEntries(scene)
    const store = await scene.openAnother()
    assert.deepEqual(await store.listKeys({ kind: 'role', from: 'reader', to: 'reader' }, 1), ['reader'])
    assert.deepEqual(await find(store, 'role', 'r'), ['reader:alice'])
    assert.deepEqual(await find(store, 'name', ''), ['alice:alice'])
    await createIn(store, 'carl')
    assert.deepEqual(await find(store, 'name', 'c'), ['carl:carl'])
  },

  async 'requests have their turn while many users of an older version are added'(scene) {
    const names = Array.from({ length: 1100 }, (_, index) => `user-${index}`)
    await scene.store.importUsers(names.map(create))
    await forgetEntries(scene)
    const store = await scene.openAnother()
    assert.ok((await countTurns(() => find(store, 'name', 'user-1099'))) > 0)
    assert.deepEqual(await find(store, 'name', 'user-1099'), ['user-1099:user-1099'])
  },

  async 'a key that no database can store finds nothing'({ store }) {
    await createIn(store, 'alice')
    assert.deepEqual(await find(store, 'name', 'a\0\ud800'), [])
  },
}
