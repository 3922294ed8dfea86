import type { Log } from '../../base/log.ts'
import { MIGRATIONS, type Migration } from '../migrations.ts'
import { BackupError } from './backup-error.ts'
import type { Cells, StoreSnapshot, TableShape } from './content.ts'
import { damaged } from './format.ts'

export interface TargetOptions {
  /** The schema of the backup. The target starts with it and is migrated when the rows are in place. */
  readonly schema: number
  /** Whether a store that is not empty may be replaced. */
  readonly mayReplace: boolean
  readonly log: Log
}

/** A new, empty store beside the existing one, or in a transaction. Nothing is replaced before `commit`. */
export interface RestoreTarget {
  readonly tables: readonly TableShape[]
  insert(table: TableShape, rows: readonly Cells[]): Promise<void>
  /** What was inserted, read back from the store. */
  readBack(): Promise<StoreSnapshot>
  /** Migrates the new store to the schema of this version and puts it in the place of the existing one. */
  commit(): Promise<void>
  /** Leaves the existing store as it was. Has no effect after `commit`. */
  discard(): Promise<void>
}

export type OpenTarget = (url: string, options: TargetOptions) => Promise<RestoreTarget>

export const migrationsUpTo = (schema: number): readonly Migration[] =>
  MIGRATIONS.filter(({ number }) => number <= schema)

/** The database refused a row of a backup. */
export const refusedRow = (table: string, isDuplicate: boolean): BackupError =>
  damaged(isDuplicate ? `two rows of ${table} have the same key` : `a row of ${table} has a value of the wrong kind`)

export const notEmpty = (): BackupError =>
  new BackupError(
    'The store is not empty. Nothing was changed. Save it with "cardea backup" if it matters, then restore with --replace.',
  )
