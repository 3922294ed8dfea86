import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { PROGRAM } from '../../src/directory/caller.ts'
import type { Store } from '../../src/directory/store-port/store.ts'
import { lastSequence } from '../contract/store-values.ts'
import { createSqlitePlace } from '../store/places.ts'
import { openTestNode, type TestNode } from '../support/directory.ts'
import { History, type HistoryChange } from '../support/history.ts'
import { loseWrites } from '../support/lose-writes.ts'

const CREATED: HistoryChange = { subject: 'ada', isValid: true, sentMs: 0, acknowledgedMs: 10, node: 'a' }
const REVOKED: HistoryChange = { subject: 'ada', isValid: false, sentMs: 5000, acknowledgedMs: 5010, node: 'a' }

interface Row {
  readonly name: string
  readonly changes: readonly HistoryChange[]
  readonly node: string
  readonly atMs: number
  readonly isAccepted: boolean
  readonly isExplained: boolean
}

const ROWS: readonly Row[] = [
  { name: 'an unknown credential is rejected', changes: [], node: 'a', atMs: 0, isAccepted: false, isExplained: true },
  { name: 'an unknown credential is accepted', changes: [], node: 'a', atMs: 0, isAccepted: true, isExplained: false },
  { name: 'a valid one is accepted', changes: [CREATED], node: 'b', atMs: 20, isAccepted: true, isExplained: true },
  {
    name: 'it is not known at another node yet',
    changes: [CREATED],
    node: 'b',
    atMs: 1009,
    isAccepted: false,
    isExplained: true,
  },
  {
    name: 'it is still not known a second later',
    changes: [CREATED],
    node: 'b',
    atMs: 1010,
    isAccepted: false,
    isExplained: false,
  },
  {
    name: 'the node that acknowledged it does not know it',
    changes: [CREATED],
    node: 'a',
    atMs: 11,
    isAccepted: false,
    isExplained: false,
  },
  {
    name: 'a revoked one is accepted within a second',
    changes: [CREATED, REVOKED],
    node: 'b',
    atMs: 6009,
    isAccepted: true,
    isExplained: true,
  },
  {
    name: 'a revoked one is accepted later',
    changes: [CREATED, REVOKED],
    node: 'b',
    atMs: 6010,
    isAccepted: true,
    isExplained: false,
  },
  {
    name: 'a revoked one is accepted by the node that revoked it',
    changes: [CREATED, REVOKED],
    node: 'a',
    atMs: 5010,
    isAccepted: true,
    isExplained: false,
  },
  {
    name: 'it is rejected before it is revoked',
    changes: [CREATED, REVOKED],
    node: 'b',
    atMs: 4000,
    isAccepted: false,
    isExplained: false,
  },
  {
    name: 'it is rejected while it is revoked',
    changes: [CREATED, REVOKED],
    node: 'b',
    atMs: 5000,
    isAccepted: false,
    isExplained: true,
  },
  ...[true, false].map((isAccepted) => ({
    name: `a change without a response may have happened: ${isAccepted ? 'not' : 'it has'}`,
    changes: [CREATED, { ...REVOKED, acknowledgedMs: undefined }],
    node: 'b',
    atMs: 60_000,
    isAccepted,
    isExplained: true,
  })),
]

describe('the check of a history', () => {
  for (const { name, changes, node, atMs, isAccepted, isExplained } of ROWS)
    it(`${isExplained ? 'explains' : 'finds'}: ${name}`, () => {
      const history = new History()
      for (const change of changes) history.change(change)
      history.decide({ subject: 'ada', node, isAccepted, startMs: atMs, endMs: atMs + 1 })
      assert.equal(history.check().length, isExplained ? 0 : 1)
    })

  it('names what was missed', () => {
    const history = new History()
    for (const change of [CREATED, REVOKED]) history.change(change)
    history.decide({ subject: 'ada', node: 'b', isAccepted: true, startMs: 9000, endMs: 9001 })
    assert.equal(history.check()[0]?.missed, REVOKED)
  })
})

/** A follower of this store takes any position for one of its history. */
const ignoreMarks = (store: Store): Store => ({
  ...store,
  changesSince: async (...given) => ({ ...(await store.changesSince(...given)), isKnown: true }),
})

async function writeUntil({ directory, store }: TestNode, sequence: number): Promise<void> {
  while ((await lastSequence(store)) < sequence)
    await directory.createUser({ name: `user ${await lastSequence(store)}` }, PROGRAM)
}

describe('the history of a failover that lost writes', () => {
  for (const hasMarks of [true, false])
    it(
      hasMarks ? 'explains every decision' : 'has one that is not explained, if the mark is switched off',
      async (t) => {
        const place = await createSqlitePlace()
        t.after(place.remove)
        const change = hasMarks ? undefined : ignoreMarks
        const options = { url: place.url, ...(change && { change }) }
        const [away, other] = [await openTestNode(t, options), await openTestNode(t, options)]
        const history = new History()
        const decide = async (startMs: number) => {
          const isAccepted = (await away.directory.findAccount('ada')) !== undefined
          history.decide({ subject: 'ada', node: 'away', isAccepted, startMs, endMs: startMs + 1 })
        }

        await other.directory.createUser({ name: 'ada' }, PROGRAM)
        history.change({ subject: 'ada', isValid: true, sentMs: 0, acknowledgedMs: 1, node: 'other' })
        const kept = await lastSequence(other.store)
        await writeUntil(other, kept + 8)
        await away.directory.catchUp()
        await decide(2000)
        await loseWrites(place.execute, kept)
        await other.directory.catchUp()
        await other.directory.setActive('ada', PROGRAM, false)
        history.change({ subject: 'ada', isValid: false, sentMs: 3000, acknowledgedMs: 3001, node: 'other' })
        await writeUntil(other, kept + 14)
        await away.directory.catchUp()
        await decide(5000)

        const found = history.check()
        assert.deepEqual(
          found.map(({ startMs, isAccepted }) => ({ startMs, isAccepted })),
          hasMarks ? [] : [{ startMs: 5000, isAccepted: true }],
        )
      },
    )
})
