import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import type { Expected } from '../../src/directory/store-port/changes.ts'
import type { UserWrite } from '../../src/directory/store-port/users.ts'
import { toTombstone } from '../../src/directory/users/revisions.ts'
import { decideWrites, type Version } from '../../src/store/operations/users.ts'
import { newUser } from '../contract/store-values.ts'

const name = fc.constantFrom('a', 'b', 'c')
const write: fc.Arbitrary<UserWrite> = fc
  .record({
    name,
    isLive: fc.boolean(),
    expected: fc.oneof(fc.constant<Expected>('absent'), fc.integer({ min: 1, max: 12 })),
  })
  .map(({ name: of, isLive, expected }) => ({
    expected,
    record: isLive ? newUser(of) : toTombstone(newUser(of), 1),
  }))
const known = fc.uniqueArray(
  fc.tuple(name, fc.record({ sequence: fc.integer({ min: 1, max: 5 }), isLive: fc.boolean() })),
  {
    selector: ([of]) => of,
  },
)

const countLive = (versions: Iterable<Version>): number => [...versions].filter(({ isLive }) => isLive).length

/** Decides one write at a time; a batch must have the same result. */
function decideOneByOne(before: ReadonlyMap<string, Version>, writes: readonly UserWrite[]) {
  const versions = new Map(before)
  let sequence = 5
  const outcomes = writes.map(({ expected, record }) => {
    const decision = decideWrites({ sequence, users: countLive(versions.values()) }, versions, [{ expected, record }])
    sequence = decision.counters.sequence
    if (decision.accepted.size > 0) versions.set(record.name, { sequence, isLive: record.kind === 'user' })
    return decision.outcomes[0]
  })
  return { outcomes, counters: { sequence, users: countLive(versions.values()) } }
}

describe('decideWrites', () => {
  it('gives a batch the same result as its writes one by one', () => {
    fc.assert(
      fc.property(known, fc.array(write, { maxLength: 12 }), (pairs, writes) => {
        const before = new Map(pairs)
        const { outcomes, counters } = decideWrites({ sequence: 5, users: countLive(before.values()) }, before, writes)
        assert.deepEqual({ outcomes, counters }, decideOneByOne(before, writes))
      }),
    )
  })

  it('accepts the last valid record of each name, with its own sequence', () => {
    fc.assert(
      fc.property(known, fc.array(write, { maxLength: 12 }), (pairs, writes) => {
        const { outcomes, accepted } = decideWrites({ sequence: 5, users: 0 }, new Map(pairs), writes)
        const last = new Map<string, { sequence: number; record: UserWrite['record'] }>()
        for (const [i, outcome] of outcomes.entries()) {
          const record = writes[i]?.record
          if (record && outcome.kind === 'written') last.set(record.name, { sequence: outcome.sequence, record })
        }
        assert.deepEqual(accepted, last)
      }),
    )
  })
})
