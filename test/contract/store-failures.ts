import assert from 'node:assert/strict'
import type { FailureBatch } from '../../src/directory/store-port/sign-ins.ts'
import type { StoreTests } from './store.ts'
import { lastSequence, listChanges } from './store-values.ts'

const ONE: FailureBatch = {
  node: 'one',
  atMs: 1_800_000_000_123,
  expiresAt: 100,
  failures: [
    { counter: 'account', key: 'a'.repeat(64), count: 3 },
    { counter: 'peer', key: '2001:db8:0:1::/64', count: 1 },
  ],
}
const TWO: FailureBatch = { node: 'two', atMs: 1_800_000_000_456, expiresAt: 200, failures: [] }

/** 2500 expired batches in one statement that both engines accept. */
const MANY_EXPIRED = `WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 2500)
  INSERT INTO cardea_failures (sequence, node, at_ms, expires_at, failures) SELECT 1000 + i, 'x', 0, 50, '[]' FROM n`

export const FAILURE_TESTS: StoreTests = {
  async 'lists batches of all nodes in their order, page by page'({ store, openAnother }) {
    const other = await openAnother()
    assert.deepEqual(await store.listFailures(0, 10), [])
    await store.addFailures(ONE)
    await other.addFailures(TWO)
    const [first, second] = [
      { ...ONE, sequence: 1 },
      { ...TWO, sequence: 2 },
    ]
    assert.deepEqual(await other.listFailures(0, 10), [first, second])
    assert.deepEqual(await store.listFailures(0, 1), [first])
    assert.deepEqual(await store.listFailures(1, 1), [second])
    assert.deepEqual(await store.listFailures(2, 1), [])
  },

  async 'gives batches written concurrently one number each'({ store, openAnother }) {
    const stores = [store, await openAnother()]
    await Promise.all(Array.from({ length: 20 }, (_, at) => stores[at % 2]?.addFailures(ONE)))
    const batches = await store.listFailures(0, 100)
    assert.deepEqual(
      batches.map(({ sequence }) => sequence),
      Array.from({ length: 20 }, (_, at) => at + 1),
    )
  },

  async 'does not change the directory'({ store }) {
    await store.addFailures(ONE)
    assert.equal(await lastSequence(store), 0)
    assert.deepEqual(await listChanges(store, 0, 10), [])
  },

  async 'removes any number of expired entries at once'({ store, place }) {
    for (const batch of [ONE, TWO]) await store.addFailures(batch)
    await place.execute(MANY_EXPIRED)
    assert.equal(await store.purgeFailures(99), 2500)
    assert.equal(await store.purgeFailures(100), 1)
    assert.deepEqual(await store.listFailures(0, 10), [{ ...TWO, sequence: 2 }])
  },

  async 'rejects a page of no or too many batches'({ store }) {
    for (const limit of [0, 10_001]) await assert.rejects(store.listFailures(0, limit), RangeError)
  },
}
