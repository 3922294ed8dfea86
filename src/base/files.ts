import { randomBytes } from 'node:crypto'
import {
  closeSync,
  fchmodSync,
  fchownSync,
  fsyncSync,
  linkSync,
  openSync,
  realpathSync,
  renameSync,
  rmSync,
  statSync,
  writeSync,
} from 'node:fs'
import { basename, dirname, join } from 'node:path'

/**
 * Replaces a file atomically: temporary file in the same folder, fsync, rename, fsync of the folder. Readers see the old
 * content or the new one, also after a crash. Mode and owner of an existing file are kept; links are followed.
 */
export function replaceFile(path: string, content: string | Uint8Array, newMode = 0o600): void {
  const target = realPathOf(path)
  const before = statSync(target, { throwIfNoEntry: false })
  const temporary = writeTemporary(target, content, (file) => {
    if (before) fchownSync(file, before.uid, before.gid)
    fchmodSync(file, before ? before.mode & 0o7777 : newMode)
  })
  try {
    renameSync(temporary, target)
  } catch (error) {
    rmSync(temporary, { force: true })
    throw error
  }
  syncFolder(dirname(target))
}

/**
 * Creates a file that only its owner can read. It is complete from the moment it appears. Returns `false`, and changes
 * nothing, if the file already exists.
 */
export function createFile(path: string, content: string | Uint8Array): boolean {
  const temporary = writeTemporary(path, content)
  try {
    linkSync(temporary, path)
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'EEXIST') return false
    throw error
  } finally {
    rmSync(temporary, { force: true })
  }
  syncFolder(dirname(path))
  return true
}

/** Writes a temporary file in the folder of the target and syncs it to disk. */
function writeTemporary(target: string, content: string | Uint8Array, prepare: (file: number) => void = () => {}) {
  const temporary = join(dirname(target), `.${basename(target)}.${randomBytes(6).toString('hex')}.tmp`)
  const file = openSync(temporary, 'wx', 0o600)
  try {
    writeAll(file, typeof content === 'string' ? Buffer.from(content) : content)
    prepare(file)
    fsyncSync(file)
  } catch (error) {
    rmSync(temporary, { force: true })
    throw error
  } finally {
    closeSync(file)
  }
  return temporary
}

function realPathOf(path: string): string {
  try {
    return realpathSync(path)
  } catch {
    return path
  }
}

function writeAll(file: number, bytes: Uint8Array): void {
  for (let at = 0; at < bytes.byteLength; ) at += writeSync(file, bytes, at)
}

/** Makes a rename or link durable: it is on disk only after a sync of its folder. */
export function syncFolder(folder: string): void {
  const handle = openSync(folder, 'r')
  try {
    fsyncSync(handle)
  } finally {
    closeSync(handle)
  }
}
