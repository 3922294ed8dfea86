import type { Change, ChangeKind } from '../../directory/store-port.ts'
import { numberOf, textOf } from '../rows.ts'
import type { Row } from '../steps.ts'

export const readChange = (row: Row): Change => ({
  sequence: numberOf(row, 'sequence'),
  // the statement spells the kinds itself
  kind: textOf(row, 'kind') as ChangeKind,
  key: textOf(row, 'key'),
  isDeleted: numberOf(row, 'is_deleted') === 1,
})
