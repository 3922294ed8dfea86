import assert from 'node:assert/strict'
import type { Store } from '../../src/directory/store-port/store.ts'
import { toTombstone } from '../../src/directory/users/revisions.ts'
import { acceptWish, addWishes, JOB_KIND, listRecords, putRecord } from '../../src/modules/user-databases/wishes.ts'
import type { StoreSettings } from '../../src/store/create-store.ts'
import type { StoreTests } from './store.ts'
import { create, createIn, deleteIn, newUser, sequenceOf, withRoles } from './store-values.ts'

const settings = (more: Partial<StoreSettings['user-databases']> = {}): StoreSettings => ({
  'user-databases': { enabled: true, prefix: 'userdb-', 'on-delete': 'keep', shards: 0, wait: 0, ...more },
  upstream: { document: ['http://127.0.0.1:1'], 'multi-model': [] },
  mail: { url: '' },
})

/** What waits to be done, in order. */
async function takeJobs(store: Store): Promise<readonly string[]> {
  const taken: string[] = []
  for (let nowMs = 1; ; nowMs += 1) {
    const jobs = await store.claimJobs({ kind: JOB_KIND, claim: 'x', nowMs, untilMs: 9_999, limit: 100 })
    if (jobs.length === 0) return taken
    for (const { id, key, payload } of jobs) {
      taken.push(`${key} ${Object.values(JSON.parse(payload)).join(' ')}`)
      await store.finishJob(id, 'x')
    }
  }
}

const ready = (name: string, database: string) =>
  ({ name, door: 'document', database, state: 'ready', reason: '' }) as const

