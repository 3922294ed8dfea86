import assert from 'node:assert/strict'
import type { NodeRecord } from '../../src/directory/store-port/nodes.ts'
import type { Totals } from '../../src/observe/record-totals.ts'
import type { StoreTests } from './store.ts'
import { lastSequence, listChanges } from './store-values.ts'

const totals = (step: Totals['step'], at: number, instance: string, signIns: number): Totals => ({
  step,
  at,
  instance,
  counts: { 'signIns/document/cookie': signIns },
})

/** 2500 old totals in one statement that both engines accept. */
const MANY_OLD = `WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 2500)
  INSERT INTO cardea_totals (step, at, instance, counts) SELECT 60, i, 'old', '{}' FROM n`

export const TOTALS_TESTS: StoreTests = {
  async 'lists the totals of all processes from a time on, the oldest first'({ store, openAnother }) {
    const other = await openAnother()
    const [a, b, c] = [totals(60, 120, 'b', 1), totals(60, 120, 'a', 2), totals(60, 180, 'a', 3)]
    await store.putTotals([c, a])
    await other.putTotals([b, totals(60, 60, 'a', 4), totals(3600, 120, 'a', 5)])
    assert.deepEqual(
      (await store.listTotals(60, 120)).toSorted((x, y) => x.at - y.at || x.instance.localeCompare(y.instance)),
      [b, a, c],
    )
    assert.deepEqual(
      (await store.listTotals(60, 0)).map(({ at }) => at),
      [60, 120, 120, 180],
    )
    assert.deepEqual(await store.listTotals(60, 181), [])
  },

  async 'replaces the totals of the same process and step'({ store }) {
    await store.putTotals([totals(60, 60, 'a', 1)])
    await store.putTotals([totals(60, 60, 'a', 2)])
    assert.deepEqual(await store.listTotals(60, 0), [totals(60, 60, 'a', 2)])
  },

  async 'removes any number of old totals at once'({ store, place }) {
    await store.putTotals([totals(60, 2501, 'a', 1), totals(3600, 1, 'a', 2)])
    await place.execute(MANY_OLD)
    assert.equal(await store.purgeTotals(60, 2501), 2500)
    assert.deepEqual(await store.listTotals(60, 0), [totals(60, 2501, 'a', 1)])
    assert.equal((await store.listTotals(3600, 0)).length, 1)
  },

  async 'does not change the directory'({ store }) {
    await store.putTotals([totals(60, 60, 'a', 1)])
    await store.putNode(node('a', 'one', 100))
    assert.equal(await lastSequence(store), 0)
    assert.deepEqual(await listChanges(store, 0, 10), [])
  },
}

const node = (instance: string, name: string, seenAt: number): NodeRecord => ({
  instance,
  name,
  seenAt,
  state: { version: '1.0.0', startedAt: 1, lagMs: 2, keysHash: 'ab', problems: ['store: none'] },
})

const DAY = 86_400

export const NODE_TESTS: StoreTests = {
  async 'lists nodes by name and updates them'({ store, openAnother }) {
    const other = await openAnother()
    await store.putNode(node('2', 'two', 100))
    await other.putNode(node('1', 'one', 100))
    await store.putNode(node('2', 'two', 110))
    assert.deepEqual(await other.listNodes(), [node('1', 'one', 100), node('2', 'two', 110)])
    await other.removeNode('1')
    assert.deepEqual(await store.listNodes(), [node('2', 'two', 110)])
  },

  async 'gives a name to one node that was seen lately'({ store, openAnother }) {
    const other = await openAnother()
    const claims = [store.claimNode(node('1', 'one', 100)), other.claimNode(node('2', 'one', 100))]
    const holders = await Promise.all(claims)
    assert.equal(holders.filter((holder) => holder === undefined).length, 1)
    const [held = node('', '', 0)] = await store.listNodes()
    assert.equal((await store.listNodes()).length, 1)
    assert.deepEqual(await other.claimNode(node('3', 'one', 160)), held)
    assert.equal(await store.claimNode({ ...held, seenAt: 100 }), undefined, 'its own')
    assert.equal(await store.claimNode(node('4', 'two', 100)), undefined)
    assert.equal(await other.claimNode(node('3', 'one', 161)), undefined, 'not seen for a minute')
  },

  async 'drops earlier starts of a node, and nodes not seen for a day'({ store }) {
    await store.putNode(node('1', 'one', 100))
    await store.putNode(node('2', 'two', 100))
    await store.putNode(node('3', 'two', 160))
    assert.deepEqual(
      (await store.listNodes()).map(({ instance }) => instance),
      ['1', '2', '3'],
    )
    await store.putNode(node('3', 'two', 161))
    assert.deepEqual(
      (await store.listNodes()).map(({ instance }) => instance),
      ['1', '3'],
    )
    await store.putNode(node('3', 'two', 101 + DAY))
    assert.deepEqual(
      (await store.listNodes()).map(({ instance }) => instance),
      ['3'],
    )
  },
}
