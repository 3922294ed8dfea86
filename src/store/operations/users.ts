import type { Stored, UserWrite, WriteOutcome } from '../../directory/store-port.ts'
import type { UserRecord } from '../../directory/user.ts'
import type { HashWork } from '../../passwords/password-cost.ts'
import { readRecord, renderRecord } from '../record.ts'
import { numberOf, textOf } from '../rows.ts'
import { STATEMENTS } from '../statements.ts'
import { many, type Operation, type Row } from '../steps.ts'
import { type Judgement, judgeWrites, type Version } from './judge-writes.ts'
import { lockState, moveState } from './state.ts'

export const readStored = (row: Row): Stored => ({
  sequence: numberOf(row, 'sequence'),
  record: readRecord(textOf(row, 'name'), isLive(row), textOf(row, 'record')),
})

const isLive = (row: Row): boolean => numberOf(row, 'is_live') === 1

export function* writeUsers(writes: readonly UserWrite[]): Operation<readonly WriteOutcome[]> {
  const state = yield* lockState()
  const names = new Set(writes.map(({ record }) => record.name))
  const rows = yield many(
    STATEMENTS.findVersion,
    [...names].map((name) => [name]),
  )
  const judgement = judgeWrites(state, new Map(rows.map(readVersion)), writes)
  if (judgement.accepted.size > 0) yield* putUsers(judgement)
  return judgement.outcomes
}

const readVersion = (row: Row): [string, Version] => [
  textOf(row, 'name'),
  { sequence: numberOf(row, 'sequence'), isLive: isLive(row) },
]

const toWorkColumns = (record: UserRecord): readonly [string | null, number | null] =>
  record.kind === 'user' && 'prf' in record.password ? [record.password.prf, record.password.iterations] : [null, null]

export const readHashWork = (row: Row): HashWork => ({
  // the column holds what `toWorkColumns` wrote
  prf: textOf(row, 'prf') as HashWork['prf'],
  iterations: numberOf(row, 'iterations'),
})

function* putUsers({ accepted, state }: Judgement): Operation<void> {
  const rows = [...accepted].map(([name, { sequence, record }]) => [
    name,
    sequence,
    record.kind === 'user' ? 1 : 0,
    renderRecord(record),
    ...toWorkColumns(record),
  ])
  yield many(STATEMENTS.putUser, rows)
  yield* moveState(state)
}
