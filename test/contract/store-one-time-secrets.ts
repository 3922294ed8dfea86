import assert from 'node:assert/strict'
import type { StoreTests } from './store.ts'
import { createIn, deleteIn, isRefusal, lastSequence } from './store-values.ts'

const FACTOR = { name: 'alice', version: 'first' }

export const RECOVERY_CODE_TESTS: StoreTests = {
  async 'a code is used once'({ store }) {
    await store.putRecoveryCodes(FACTOR, ['a', 'b'])
    assert.equal(await store.useRecoveryCode(FACTOR, 'a'), true)
    assert.equal(await store.useRecoveryCode(FACTOR, 'a'), false)
    assert.equal(await store.countRecoveryCodes(FACTOR), 1)
  },

  async 'one of many uses of a code at two nodes succeeds'({ store, openAnother }) {
    const other = await openAnother()
    await store.putRecoveryCodes(FACTOR, ['a'])
    const uses = Array.from({ length: 20 }, (_, index) => (index % 2 ? other : store).useRecoveryCode(FACTOR, 'a'))
    assert.equal((await Promise.all(uses)).filter(Boolean).length, 1)
  },

  async 'new codes replace the earlier ones'({ store }) {
    await store.putRecoveryCodes(FACTOR, ['a', 'b'])
    await store.putRecoveryCodes(FACTOR, ['c'])
    assert.equal(await store.useRecoveryCode(FACTOR, 'a'), false)
    assert.equal(await store.countRecoveryCodes(FACTOR), 1)
    await store.putRecoveryCodes(FACTOR, [])
    assert.equal(await store.countRecoveryCodes(FACTOR), 0)
  },

  async 'codes belong to one user and one second factor'({ store }) {
    await store.putRecoveryCodes(FACTOR, ['a'])
    for (const factor of [
      { name: 'bob', version: 'first' },
      { name: 'alice', version: 'second' },
      { name: 'a\0', version: 'first' },
    ]) {
      assert.equal(await store.useRecoveryCode(factor, 'a'), false)
      assert.equal(await store.countRecoveryCodes(factor), 0)
    }
    assert.equal(await store.useRecoveryCode(FACTOR, 'a'), true)
  },

  async 'a deleted user takes its codes along'({ store }) {
    await createIn(store, 'alice')
    await store.putRecoveryCodes(FACTOR, ['a'])
    await store.putRecoveryCodes({ ...FACTOR, name: 'bob' }, ['a'])
    await deleteIn(store, 'alice')
    assert.equal(await store.countRecoveryCodes(FACTOR), 0)
    assert.equal(await store.countRecoveryCodes({ ...FACTOR, name: 'bob' }), 1)
  },

  async 'codes are no change of the directory'({ store }) {
    await store.putRecoveryCodes(FACTOR, ['a'])
    await store.useRecoveryCode(FACTOR, 'a')
    assert.equal(await lastSequence(store), 0)
  },

  async 'a name that cannot be stored is refused'({ store }) {
    await assert.rejects(store.putRecoveryCodes({ name: 'a\0', version: '' }, ['a']), isRefusal('bad_request'))
  },
}
