import { createLruCache } from '../base/caches.ts'
import { Refusal } from '../base/errors.ts'
import type { Log } from '../base/log.ts'

/** The stored text of a user cannot be read as a record, although the structure of the database is intact. */
export class DamagedRecordError extends Error {
  override readonly name = 'DamagedRecordError'
  readonly user: string

  constructor(user: string, options?: ErrorOptions) {
    super('The stored record of a user is damaged', options)
    this.user = user
  }
}

export type DamagedRecords = ReturnType<typeof createDamagedRecords>

const REPEAT_MS = 60_000
const MAX_REMEMBERED = 1000
const MAX_NAMED = 20

/** Logs damaged records, each at most once a minute, and those of one list together. */
export function createDamagedRecords(log: Log) {
  const logged = createLruCache<true>(MAX_REMEMBERED, { ttl: REPEAT_MS })

  const report = (names: readonly string[]) => {
    const unreported = names.filter((name) => !logged.has(name))
    if (unreported.length === 0) return
    for (const name of unreported) logged.set(name, true)
    log.error('records of users are damaged: restore a backup with "cardea restore FILE --replace"', {
      users: unreported.slice(0, MAX_NAMED),
      count: unreported.length,
    })
  }

  return {
    /** Throws `record_damaged` in place of a `DamagedRecordError`. */
    require<T>(read: () => T): T {
      try {
        return read()
      } catch (error) {
        if (!(error instanceof DamagedRecordError)) throw error
        report([error.user])
        throw new Refusal('record_damaged', { cause: error })
      }
    },
    /** Leaves out the rows that cannot be read, and calls `onDamaged` with the name of each. */
    skip<R, T>(rows: readonly R[], read: (row: R) => T, onDamaged?: (name: string) => void): readonly T[] {
      const damaged: string[] = []
      const readable = rows.flatMap((row) => {
        try {
          return [read(row)]
        } catch (error) {
          if (!(error instanceof DamagedRecordError)) throw error
          damaged.push(error.user)
          onDamaged?.(error.user)
          return []
        }
      })
      report(damaged)
      return readable
    },
  }
}
