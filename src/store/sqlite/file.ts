import { closeSync, fchmodSync, fstatSync, mkdirSync, openSync, readSync } from 'node:fs'
import { dirname, resolve } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { Refusal } from '../../base/errors.ts'
import { syncFolder } from '../../base/files.ts'
import type { Log } from '../../base/log.ts'
import { IncompatibleStoreError } from '../incompatible-store.ts'

const MEMORY = ':memory:'
const OURS_ALONE = 0o600

/** The longest a call blocks this thread for the sake of another process; after it the wait goes on without blocking. */
const BUSY_MS = 100

/** Opens the file, made for its owner alone where there is none yet. */
export function openFile(path: string, log: Log): DatabaseSync {
  const location = path === MEMORY ? MEMORY : prepareFile(resolve(path), log)
  return new DatabaseSync(location, { timeout: BUSY_MS, enableForeignKeyConstraints: true })
}

/** Settings of the connection. The journal mode may have to wait for other processes that open at the same moment. */
export function tuneConnection(database: DatabaseSync): void {
  const mode = database.prepare('PRAGMA journal_mode = WAL').get()?.['journal_mode']
  if (mode !== 'wal' && mode !== 'memory') {
    throw new IncompatibleStoreError(
      'The place of the store has no shared memory for a write-ahead log: use a local disk.',
    )
  }
  database.exec('PRAGMA synchronous = FULL; PRAGMA trusted_schema = OFF; PRAGMA journal_size_limit = 67108864')
}

// an absolute path also keeps SQLite from reading `file:…?…` as an address with options
function prepareFile(path: string, log: Log): string {
  try {
    if (mkdirSync(dirname(path), { recursive: true, mode: 0o700 }) !== undefined) syncFolder(dirname(dirname(path)))
    const file = openSync(path, 'a', OURS_ALONE)
    try {
      if (isDatabase(path)) closeToOthers(file, path, log)
    } finally {
      closeSync(file)
    }
    syncFolder(dirname(path))
    return path
  } catch (cause) {
    throw new Refusal('store_unavailable', { detail: `${path} cannot be opened or made`, cause })
  }
}

const MAGIC = Buffer.from('SQLite format 3\0')

/** What is something else stays as it is; SQLite will say so. An empty file is a database that has nothing yet. */
function isDatabase(path: string): boolean {
  const file = openSync(path, 'r')
  try {
    const begin = Buffer.alloc(MAGIC.length)
    return readSync(file, begin) === 0 || begin.equals(MAGIC)
  } finally {
    closeSync(file)
  }
}

function closeToOthers(file: number, path: string, log: Log): void {
  if ((fstatSync(file).mode & 0o077) === 0) return
  try {
    fchmodSync(file, OURS_ALONE)
    log.warn('the store was open to others; its file is now for its owner alone', { path })
  } catch {
    log.warn('the store is open to others: chmod 600', { path })
  }
}
