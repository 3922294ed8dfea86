/** Opens, configures and migrates the database file. */
import { fchmodSync, fstatSync, openSync, readSync } from 'node:fs'
import { dirname, resolve } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { Refusal } from '../../base/errors.ts'
import { createEmptyFile, createFolders, syncFolder, withFile } from '../../base/files.ts'
import type { Log } from '../../base/log.ts'
import { IncompatibleStoreError } from '../engine.ts'
import { logMigrations, MIGRATION_TABLE, type Migration, pendingMigrations } from '../migrations.ts'
import { MEMORY } from '../store-url.ts'
import { createDamage, describeOpenFailure, readSqliteError } from './errors.ts'

const OWNER_ONLY = 0o600

/** Opens the file. A new one is readable by its owner only. No call waits for another process: it would block the event loop. */
export function openFile(path: string, log: Log): DatabaseSync {
  const location = path === MEMORY ? MEMORY : prepareFile(resolve(path), log)
  return new DatabaseSync(location, { timeout: 0, enableForeignKeyConstraints: true })
}

/** Setting the journal mode may fail with "busy" while another process opens the same file. */
export function configureConnection(database: DatabaseSync): void {
  const mode = database.prepare('PRAGMA journal_mode = WAL').get()?.['journal_mode']
  if (mode !== 'wal' && mode !== 'memory') {
    throw new IncompatibleStoreError(
      'The place of the store has no shared memory for a write-ahead log: use a local disk.',
    )
  }
  database.exec('PRAGMA synchronous = FULL; PRAGMA trusted_schema = OFF; PRAGMA journal_size_limit = 67108864')
}

/** The check reads 300 MB a second. A larger file is left to `cardea check`, so that a start stays quick. */
const MAX_CHECKED_BYTES = 64_000_000

/** Throws if the structure of the file is damaged: SQLite itself notices only when it reads the damaged page. */
export function requireIntact(database: DatabaseSync, maxBytes = MAX_CHECKED_BYTES): void {
  const read = (pragma: string) => Object.values(database.prepare(`PRAGMA ${pragma}`).get() ?? {})[0]
  if (Number(read('page_count')) * Number(read('page_size')) > maxBytes) return
  const finding = read('quick_check(1)')
  if (finding !== 'ok') throw createDamage(String(finding))
}

/** For commands that do nothing else meanwhile. */
export const MAX_BLOCKED_MS = 5000

/** What is wrong with the structure of a file of any size; `undefined`: nothing. */
export function findDamage(path: string): string | undefined {
  const database = new DatabaseSync(resolve(path), { readOnly: true, timeout: MAX_BLOCKED_MS })
  try {
    requireIntact(database, Number.POSITIVE_INFINITY)
    return undefined
  } catch (error) {
    const found = readSqliteError(error)
    return found instanceof Refusal ? found.detail : String(error)
  } finally {
    database.close()
  }
}

// an absolute path also keeps SQLite from reading `file:…?…` as a URL with options
function prepareFile(path: string, log: Log): string {
  try {
    createFolders(dirname(path))
    createEmptyFile(path)
    withFile(openSync(path, 'a', OWNER_ONLY), (file) => {
      if (isDatabase(path)) restrictToOwner(file, path, log)
    })
    syncFolder(dirname(path))
    return path
  } catch (cause) {
    throw new Refusal('store_unavailable', { detail: describeOpenFailure(path, cause), cause })
  }
}

const MAGIC = Buffer.from('SQLite format 3\0')

/** An empty file counts as a database. The mode of any other file is not changed; SQLite rejects it later. */
const isDatabase = (path: string): boolean =>
  withFile(openSync(path, 'r'), (file) => {
    const begin = Buffer.alloc(MAGIC.length)
    return readSync(file, begin) === 0 || begin.equals(MAGIC)
  })

function restrictToOwner(file: number, path: string, log: Log): void {
  if ((fstatSync(file).mode & 0o077) === 0) return
  try {
    fchmodSync(file, OWNER_ONLY)
    log.warn('the store was open to others; its file is now for its owner alone', { path })
  } catch {
    log.warn('the store is open to others: chmod 600', { path })
  }
}

export function inTransaction<T>(database: DatabaseSync, work: () => T): T {
  // IMMEDIATE takes the write lock at once, so that what the transaction reads cannot be outdated when it writes
  database.exec('BEGIN IMMEDIATE')
  try {
    const result = work()
    database.exec('COMMIT')
    return result
  } catch (error) {
    if (database.isTransaction) database.exec('ROLLBACK')
    throw error
  }
}

/** Migrates the schema. If several processes start at once, one migrates and the others find nothing to do. */
export function migrateSqlite(database: DatabaseSync, known: readonly Migration[], log: Log): void {
  const applied = inTransaction(database, () => {
    const pending = pendingMigrations(findApplied(database), known)
    for (const migration of pending) applyMigration(database, migration)
    return pending
  })
  logMigrations(applied, log)
}

/** Throws if the file holds something else. */
export function requireStore(database: DatabaseSync): 'store' | 'empty' {
  const tables = database.prepare(`SELECT name FROM sqlite_schema WHERE type = 'table'`).all()
  if (tables.length === 0) return 'empty'
  if (tables.some(({ name }) => name === 'cardea_migrations')) return 'store'
  throw new IncompatibleStoreError('The file is a database of something else, not a store of Cardea.')
}

function findApplied(database: DatabaseSync): number {
  if (requireStore(database) === 'empty') database.exec(MIGRATION_TABLE)
  const row = database.prepare('SELECT coalesce(max(number), 0) AS number FROM cardea_migrations').get()
  return Number(row?.['number'])
}

function applyMigration(database: DatabaseSync, { number, name, sqlite }: Migration): void {
  database.exec(sqlite)
  database.prepare('INSERT INTO cardea_migrations (number, name) VALUES (?, ?)').run(number, name)
}