export const USER_DATABASE_TESTS: StoreTests = {
  async 'every new user has the wish for a database, and no other write adds one'({ store, setSettings }) {
    setSettings(settings())
    await createIn(store, 'alice')
    await store.importUsers([{ ...create('bob'), isMoved: true }, create('alice')])
    await store.importUsers([create('carol')], true)
    const stored = await store.findUser('bob')
    assert.ok(stored)
    await store.writeUser({ expected: stored.sequence, record: stored.record })
    assert.deepEqual(await takeJobs(store), ['document/alice create none', 'document/bob create named'])
  },

  async 'both doors have one, and a door without a database server none'({ store, setSettings }) {
    setSettings({ ...settings(), upstream: { document: [], 'multi-model': ['http://127.0.0.1:2'] } })
    await createIn(store, 'alice')
    setSettings({
      ...settings(),
      upstream: { document: ['http://127.0.0.1:1'], 'multi-model': ['http://127.0.0.1:2'] },
    })
    await createIn(store, 'bob')
    setSettings(settings({ enabled: false }))
    await createIn(store, 'carol')
    assert.deepEqual(await takeJobs(store), [
      'multi-model/alice create none',
      'document/bob create none',
      'multi-model/bob create none',
    ])
  },

  async 'a deleted user loses the database that it had, whatever the options are now'({ store, setSettings }) {
    setSettings(settings({ 'on-delete': 'remove' }))
    for (const name of ['alice', 'bob', 'c']) await createIn(store, name)
    await takeJobs(store)
    await putRecord(store.statements, ready('alice', 'userdb-616c696365'))
    await putRecord(store.statements, { ...ready('c', 'userdb-63'), state: 'refused', reason: 'not its own' })
    await deleteIn(store, 'alice')
    await deleteIn(store, 'bob')
    await deleteIn(store, 'c')
    assert.deepEqual(
      await takeJobs(store),
      ['document/alice remove userdb-616c696365', 'document/bob remove userdb-626f62', 'document/c keep userdb-63'],
      'it is not known whose the refused one was',
    )
    assert.deepEqual(await listRecords(store.statements, 'alice'), [])
    await createIn(store, 'd')
    await putRecord(store.statements, ready('d', 'userdb-64'))
    setSettings(settings({ enabled: false }))
    await deleteIn(store, 'd')
    assert.deepEqual((await takeJobs(store)).slice(1), ['document/d keep userdb-64'])
  },

  async 'a deleted user loses the databases of every prefix that it had'({ store, setSettings }) {
    setSettings(settings())
    await createIn(store, 'ada')
    await takeJobs(store)
    await putRecord(store.statements, ready('ada', 'userdb-616461'))
    await putRecord(store.statements, ready('ada', 'app-616461'))
    await putRecord(store.statements, { ...ready('ada', 'app-616461'), state: 'refused', reason: 'not its own' })
    assert.deepEqual(
      (await listRecords(store.statements, 'ada')).map(({ database, state }) => [database, state]),
      [
        ['app-616461', 'refused'],
        ['userdb-616461', 'ready'],
      ],
    )
    setSettings(settings({ prefix: 'new-' }))
    await deleteIn(store, 'ada')
    const kept = ['app-616461', 'userdb-616461', 'new-616461']
    assert.deepEqual(
      (await takeJobs(store)).toSorted(),
      kept.toSorted().map((name) => `document/ada keep ${name}`),
    )
  },

  async 'a vault is closed once, with or without a record, and never removed'({ store, setSettings }) {
    setSettings({ ...settings({ 'on-delete': 'remove' }), upstream: { document: [], 'multi-model': [] } })
    for (const name of ['alice', 'bob']) {
      const before = withRoles(newUser(name), 'livesync')
      const expected = sequenceOf(await store.writeUser({ expected: 'absent', record: before }))
      if (name === 'bob') await putRecord(store.statements, ready(name, name))
      await store.writeUser({ expected, record: toTombstone(before, 1), change: { before, at: 1 } })
    }
    assert.deepEqual(await takeJobs(store), ['document/alice keep alice', 'document/bob keep bob'])
  },

  async 'a user that is deleted and created in one write has both wishes, in order'({ store, setSettings }) {
    setSettings(settings())
    const sequence = await createIn(store, 'alice')
    await takeJobs(store)
    const outcomes = await store.importUsers([
      { expected: sequence, record: toTombstone(newUser('alice'), 1) },
      { expected: sequence + 1, record: newUser('alice') },
    ])
    assert.deepEqual(
      outcomes.map(({ kind }) => kind),
      ['written', 'written'],
    )
    assert.deepEqual(await takeJobs(store), ['document/alice keep userdb-616c696365', 'document/alice create none'])
  },

  async 'an accepted wish takes what the user has written, and no other wish is changed'({ store, setSettings }) {
    setSettings(settings())
    await createIn(store, 'alice')
    const claim = async (nowMs: number) =>
      (await store.claimJobs({ kind: JOB_KIND, claim: 'x', nowMs, untilMs: nowMs + 1, limit: 1 }))[0]
    const job = await claim(1)
    assert.ok(job)
    await acceptWish(store.statements, { ...job, begunMs: 9 })
    await acceptWish(store.statements, { ...job, id: job.id + 1 })
    assert.equal((await claim(3))?.payload, job.payload)
    await acceptWish(store.statements, job)
    assert.deepEqual(JSON.parse((await claim(5))?.payload ?? ''), { action: 'create', claim: 'named' })
  },

  async 'a wish is added once, for users that exist'({ store, openAnother, setSettings }) {
    const other = await openAnother()
    await createIn(store, 'alice')
    setSettings(settings())
    const owners = ['alice', 'nemo'].map((name) => ({ door: 'document', name, claim: 'named' }) as const)
    const added = await Promise.all([addWishes(store.statements, owners), addWishes(other.statements, owners)])
    assert.deepEqual(added.toSorted(), [0, 1])
    assert.deepEqual(await takeJobs(store), ['document/alice create named'])
    await putRecord(store.statements, ready('nemo', 'userdb-6e'))
    assert.deepEqual(await listRecords(store.statements, 'nemo'), [])
  },
}
