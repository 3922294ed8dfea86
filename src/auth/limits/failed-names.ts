import type { Failure } from '../../directory/store-port/sign-ins.ts'

/** Names of existing accounts with the newest failures. The counters store only digests of names. */
export interface FailedNames {
  note(failure: Pick<Failure, 'key' | 'name'>): void
  /** The beginning of the lock keys of each account, and its name. */
  entries(): Iterable<readonly [prefix: string, name: string]>
}

const MAX_NAMES = 1000

export function createFailedNames(): FailedNames {
  const names = new Map<string, string>()
  return {
    note({ key, name }) {
      if (name === undefined) return
      const prefix = key.slice(0, key.indexOf(' ') + 1)
      names.delete(prefix)
      names.set(prefix, name)
      const oldest = names.keys().next().value
      if (names.size > MAX_NAMES && oldest !== undefined) names.delete(oldest)
    },
    entries: () => names.entries(),
  }
}
