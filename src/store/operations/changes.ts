import type { Change, ChangeFeed, ChangeKind } from '../../directory/store-port/changes.ts'
import { type Engine, numberOf, type Operation, one, type Row, textOf } from '../engine.ts'
import { requirePageSize } from '../limits.ts'
import { STATEMENTS } from '../statements.ts'

export const createChangeFeed = (engine: Engine): ChangeFeed => ({
  sequence: async () => numberOf((await engine.ask(one(STATEMENTS.readCounters)))[0], 'sequence'),
  async changesSince(sequence, limit) {
    requirePageSize(limit)
    return (await engine.ask(one(STATEMENTS.changesSince, sequence, limit))).map(readChange)
  },
  onWake: (listener) => engine.onWake(listener),
})

const readChange = (row: Row): Change => ({
  sequence: numberOf(row, 'sequence'),
  // the statement spells the kinds itself
  kind: textOf(row, 'kind') as ChangeKind,
  key: textOf(row, 'key'),
  isDeleted: numberOf(row, 'is_deleted') === 1,
})

/** The last sequence and the number of users, which every write updates. */
export interface Counters {
  readonly sequence: number
  readonly users: number
}

/**
 * The first step of every write. The lock makes this transaction the only writer until it ends, so sequences become
 * visible in order, and rows read after this step cannot change before the commit.
 */
export function* lockCounters(): Operation<Counters> {
  const [row] = yield one(STATEMENTS.lockCounters)
  return { sequence: numberOf(row, 'sequence'), users: numberOf(row, 'users') }
}

export function* writeCounters({ sequence, users }: Counters): Operation<void> {
  yield one(STATEMENTS.writeCounters, sequence, users)
}
