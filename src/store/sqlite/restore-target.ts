import { closeSync, existsSync, fsyncSync, openSync, renameSync, rmSync } from 'node:fs'
import { dirname } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { messageOf } from '../../base/errors.ts'
import { openNew, syncFolder } from '../../base/files.ts'
import { SILENT_LOG } from '../../base/log.ts'
import { BackupError } from '../backup/backup-error.ts'
import { migrationsUpTo, notEmpty, type OpenTarget, type RestoreTarget, refusedRow } from '../backup/restore-target.ts'
import { MIGRATIONS } from '../migrations.ts'
import { findStoreFile } from '../store-url.ts'
import { migrateSqlite } from './database.ts'
import { findConflict, toStoreError } from './errors.ts'
import { listTables, readSqlite } from './snapshot.ts'

/** Builds a new file beside the existing one and renames it at the end. The caller holds the lock of the store. */
export const openSqliteTarget: OpenTarget = async (url, { schema, mayReplace, log }) => {
  const path = findStoreFile(url) ?? ''
  if (!mayReplace && !isEmpty(path)) throw notEmpty()
  const temporary = `${path}.restoring`
  removeDatabase(temporary)
  createOwnFile(temporary)
  const database = new DatabaseSync(temporary)
  // the file is thrown away if anything fails, and synced once when it is complete
  database.exec('PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF')
  migrateSqlite(database, migrationsUpTo(schema), SILENT_LOG)
  return createTarget(database, {
    commit() {
      migrateSqlite(database, MIGRATIONS, log)
      database.close()
      replaceStore(temporary, path)
    },
    discard() {
      if (database.isOpen) database.close()
      removeDatabase(temporary)
    },
  })
}

interface Ends {
  commit(): void
  discard(): void
}

function createTarget(database: DatabaseSync, { commit, discard }: Ends): RestoreTarget {
  const tables = listTables(database)
  database.exec('BEGIN')
  // migrations insert first rows, which the backup has as well
  for (const { name } of tables) database.exec(`DELETE FROM ${name}`)
  return {
    tables,
    async insert({ name, columns }, rows) {
      const places = columns.map(() => '?').join(', ')
      const statement = database.prepare(`INSERT INTO ${name} (${columns.join(', ')}) VALUES (${places})`)
      try {
        for (const row of rows) statement.run(...row)
      } catch (error) {
        const conflict = findConflict(error)
        throw conflict ? refusedRow(name, conflict === 'duplicate') : toStoreError(error)
      }
    },
    async readBack() {
      database.exec('COMMIT')
      return readSqlite(database)
    },
    commit: async () => commit(),
    discard: async () => discard(),
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
  const file = openSync(complete, 'r+')
  fsyncSync(file)
  closeSync(file)
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
