import { IncompatibleStoreError } from '../incompatible-store.ts'

/** One change of the schema. What has been released is never edited; the next change gets the next number. */
export interface Migration {
  readonly number: number
  readonly name: string
  readonly sqlite: string
  readonly postgres: string
}

/** The table of what has been applied. It is the same in every version, so that every version can read it. */
export const MIGRATION_TABLE = `CREATE TABLE cardea_migrations (
  number integer NOT NULL PRIMARY KEY,
  name text NOT NULL
)`

/** What is still to be applied, in order. A store this Cardea does not know is refused. */
export function pendingMigrations(applied: number, known: readonly Migration[]): readonly Migration[] {
  const newest = known.at(-1)?.number ?? 0
  if (applied <= newest) return known.filter(({ number }) => number > applied)
  throw new IncompatibleStoreError(
    `The store has schema ${applied}, written by a newer Cardea; this one knows schema ${newest}. Start the newer version, or a copy of the store made before the upgrade.`,
  )
}
