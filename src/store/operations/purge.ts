import { setImmediate as yieldToEventLoop } from 'node:timers/promises'
import { type Engine, one, type Statement } from '../engine.ts'

/** Deletes expired rows in batches with a pause between them, so that other work is not blocked. Returns how many. */
export async function purgeExpired(engine: Engine, statement: Statement, nowSeconds: number): Promise<number> {
  let total = 0
  for (;;) {
    await yieldToEventLoop()
    const deleted = await engine.ask(one(statement, nowSeconds))
    if (deleted.length === 0) return total
    total += deleted.length
  }
}
