import type { Failure } from '../../directory/store-port/sign-ins.ts'

const MAX_BATCH = 1000
/** While the store is unreachable and the outbox is full, further failures count on this node only. */
const MAX_WAITING = 10_000

/** Failures of this node that the others do not know yet. */
export type Outbox = ReturnType<typeof createOutbox>

export function createOutbox() {
  const waiting = new Map<string, Failure>()
  const add = (failure: Failure): void => {
    const id = `${failure.counter} ${failure.key}`
    const known = waiting.get(id)
    if (known || waiting.size < MAX_WAITING) waiting.set(id, { ...failure, count: (known?.count ?? 0) + failure.count })
  }
  return {
    add,
    /** Drops the waiting failures of these keys, and tells the other nodes to forget theirs. */
    lift(counter: Failure['counter'], prefix: string): void {
      for (const [id, failure] of waiting)
        if (failure.counter === counter && failure.key.startsWith(prefix)) waiting.delete(id)
      waiting.set(`${counter} ${prefix}`, { counter, key: prefix, count: 0 })
    },
    take(): readonly Failure[] {
      const batch = [...waiting].slice(0, MAX_BATCH)
      for (const [id] of batch) waiting.delete(id)
      return batch.map(([, failure]) => failure)
    },
    putBack: (failures: readonly Failure[]): void => failures.forEach(add),
  }
}
