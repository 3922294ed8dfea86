import { numberOf } from '../rows.ts'
import { STATEMENTS } from '../statements.ts'
import { type Operation, one } from '../steps.ts'

export interface State {
  readonly sequence: number
  readonly users: number
}

/**
 * First step of every write. Whoever holds the state is the only writer until the transaction ends, so sequences
 * become visible in their order and what was read after it cannot change.
 */
export function* lockState(): Operation<State> {
  const [row] = yield one(STATEMENTS.lockState)
  return { sequence: numberOf(row, 'sequence'), users: numberOf(row, 'users') }
}

export function* moveState({ sequence, users }: State): Operation<void> {
  yield one(STATEMENTS.moveState, sequence, users)
}
