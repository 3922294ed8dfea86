import assert from 'node:assert/strict'
import type { SignInStore } from '../../src/directory/store-port/sign-ins.ts'
import type { StoreTests } from './store.ts'
import { createIn, deleteIn, isRefusal, lastSequence } from './store-values.ts'

const signIn = (name: string, at: number, peer = '192.0.2.1') => ({ name, at, peer })

const find = async (store: Pick<SignInStore, 'listSignIns'>, name: string) => (await store.listSignIns([name]))[0]

export const SIGN_IN_TESTS: StoreTests = {
  async 'a name without a sign-in is unknown'({ store }) {
    assert.equal(await find(store, 'alice'), undefined)
    assert.equal(await find(store, 'a\0b'), undefined)
  },

  async 'the last sign-in of each name is found by every node'({ store, openAnother }) {
    const other = await openAnother()
    await store.putSignIns([signIn('alice', 100), signIn('bob', 50, '')])
    await other.putSignIns([signIn('alice', 200, '2001:db8::1')])
    assert.deepEqual(await find(store, 'alice'), signIn('alice', 200, '2001:db8::1'))
    assert.deepEqual(await find(other, 'bob'), signIn('bob', 50, ''))
  },

  async 'the sign-ins of several names are read at once'({ store }) {
    await store.putSignIns([signIn('alice', 100), signIn('bob "the builder"', 50), signIn('carol', 1)])
    const found = await store.listSignIns(['bob "the builder"', 'alice', 'dave', 'a\0b'])
    assert.deepEqual(
      found.toSorted((a, b) => a.at - b.at),
      [signIn('bob "the builder"', 50), signIn('alice', 100)],
    )
    assert.deepEqual(await store.listSignIns([]), [])
  },

  async 'an earlier sign-in does not replace a later one'({ store }) {
    await store.putSignIns([signIn('alice', 200)])
    await store.putSignIns([signIn('alice', 100, '192.0.2.9')])
    assert.deepEqual(await find(store, 'alice'), signIn('alice', 200))
  },

  async 'a deleted user takes its sign-in along'({ store }) {
    await createIn(store, 'alice')
    await store.putSignIns([signIn('alice', 100), signIn('bob', 100)])
    await deleteIn(store, 'alice')
    assert.equal(await find(store, 'alice'), undefined)
    assert.deepEqual(await find(store, 'bob'), signIn('bob', 100))
  },

  async 'a sign-in is no change of the directory'({ store }) {
    await store.putSignIns([signIn('alice', 100)])
    assert.equal(await lastSequence(store), 0)
  },

  async 'a name that cannot be stored is refused'({ store }) {
    await assert.rejects(store.putSignIns([signIn('a\0b', 1)]), isRefusal('bad_request'))
  },
}
