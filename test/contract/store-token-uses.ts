import assert from 'node:assert/strict'
import type { TokenUse } from '../../src/directory/store-port/sign-ins.ts'
import type { StoreTests } from './store.ts'
import { isRefusal, lastSequence } from './store-values.ts'

const ONE: TokenUse = { name: 'alice', mark: 'a1', usedAt: 1_800_000_000 }
const TWO: TokenUse = { name: 'alice', mark: 'a2', usedAt: 1_800_000_060 }
const OTHER: TokenUse = { name: 'bob', mark: 'b1', usedAt: 1_800_000_000 }

export const TOKEN_USE_TESTS: StoreTests = {
  async 'lists the uses of one name'({ store }) {
    await store.putTokenUses([TWO, OTHER, ONE])
    assert.deepEqual(await store.listTokenUses('alice'), [ONE, TWO])
    assert.deepEqual(await store.listTokenUses('a\0'), [])
  },

  async 'keeps the later use'({ store, openAnother }) {
    const other = await openAnother()
    await store.putTokenUses([ONE])
    await other.putTokenUses([{ ...ONE, usedAt: ONE.usedAt + 60 }])
    await store.putTokenUses([{ ...ONE, usedAt: ONE.usedAt + 30 }])
    assert.deepEqual(await store.listTokenUses('alice'), [{ ...ONE, usedAt: ONE.usedAt + 60 }])
  },

  async 'removes old uses'({ store }) {
    await store.putTokenUses([ONE, TWO])
    assert.equal(await store.purgeTokenUses(ONE.usedAt), 1)
    assert.deepEqual(await store.listTokenUses('alice'), [TWO])
  },

  async 'is no change of the directory'({ store }) {
    await store.putTokenUses([])
    await store.putTokenUses([ONE])
    assert.equal(await lastSequence(store), 0)
  },

  async 'refuses values that no database can hold'({ store }) {
    await assert.rejects(store.putTokenUses([{ ...ONE, mark: 'a\0' }]), isRefusal('bad_request'))
  },
}
