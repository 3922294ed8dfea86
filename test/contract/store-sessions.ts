import assert from 'node:assert/strict'
import type { StoreTests } from './store.ts'
import { isRefusal, lastSequence, listChanges } from './store-values.ts'

const ONE = { id: '11'.repeat(16), name: 'alice', expiresAt: 100 }
const TWO = { id: '22'.repeat(16), name: 'alice', expiresAt: 200 }

/** 2500 expired sessions at once; a way both engines speak. */
const MANY_EXPIRED = `WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 2500)
  INSERT INTO cardea_ended_sessions (id, name, expires_at, sequence) SELECT 's' || i, 'bob', 50, 1000000 + i FROM n`

export const SESSION_TESTS: StoreTests = {
  async 'lists an ended session'({ store }) {
    assert.deepEqual(await store.endSession(ONE), { sequence: 1, count: 1 })
    assert.deepEqual(await store.endSession(TWO), { sequence: 2, count: 2 })
    assert.deepEqual(await store.listEndedSessions(0, 10), [
      { ...ONE, sequence: 1 },
      { ...TWO, sequence: 2 },
    ])
  },

  async 'pages from any change on'({ store }) {
    for (const session of [ONE, TWO]) await store.endSession(session)
    assert.deepEqual(await store.listEndedSessions(0, 1), [{ ...ONE, sequence: 1 }])
    assert.deepEqual(await store.listEndedSessions(1, 1), [{ ...TWO, sequence: 2 }])
    assert.deepEqual(await store.listEndedSessions(2, 1), [])
  },

  async 'a session ended twice keeps the later expiry'({ store }) {
    await store.endSession(ONE)
    await store.endSession({ ...ONE, expiresAt: 150 })
    const { sequence } = await store.endSession({ ...ONE, expiresAt: 20 })
    assert.deepEqual(await store.listEndedSessions(0, 10), [{ ...ONE, expiresAt: 150, sequence }])
  },

  async 'removes only expired entries'({ store }) {
    for (const session of [ONE, TWO]) await store.endSession(session)
    assert.equal(await store.purgeEnded(99), 0)
    assert.equal(await store.purgeEnded(100), 1)
    assert.deepEqual(await store.listEndedSessions(0, 10), [{ ...TWO, sequence: 2 }])
    assert.deepEqual(await listChanges(store, 0, 10), [{ sequence: 2, kind: 'session', key: TWO.id, isDeleted: true }])
  },

  async 'counts the sessions of each name'({ store }) {
    await store.endSession(ONE)
    assert.equal((await store.endSession({ ...TWO, name: 'bob' })).count, 1)
    assert.equal((await store.endSession(ONE)).count, 1, 'the same one again')
    assert.deepEqual(await store.listEndedIds('alice'), [ONE.id])
  },

  async 'removes the sessions of a name up to a change'({ store }) {
    const { sequence } = await store.endSession(ONE)
    await store.endSession({ ...ONE, id: '33'.repeat(16), name: 'bob' })
    await store.endSession(TWO)
    await store.forgetEndedSessions('alice', sequence)
    assert.deepEqual(await store.listEndedIds('alice'), [TWO.id])
    assert.equal((await store.listEndedIds('bob')).length, 1)
  },

  async 'removes any number at once'({ store, place }) {
    await store.endSession(ONE)
    await place.execute(MANY_EXPIRED)
    assert.equal(await store.purgeEnded(60), 2500)
    assert.deepEqual(await store.listEndedSessions(0, 10), [{ ...ONE, sequence: 1 }])
  },

  async 'rejects an id that no database can store'({ store }) {
    await assert.rejects(store.endSession({ ...ONE, id: 'a\0' }), isRefusal('bad_request'))
    await assert.rejects(store.endSession({ ...ONE, name: 'a\ud800' }), isRefusal('bad_request'))
    assert.equal(await lastSequence(store), 0)
  },
}
