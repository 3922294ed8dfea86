import type { CodeStore } from '../../directory/store-port.ts'
import { type Engine, type Operation, one } from '../engine.ts'
import { requireKey } from '../limits.ts'
import { STATEMENTS } from '../statements.ts'

export const createCodeStore = (engine: Engine): CodeStore => ({
  async useCodeStep(name, step) {
    requireKey(name, 'a name')
    return engine.transact(() => useCodeStep(name, step))
  },
})

/** In a transaction, because a repeated statement would reject the code that its first run accepted. */
function* useCodeStep(name: string, step: number): Operation<boolean> {
  const rows = yield one(STATEMENTS.useCodeStep, name, step)
  return rows.length > 0
}
