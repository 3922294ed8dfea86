import { closeSync, fchownSync, openSync, statSync } from 'node:fs'
import { dirname } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { isBusy, toFailure } from './failures.ts'

/** The right to work on a store. It ends with the process, however that ends. */
export interface StoreLock {
  release(): void
}

// Somebody must hold on to them: a connection nobody refers to is closed, and its lock is gone.
const held = new Set<DatabaseSync>()

/**
 * Takes the lock that an empty file beside the store stands for, or gives `undefined` where somebody has it. The lock is
 * one of SQLite, and so of the kernel: unlike a file with a process number in it, it cannot outlive its holder, and
 * holds between containers.
 */
export function tryLock(path: string): StoreLock | undefined {
  makeFile(path)
  const connection = new DatabaseSync(path, { timeout: 0 })
  try {
    connection.exec('PRAGMA journal_mode = MEMORY; BEGIN EXCLUSIVE')
  } catch (error) {
    connection.close()
    if (isBusy(error)) return undefined
    throw toFailure(error)
  }
  held.add(connection)
  return {
    release() {
      if (held.delete(connection)) connection.close()
    },
  }
}

/** Never opened where it exists: in the process that holds the lock, closing it again would let go of the lock. */
function makeFile(path: string): void {
  try {
    const file = openSync(path, 'wx', 0o600)
    giveToOwner(file, dirname(path))
    closeSync(file)
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && error.code === 'EEXIST')) throw error
  }
}

/** What root makes while it manages the store of another user must not keep that user's server from starting. */
function giveToOwner(file: number, folder: string): void {
  if (process.getuid?.() !== 0) return
  const { uid, gid } = statSync(folder)
  try {
    fchownSync(file, uid, gid)
  } catch {
    // a root without that right can only leave it as its own
  }
}
