import type { FailureBatch, FailureList } from '../../directory/store-port.ts'
import { numberOf, textOf } from '../rows.ts'
import { STATEMENTS } from '../statements.ts'
import { type Operation, one, type Row } from '../steps.ts'

/** The lock keeps batches of several nodes in their order: one is never visible before an earlier one. */
export function* addFailures({ node, atMs, expiresAt, failures }: FailureBatch): Operation<void> {
  const [row] = yield one(STATEMENTS.lockFailures)
  const sequence = numberOf(row, 'sequence') + 1
  yield one(STATEMENTS.putFailures, sequence, node, atMs, expiresAt, JSON.stringify(failures))
  yield one(STATEMENTS.moveFailures, sequence)
}

/** Without batches there is one row all the same, which holds the latest sequence alone. */
export const readFailures = (rows: readonly Row[]): FailureList => ({
  batches: rows.filter((row) => row['sequence'] !== null).map(readBatch),
  sequence: numberOf(rows[0], 'latest'),
})

const readBatch = (row: Row): FailureList['batches'][number] => ({
  sequence: numberOf(row, 'sequence'),
  node: textOf(row, 'node'),
  atMs: numberOf(row, 'at_ms'),
  expiresAt: numberOf(row, 'expires_at'),
  // only addFailures writes there
  failures: JSON.parse(textOf(row, 'failures')) as FailureBatch['failures'],
})
