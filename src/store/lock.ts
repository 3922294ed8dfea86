import { readFileSync, statSync } from 'node:fs'
import { basename, dirname } from 'node:path'
import type { DatabaseSync } from 'node:sqlite'
import { setTimeout as sleep } from 'node:timers/promises'
import { attempt } from '../base/errors.ts'
import { createEmptyFile, createFolders } from '../base/files.ts'
import { isBusy, toStoreError } from './sqlite/errors.ts'
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
 * another process held the lock for all of `waitMs`.
 */
export async function lockStore(url: string, waitMs: number): Promise<StoreLock | undefined> {
  const path = toLockPath(url)
  if (path === undefined) return NOTHING_TO_LOCK
  createFolders(dirname(path))
  const until = performance.now() + waitMs
  for (;;) {
    const lock = await tryLock(path)
    if (lock || performance.now() >= until) return lock
    await sleep(RETRY_MS)
  }
}

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
    const { ino } = statSync(toLockPath(url) ?? '')
    return new RegExp(` WRITE (\\d+) \\S+:${ino} `).exec(readFileSync('/proc/locks', 'utf8'))?.[1]
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
  // loaded here, so that a PostgreSQL store does not load SQLite
  const { DatabaseSync } = await import('node:sqlite')
  // never opens an existing file: closing it would release the lock if this process holds it
  createEmptyFile(path)
  const connection = new DatabaseSync(path, { timeout: 0 })
  try {
    connection.exec('PRAGMA journal_mode = MEMORY; BEGIN EXCLUSIVE')
  } catch (error) {
    connection.close()
    if (isBusy(error)) return undefined
    throw toStoreError(error)
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
