import type { DatabaseSync } from 'node:sqlite'
import type { Log } from '../../base/log.ts'
import { IncompatibleStoreError } from '../incompatible-store.ts'
import { MIGRATION_TABLE, type Migration, pendingMigrations } from '../migrations/migration.ts'

/** Brings the schema up to date. Of several processes one does it, the others find it done. */
export function migrateSqlite(database: DatabaseSync, known: readonly Migration[], log: Log): void {
  database.exec('BEGIN IMMEDIATE')
  try {
    const pending = pendingMigrations(findApplied(database), known)
    for (const migration of pending) applyMigration(database, migration)
    database.exec('COMMIT')
    for (const { number, name } of pending) log.info('store migrated', { number, name })
  } catch (error) {
    if (database.isTransaction) database.exec('ROLLBACK')
    throw error
  }
}

function findApplied(database: DatabaseSync): number {
  const tables = database.prepare(`SELECT name FROM sqlite_schema WHERE type = 'table'`).all()
  if (tables.length === 0) database.exec(MIGRATION_TABLE)
  else if (!tables.some(({ name }) => name === 'cardea_migrations')) {
    throw new IncompatibleStoreError('The file is a database of something else, not a store of Cardea.')
  }
  const row = database.prepare('SELECT coalesce(max(number), 0) AS number FROM cardea_migrations').get()
  return Number(row?.['number'])
}

function applyMigration(database: DatabaseSync, { number, name, sqlite }: Migration): void {
  database.exec(sqlite)
  database.prepare('INSERT INTO cardea_migrations (number, name) VALUES (?, ?)').run(number, name)
}
