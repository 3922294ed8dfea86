import assert from 'node:assert/strict'
import type { Store } from '../../src/directory/store-port/store.ts'
import { loseWrites } from '../support/lose-writes.ts'
import type { StoreTests } from './store.ts'
import { create, createIn, deleteIn, isRefusal, lastSequence, listChanges, newUser } from './store-values.ts'

const CALLS: readonly [name: string, call: (store: Store) => Promise<unknown>][] = [
  ['findUser', (store) => store.findUser('alice')],
  ['listUsers', (store) => store.listUsers({ limit: 1 })],
  ['countUsers', (store) => store.countUsers()],
  ['writeUser', (store) => store.writeUser(create('alice'))],
  ['importUsers', (store) => store.importUsers([create('alice')])],
  ['endSession', (store) => store.endSession({ id: 'a', name: 'alice', expiresAt: 1 })],
  ['listEndedSessions', (store) => store.listEndedSessions(0, 1)],
  ['purgeEnded', (store) => store.purgeEnded(1)],
  ['listSettings', (store) => store.listSettings()],
  ['setSetting', (store) => store.setSetting({ section: 's', key: 'k', text: 't', nowSeconds: 1 })],
  ['unsetSetting', (store) => store.unsetSetting({ section: 's', key: 'k', nowSeconds: 1 })],
  ['head', (store) => store.head()],
  ['changesSince', (store) => store.changesSince({ sequence: 0, mark: '' }, 1)],
]

export const FEED_TESTS: StoreTests = {
  async 'an empty store has no changes'({ store }) {
    assert.deepEqual([await lastSequence(store), await listChanges(store, 0, 10)], [0, []])
  },

  async 'every kind of change is listed in order'({ store }) {
    await createIn(store, 'alice')
    await createIn(store, 'bob')
    await store.endSession({ id: 'cafe', name: 'bob', expiresAt: 10 })
    await store.setSetting({ section: 'log', key: 'level', text: 'debug', nowSeconds: 1 })
    await store.setSetting({ section: 'admins', key: 'root', text: 'hash', nowSeconds: 1 })
    await deleteIn(store, 'bob')
    await store.unsetSetting({ section: 'admins', key: 'old', nowSeconds: 1 })
    assert.deepEqual(await listChanges(store, 0, 100), [
      { sequence: 1, kind: 'user', key: 'alice', isDeleted: false },
      { sequence: 3, kind: 'session', key: 'cafe', isDeleted: true },
      { sequence: 4, kind: 'setting', key: 'log/level', isDeleted: false },
      { sequence: 5, kind: 'admin', key: 'root', isDeleted: false },
      { sequence: 6, kind: 'user', key: 'bob', isDeleted: true },
      { sequence: 7, kind: 'admin', key: 'old', isDeleted: true },
    ])
    assert.equal(await lastSequence(store), 7)
  },

  async 'pages over all kinds of changes'({ store }) {
    for (const name of ['a', 'b']) await createIn(store, name)
    for (const id of ['c', 'd']) await store.endSession({ id, name: 'a', expiresAt: 10 })
    for (const key of ['e', 'f']) await store.setSetting({ section: 'admins', key, text: '', nowSeconds: 1 })
    const seen: string[] = []
    for (let after = 0, page = await listChanges(store, 0, 2); page.length > 0; ) {
      seen.push(...page.map(({ key }) => key))
      after = page.at(-1)?.sequence ?? after
      page = await listChanges(store, after, 2)
    }
    assert.deepEqual(seen, ['a', 'b', 'c', 'd', 'e', 'f'])
  },

  async 'every write has another mark, which no later one changes'({ store }) {
    const marks = [await store.head()]
    for (const name of ['a', 'b', 'c']) {
      await createIn(store, name)
      marks.push(await store.head())
    }
    assert.equal(new Set(marks.map(({ mark }) => mark)).size, 4)
    for (const { mark } of marks) assert.match(mark, /^[0-9a-f]{32}$/)
    for (const position of marks) assert.equal((await store.changesSince(position, 10)).isKnown, true)
  },

  async 'a position of another history is not known, whatever sequence that has reached'({ store, place }) {
    await createIn(store, 'before')
    const kept = await store.head()
    await createIn(store, 'lost')
    const lost = await store.head()
    await loseWrites(place.execute, kept.sequence)
    assert.equal((await store.changesSince(lost, 10)).isKnown, false)
    for (const name of ['a', 'b', 'c']) await createIn(store, name)
    const head = await store.head()
    const rows = [
      [lost, undefined, false],
      [kept, lost, false],
      [{ sequence: kept.sequence + 1, mark: kept.mark }, undefined, false],
      [{ sequence: 0, mark: '' }, undefined, false],
      [kept, head, true],
      [{ sequence: 0, mark: kept.mark }, undefined, true],
    ] as const
    for (const [position, alsoRead, isKnown] of rows)
      assert.equal((await store.changesSince(position, 10, alsoRead)).isKnown, isKnown, JSON.stringify(position))
    const { changes } = await store.changesSince(kept, 10)
    assert.deepEqual(
      changes.map(({ key }) => key),
      ['a', 'b', 'c'],
    )
  },

  async 'a change without a mark, written by an earlier version, gets one for all nodes'({
    store,
    place,
    openAnother,
  }) {
    await createIn(store, 'a')
    const before = await store.head()
    await place.execute('DELETE FROM cardea_marks WHERE sequence = 1')
    const other = await openAnother()
    const [head, heard] = await Promise.all([store.head(), other.head()])
    assert.deepEqual(head, heard)
    assert.notEqual(head.mark, before.mark)
  },

  async 'keeps the marks of the last 100 000 changes'({ store, place }) {
    await createIn(store, 'a')
    const old = await store.head()
    await place.execute('UPDATE cardea_state SET sequence = 99899, searched = 99899')
    await createIn(store, 'b')
    assert.equal((await store.changesSince(old, 10)).isKnown, true)
    await place.execute('UPDATE cardea_state SET sequence = 100099, searched = 100099')
    await createIn(store, 'c')
    assert.equal((await store.changesSince(old, 10)).isKnown, false)
  },

  async 'a conflict is not a change'({ store }) {
    await createIn(store, 'alice')
    await store.writeUser(create('alice'))
    await store.writeUser({ expected: 9, record: newUser('bob') })
    assert.equal(await lastSequence(store), 1)
  },

  async 'another node sees a change as soon as the write returned'({ store, openAnother }) {
    const other = await openAnother()
    for (let i = 1; i <= 20; i += 1) {
      await createIn(store, `user-${i}`)
      assert.equal(await lastSequence(other), i)
      assert.equal((await other.findUser(`user-${i}`))?.sequence, i)
    }
  },

  async 'a write wakes every listener'({ store }) {
    const { promise, resolve } = Promise.withResolvers<void>()
    const stop = store.onWake(resolve)
    await createIn(store, 'alice')
    await promise
    stop()
  },

  async 'a closed store rejects every call, and may be closed again'({ store }) {
    await store.close()
    await store.close()
    for (const [name, call] of CALLS) await assert.rejects(call(store), isRefusal('store_unavailable'), name)
  },

  async 'rejects a newer schema with a message'({ store, place, openAnother }) {
    await createIn(store, 'alice')
    await place.execute(`INSERT INTO cardea_migrations (number, name) VALUES (999, 'future')`)
    await assert.rejects(openAnother(), { name: 'IncompatibleStoreError', message: /schema 999.*newer Cardea/ })
    assert.equal(await store.countUsers(), 1)
  },
}
