import { randomBytes } from 'node:crypto'
import type { Change, ChangeFeed, ChangeKind, Position } from '../../directory/store-port/changes.ts'
import { type Engine, numberOf, type OneStep, one, type Row, type StoreSteps, textOf } from '../engine.ts'
import { requirePageSize } from '../limits.ts'
import { STATEMENTS } from '../statements.ts'

export const createChangeFeed = (engine: Engine): ChangeFeed => ({
  head: async () => readHead(await askWithMark(engine, one(STATEMENTS.readHead))),
  async changesSince({ sequence, mark }, limit, alsoRead = { sequence, mark }) {
    requirePageSize(limit)
    const step = one(STATEMENTS.changesSince, sequence, limit, mark, alsoRead.mark)
    const rows = await askWithMark(engine, step)
    return {
      isKnown: isReached(rows[0]?.['known_to'], sequence) && isReached(rows[0]?.['also_known_to'], alsoRead.sequence),
      changes: rows.filter((row) => row['sequence'] !== null).map(readChange),
      head: readHead(rows),
    }
  },
  onWake: (listener) => engine.onWake(listener),
})

/** `to`: the sequence of a mark; `null` if the history does not have it. */
const isReached = (to: unknown, sequence: number): boolean => typeof to === 'number' && to >= sequence

/**
 * Reads rows that hold the mark of the latest change. It has none if a version that knows no marks has written it, or in
 * a store that is new or was restored: then it gets one, and the rows are read again.
 */
export async function askWithMark(engine: Engine, step: OneStep): Promise<readonly Row[]> {
  for (;;) {
    const rows = await engine.ask(step)
    if (rows[0]?.['head_mark'] !== null) return rows
    await engine.transact(markHead)
  }
}

function* markHead(): StoreSteps<void> {
  const { sequence } = yield* lockCounters()
  const [row] = yield one(STATEMENTS.readHead)
  // another node may have been faster
  if (row?.['head_mark'] === null) yield one(STATEMENTS.putMark, sequence, createMark())
}

/** The latest change, of rows with its mark. */
export const readHead = ([row]: readonly Row[]): Position => ({
  sequence: numberOf(row, 'head'),
  mark: textOf(row, 'head_mark'),
})

/** Random, so that no other history has it. */
export const createMark = (): string => randomBytes(16).toString('hex')

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
export function* lockCounters(): StoreSteps<Counters> {
  const [row] = yield one(STATEMENTS.lockCounters)
  return { sequence: numberOf(row, 'sequence'), users: numberOf(row, 'users') }
}

/** The last step of every write. Returns the position of its last change. */
export function* writeCounters({ sequence, users }: Counters, mark = createMark()): StoreSteps<Position> {
  yield one(STATEMENTS.writeCounters, sequence, users)
  yield one(STATEMENTS.putMark, sequence, mark)
  if (sequence % SEQUENCES_BETWEEN_PURGES === 0) yield one(STATEMENTS.purgeMarks, sequence - MARKED_SEQUENCES)
  return { sequence, mark }
}

/** A reader that is further behind starts again from nothing. */
const MARKED_SEQUENCES = 100_000
const SEQUENCES_BETWEEN_PURGES = 100
