import { existsSync, readFileSync, statSync } from 'node:fs'
import { basename, dirname } from 'node:path'
import type { DatabaseSync } from 'node:sqlite'
import { setTimeout as sleep } from 'node:timers/promises'
import { attempt } from '../base/errors.ts'
import { createEmptyFile, createFolders } from '../base/files.ts'
import { isBusy, readSqliteError } from './sqlite/errors.ts'
import { findStoreFile } from './store-url.ts'

/** The exclusive use of a store. It ends with the process, even if the process crashes. */
export interface StoreLock {
  release(): void
}

const RETRY_MS = 50

/** No other process can reach a store in memory, and PostgreSQL is made to be shared. */
const NOTHING_TO_LOCK: StoreLock = Object.freeze({ release: () => {} })

/**
 * Locks the store for this process, so that no other process changes it behind a running server. Returns `undefined` if
 * another process held the lock for all of `waitMs`, or one shared it that a server has left behind.
 */
export async function lockStore(url: string, waitMs: number): Promise<StoreLock | undefined> {
  const path = toLockPath(url)
  if (path === undefined) return NOTHING_TO_LOCK
  createFolders(dirname(path))
  const until = performance.now() + waitMs
  for (;;) {
    const lock = await tryLock(path)
    if (lock && !(await isShared(path))) return lock
    lock?.release()
    if (performance.now() >= until) return undefined
    await sleep(RETRY_MS)
  }
}

/**
 * For a process that serves for the one that has locked the store: from now on no other process can lock it, until this process
 * ends. Ask the server afterwards whether it still runs, before the store is opened.
 */
export async function shareStore(url: string): Promise<void> {
  const path = toLockPath(url)
  if (path === undefined) return
  const connection = await openLockFile(toSharedPath(path))
  connection.exec('BEGIN; SELECT * FROM sqlite_schema')
  held.set(toSharedPath(path), connection)
}

/** Whether a process shares it. Only the one that has locked the store asks, before it starts others. */
async function isShared(path: string): Promise<boolean> {
  const lock = existsSync(toSharedPath(path)) ? await tryLock(toSharedPath(path)) : NOTHING_TO_LOCK
  lock?.release()
  return lock === undefined
}

const toSharedPath = (path: string): string => `${path}-shared`

/** Names the process that holds the lock, where the system lists locks with their processes: ` (process 4711)`. */
export function describeHolder(url: string): string {
  const pid = findHolder(url)
  return pid === undefined ? '' : ` (process ${pid})`
}

/** The program and script of that process, without their arguments: `node app.mjs`. */
export function findHolderProgram(url: string): string | undefined {
  const command = attempt(() => readFileSync(`/proc/${findHolder(url)}/cmdline`, 'utf8'))
  const [program = '', script = '-'] = command?.split('\0') ?? []
  return script.startsWith('-') ? undefined : `${basename(program)} ${script}`
}

const findHolder = (url: string): string | undefined =>
  attempt(() => {
    const path = toLockPath(url) ?? ''
    const locks = readFileSync('/proc/locks', 'utf8')
    const find = (file: string, kind: string) => {
      const ino = statSync(file, { throwIfNoEntry: false })?.ino
      return new RegExp(` ${kind} (\\d+) \\S+:${ino} `).exec(locks)?.[1]
    }
    return find(path, 'WRITE') ?? find(toSharedPath(path), 'READ')
  })

function toLockPath(url: string): string | undefined {
  const file = findStoreFile(url)
  return file === undefined ? undefined : `${file}.lock`
}

/** Whether this process itself holds the lock. */
export const isHeldHere = (url: string): boolean => held.has(toLockPath(url) ?? '')

/** By path. Keeps the connections referenced: the garbage collector would close one, and with it release its lock. */
const held = new Map<string, DatabaseSync>()

/**
 * Takes a SQLite lock on an empty file next to the store. SQLite locks are kernel locks: unlike a file with a process
 * id, they cannot outlive the process, and they work between containers.
 */
async function tryLock(path: string): Promise<StoreLock | undefined> {
  const connection = await openLockFile(path)
  try {
    connection.exec('PRAGMA journal_mode = MEMORY; BEGIN EXCLUSIVE')
  } catch (error) {
    connection.close()
    if (isBusy(error)) return undefined
    throw readSqliteError(error)
  }
  held.set(path, connection)
  return {
    release() {
      if (held.get(path) !== connection) return
      held.delete(path)
      connection.close()
    },
  }
}

async function openLockFile(path: string): Promise<DatabaseSync> {
  // loaded here, so that a PostgreSQL store does not load SQLite
  const { DatabaseSync } = await import('node:sqlite')
  // never opens an existing file: closing it would release the lock if this process holds it
  createEmptyFile(path)
  return new DatabaseSync(path, { timeout: 0 })
}
