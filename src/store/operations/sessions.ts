import type { EndedCount, EndedSession } from '../../directory/store-port.ts'
import { numberOf, textOf } from '../rows.ts'
import { STATEMENTS } from '../statements.ts'
import { type Operation, one, type Row } from '../steps.ts'
import { lockState, moveState } from './state.ts'

export function* endSession({ id, name, expiresAt }: EndedSession): Operation<EndedCount> {
  const state = yield* lockState()
  const sequence = state.sequence + 1
  yield one(STATEMENTS.putEnded, id, name, expiresAt, sequence)
  yield* moveState({ ...state, sequence })
  const [row] = yield one(STATEMENTS.countEnded, name)
  return { sequence, count: numberOf(row, 'count') }
}

export const readEnded = (row: Row): EndedSession & { readonly sequence: number } => ({
  id: textOf(row, 'id'),
  name: textOf(row, 'name'),
  expiresAt: numberOf(row, 'expires_at'),
  sequence: numberOf(row, 'sequence'),
})
