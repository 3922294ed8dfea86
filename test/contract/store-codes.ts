import assert from 'node:assert/strict'
import type { StoreTests } from './store.ts'
import { isRefusal } from './store-values.ts'

export const CODE_TESTS: StoreTests = {
  async 'a time step is used once'({ store }) {
    assert.equal(await store.useCodeStep('alice', 100), true)
    assert.equal(await store.useCodeStep('alice', 100), false)
  },

  async 'a used step invalidates every earlier one, and no later one'({ store }) {
    await store.useCodeStep('alice', 100)
    assert.equal(await store.useCodeStep('alice', 99), false)
    assert.equal(await store.useCodeStep('alice', 101), true)
    assert.equal(await store.useCodeStep('alice', 100), false)
  },

  async 'each user has its own steps'({ store }) {
    await store.useCodeStep('alice', 100)
    assert.equal(await store.useCodeStep('bob', 100), true)
    assert.equal(await store.useCodeStep('Alice', 100), true)
  },

  async 'one of many uses of a step at two nodes succeeds'({ store, openAnother }) {
    const other = await openAnother()
    const uses = Array.from({ length: 20 }, (_, index) => (index % 2 ? other : store).useCodeStep('alice', 100))
    assert.equal((await Promise.all(uses)).filter(Boolean).length, 1)
  },

  async 'a used step is still used after the store was opened again'({ store, openAnother }) {
    await store.useCodeStep('alice', 100)
    await store.close()
    assert.equal(await (await openAnother()).useCodeStep('alice', 100), false)
  },

  async 'a use does not change the user'({ store }) {
    await store.useCodeStep('alice', 100)
    assert.equal(await store.sequence(), 0)
    assert.deepEqual(await store.changesSince(0, 10), [])
  },

  async 'rejects a name that no database can store'({ store }) {
    await assert.rejects(store.useCodeStep('a\0', 100), isRefusal('bad_request'))
  },
}
