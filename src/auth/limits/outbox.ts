import type { Failure } from '../../directory/store-port.ts'

/** Failures of this node that the others do not know yet. */
export interface Outbox {
  /** Takes out some of them, at most a batch. */
  take(): readonly Failure[]
  /** Puts back what could not be told. */
  putBack(failures: readonly Failure[]): void
}

const MAX_BATCH = 1000
/** What comes while the store is away and the outbox is full is counted by this node alone. */
const MAX_WAITING = 10_000

export function createOutbox(): Outbox & { add(counter: Failure['counter'], key: string, count?: number): void } {
  const waiting = new Map<string, Failure>()
  const add = (counter: Failure['counter'], key: string, count = 1) => {
    const id = `${counter} ${key}`
    const known = waiting.get(id)
    if (known || waiting.size < MAX_WAITING) waiting.set(id, { counter, key, count: (known?.count ?? 0) + count })
  }
  return {
    add,
    take() {
      const batch = [...waiting].slice(0, MAX_BATCH)
      for (const [id] of batch) waiting.delete(id)
      return batch.map(([, failure]) => failure)
    },
    putBack(failures) {
      for (const { counter, key, count } of failures) add(counter, key, count)
    },
  }
}
