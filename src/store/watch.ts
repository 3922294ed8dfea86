import { Refusal } from '../base/errors.ts'
import type { Log } from '../base/log.ts'
import type { Engine, Statement } from './steps.ts'

/** Which of the two fails is worth telling apart: a full disk or a lock lets everybody read. */
type Work = 'read' | 'written'

/** An engine that says in the log when it cannot be used any longer, and why, and when it can again: once each. */
export function watchEngine(engine: Engine, log: Log): Engine {
  const failing = new Set<Work>()
  let isClosed = false
  const tell = (work: Work, error: unknown) => {
    const isOut = error instanceof Refusal && error.code === 'store_unavailable'
    if (!isOut || isClosed || failing.has(work)) return
    failing.add(work)
    log.error(`the store cannot be ${work}`, { store: engine.name, reason: error.detail })
  }
  const watch = async <T>(work: Work, run: () => Promise<T>): Promise<T> => {
    try {
      const result = await run()
      if (failing.delete(work)) log.info(`the store can be ${work} again`, { store: engine.name })
      return result
    } catch (error) {
      tell(work, error)
      throw error
    }
  }
  return {
    name: engine.name,
    ask: (step) => watch(workOf(step.statement), () => engine.ask(step)),
    transact: (begin) => watch('written', () => engine.transact(begin)),
    onWake: (listener) => engine.onWake(listener),
    close() {
      isClosed = true
      return engine.close()
    },
  }
}

const workOf = ({ text }: Statement): Work => (text.startsWith('SELECT') ? 'read' : 'written')
