import assert from 'node:assert/strict'
import type { Store } from '../../src/directory/store-port/store.ts'
import type { StoreScene, StoreTests } from './store.ts'
import { createIn, deleteIn, isRefusal, lastSequence, listChanges } from './store-values.ts'

const FACTOR = { name: 'alice', version: 'first' }

const use = (store: Store, step: number, factor = FACTOR, purgeBefore = 0) =>
  store.useCodeStep({ factor, step, purgeBefore })

const countRows = async ({ place }: StoreScene): Promise<number> =>
  Number((await place.execute('SELECT count(*) AS count FROM cardea_spent_codes'))[0]?.['count'])

export const CODE_TESTS: StoreTests = {
  async 'a time step is used once'({ store }) {
    assert.equal(await use(store, 100), true)
    assert.equal(await use(store, 100), false)
  },

  async 'a used step invalidates no other one, earlier or later'({ store }) {
    assert.equal(await use(store, 100), true)
    for (const step of [99, 101, 1_000_000, 102]) assert.equal(await use(store, step), true)
    for (const step of [99, 100, 101, 102, 1_000_000]) assert.equal(await use(store, step), false)
  },

  async 'each second factor of each user has its own steps'({ store }) {
    await use(store, 100)
    for (const factor of [
      { name: 'bob', version: 'first' },
      { name: 'Alice', version: 'first' },
      { name: 'alice', version: 'second' },
    ])
      assert.equal(await use(store, 100, factor), true)
  },

  async 'one of many uses of a step at two nodes succeeds'({ store, openAnother }) {
    const other = await openAnother()
    const uses = Array.from({ length: 20 }, (_, index) => use(index % 2 ? other : store, 100))
    assert.equal((await Promise.all(uses)).filter(Boolean).length, 1)
  },

  async 'a used step is still used after the store was opened again'({ store, openAnother }) {
    await use(store, 100)
    await store.close()
    assert.equal(await use(await openAnother(), 100), false)
  },

  async 'a step that a node of an earlier version has used is used, and so are the two before it'({ store, place }) {
    await place.execute(`INSERT INTO cardea_used_codes (name, step) VALUES ('alice', 100)`)
    for (const step of [98, 99, 100]) assert.equal(await use(store, step), false)
    for (const step of [97, 101]) assert.equal(await use(store, step), true)
    assert.equal(await use(store, 100, { ...FACTOR, name: 'bob' }), true)
  },

  async 'steps of an earlier second factor are removed with it, those of the current one stay'(scene) {
    const { store } = scene
    const next = { ...FACTOR, version: 'second' }
    await use(store, 100)
    await use(store, 100, next)
    await use(store, 100, { ...FACTOR, name: 'bob' })
    await store.putRecoveryCodes(next, ['a'])
    assert.equal(await countRows(scene), 2)
    assert.equal(await use(store, 100, next), false)
    await store.putRecoveryCodes({ ...FACTOR, version: '' }, [])
    assert.equal(await countRows(scene), 1)
  },

  async 'a deleted user takes its steps along'(scene) {
    const { store, place } = scene
    await createIn(store, 'alice')
    await place.execute(`INSERT INTO cardea_used_codes (name, step) VALUES ('alice', 101)`)
    await use(store, 100, { ...FACTOR, name: 'bob' })
    await use(store, 105)
    await deleteIn(store, 'alice')
    assert.equal(await countRows(scene), 1)
    for (const step of [101, 105]) assert.equal(await use(store, step), true)
  },

  async 'old steps are removed, also those of other users'(scene) {
    const { store } = scene
    await use(store, 100)
    await use(store, 200)
    await use(store, 300, { ...FACTOR, name: 'bob' }, 200)
    assert.equal(await countRows(scene), 2)
    assert.equal(await use(store, 200), false)
  },

  async 'a use does not change the user'({ store }) {
    await use(store, 100)
    assert.equal(await lastSequence(store), 0)
    assert.deepEqual(await listChanges(store, 0, 10), [])
  },

  async 'rejects a name that no database can store'({ store }) {
    await assert.rejects(use(store, 100, { ...FACTOR, name: 'a\0' }), isRefusal('bad_request'))
  },
}
