import { closeSync, existsSync, fsyncSync, openSync, renameSync, rmSync } from 'node:fs'
import { dirname } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { messageOf } from '../../base/errors.ts'
import { openNew, syncFolder, withFile } from '../../base/files.ts'
import { SILENT_LOG } from '../../base/log.ts'
import { BackupError, type Cells, notEmpty, PAGE_ROWS, refusedRow } from '../backup/format.ts'
import type { BackupDatabase, BackupEngine, RestoreTarget } from '../backup/snapshot.ts'
import { MIGRATIONS } from '../migrations.ts'
import { STATEMENTS } from '../statements.ts'
import { findStoreFile } from '../store-url.ts'
import { MAX_BLOCKED_MS, migrateSqlite, requireStore } from './database.ts'
import { findSqliteConflict, readSqliteError } from './errors.ts'

export const SQLITE_BACKUP: BackupEngine = { openForReading, openTarget, readTime: STATEMENTS.readTime.text }

const COLUMN_LIST = `SELECT item.name AS "table", item_column.name AS "column", item_column.pk AS "key"
  FROM sqlite_schema item JOIN pragma_table_info(item.name) item_column
  WHERE item.type = 'table' AND item.name GLOB 'cardea_*' ORDER BY item.name, item_column.name`

const toBackupDatabase = (database: DatabaseSync): BackupDatabase => ({
  engine: 'sqlite',
  columnList: COLUMN_LIST,
  ask: async (sql) => explain(() => database.prepare(sql).all()),
  async *readPages(sql) {
    const statement = explain(() => database.prepare(sql))
    statement.setReturnArrays(true)
    // rows are arrays now, which the type does not say
    const rows = statement.iterate() as Iterator<unknown> as Iterator<Cells>
    for (;;) {
      const page = explain(() => takePage(rows))
      if (page.length > 0) yield page
      if (page.length < PAGE_ROWS) return
    }
  },
  close: async () => database.close(),
})

function takePage(rows: Iterator<Cells>): readonly Cells[] {
  const page: Cells[] = []
  for (let row = rows.next(); !row.done; row = rows.next()) if (page.push(row.value) === PAGE_ROWS) break
  return page
}

function explain<T>(work: () => T): T {
  try {
    return work()
  } catch (error) {
    throw readSqliteError(error)
  }
}

/** With a write-ahead log, a read transaction keeps its view, and neither waits for a writer nor blocks one. */
async function openForReading(url: string): Promise<BackupDatabase> {
  const path = findStoreFile(url) ?? ''
  if (!existsSync(path))
    throw new BackupError(
      `There is no store at ${path}. Name the configuration of the server with --config. The first start creates the store.`,
    )
  const database = explain(() => new DatabaseSync(path, { readOnly: true, timeout: MAX_BLOCKED_MS }))
  const opened = toBackupDatabase(database)
  try {
    await opened.ask('BEGIN')
    explain(() => requireStore(database))
    return opened
  } catch (error) {
    database.close()
    throw error
  }
}

/** Builds a new file beside the existing one and renames it at the end. The caller holds the lock of the store. */
async function openTarget(
  ...[url, schema, mayReplace, log]: Parameters<BackupEngine['openTarget']>
): Promise<RestoreTarget> {
  const path = findStoreFile(url) ?? ''
  if (!mayReplace && !isEmpty(path)) throw notEmpty()
  const temporary = `${path}.restoring`
  removeDatabase(temporary)
  createOwnFile(temporary)
  const database = new DatabaseSync(temporary)
  // the file is thrown away if anything fails, and synced once when it is complete
  database.exec('PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF')
  migrateSqlite(database, schema, SILENT_LOG)
  database.exec('BEGIN')
  return {
    ...toBackupDatabase(database),
    async insert({ name, columns }, rows) {
      const places = columns.map(() => '?').join(', ')
      const statement = database.prepare(`INSERT INTO ${name} (${columns.join(', ')}) VALUES (${places})`)
      try {
        for (const row of rows) statement.run(...row)
      } catch (error) {
        const conflict = findSqliteConflict(error)
        throw conflict ? refusedRow(name, conflict) : readSqliteError(error)
      }
    },
    async migrate() {
      database.exec('COMMIT')
      migrateSqlite(database, MIGRATIONS, log)
    },
    async commit() {
      database.close()
      replaceStore(temporary, path)
    },
    async close() {
      if (database.isOpen) database.close()
      removeDatabase(temporary)
    },
  }
}
/** A store without a single change of users, settings or sessions. One that cannot be read may hold something. */
function isEmpty(path: string): boolean {
  if (!existsSync(path)) return true
  try {
    const database = new DatabaseSync(path, { readOnly: true })
    try {
      const [table] = database.prepare(`SELECT name FROM sqlite_schema WHERE type = 'table'`).all()
      return !table || database.prepare('SELECT sequence FROM cardea_state').get()?.['sequence'] === 0
    } finally {
      database.close()
    }
  } catch {
    return false
  }
}

function createOwnFile(path: string): void {
  try {
    closeSync(openNew(path))
  } catch (error) {
    const reason = messageOf(error)
    throw new BackupError(`The store cannot be written: ${reason}. Nothing was changed.`)
  }
}

/** The log of the existing store goes first: SQLite would apply it to the new file. */
function replaceStore(complete: string, path: string): void {
  withFile(openSync(complete, 'r+'), fsyncSync)
  emptyLog(path)
  removeLogs(path)
  renameSync(complete, path)
  syncFolder(dirname(path))
}

/** So that the existing store is whole if the process is killed between the two next steps. */
function emptyLog(path: string): void {
  if (!existsSync(path)) return
  try {
    const database = new DatabaseSync(path)
    try {
      database.exec('PRAGMA wal_checkpoint(TRUNCATE)')
    } finally {
      database.close()
    }
  } catch {
    // it is damaged, and about to be replaced
  }
}

function removeLogs(path: string): void {
  for (const suffix of ['-wal', '-shm', '-journal']) rmSync(`${path}${suffix}`, { force: true })
}

function removeDatabase(path: string): void {
  removeLogs(path)
  rmSync(path, { force: true })
}
