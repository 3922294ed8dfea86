import assert from 'node:assert/strict'
import type { StoreTests } from './store.ts'
import { createIn, deleteIn, isRefusal } from './store-values.ts'

const signIn = (name: string, at: number, peer = '192.0.2.1') => ({ name, at, peer })

export const SIGN_IN_TESTS: StoreTests = {
  async 'a name without a sign-in is unknown'({ store }) {
    assert.equal(await store.findSignIn('alice'), undefined)
    assert.equal(await store.findSignIn('a\0b'), undefined)
  },

  async 'the last sign-in of each name is found by every node'({ store, openAnother }) {
    const other = await openAnother()
    await store.putSignIns([signIn('alice', 100), signIn('bob', 50, '')])
    await other.putSignIns([signIn('alice', 200, '2001:db8::1')])
    assert.deepEqual(await store.findSignIn('alice'), signIn('alice', 200, '2001:db8::1'))
    assert.deepEqual(await other.findSignIn('bob'), signIn('bob', 50, ''))
  },

  async 'an earlier sign-in does not replace a later one'({ store }) {
    await store.putSignIns([signIn('alice', 200)])
    await store.putSignIns([signIn('alice', 100, '192.0.2.9')])
    assert.deepEqual(await store.findSignIn('alice'), signIn('alice', 200))
  },

  async 'a deleted user takes its sign-in along'({ store }) {
    await createIn(store, 'alice')
    await store.putSignIns([signIn('alice', 100), signIn('bob', 100)])
    await deleteIn(store, 'alice')
    assert.equal(await store.findSignIn('alice'), undefined)
    assert.deepEqual(await store.findSignIn('bob'), signIn('bob', 100))
  },

  async 'a sign-in is no change of the directory'({ store }) {
    await store.putSignIns([signIn('alice', 100)])
    assert.equal(await store.sequence(), 0)
  },

  async 'a name that cannot be stored is refused'({ store }) {
    await assert.rejects(store.putSignIns([signIn('a\0b', 1)]), isRefusal('bad_request'))
  },
}
