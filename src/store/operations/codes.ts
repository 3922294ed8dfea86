import { STATEMENTS } from '../statements.ts'
import { type Operation, one } from '../steps.ts'

/** In a transaction, though it is one statement: repeated after a lost answer, it would refuse a code it had accepted. */
export function* useCodeStep(name: string, step: number): Operation<boolean> {
  const rows = yield one(STATEMENTS.useCodeStep, name, step)
  return rows.length > 0
}
