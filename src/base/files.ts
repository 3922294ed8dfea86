import { randomBytes } from 'node:crypto'
import {
  closeSync,
  fchmodSync,
  fchownSync,
  fsyncSync,
  openSync,
  realpathSync,
  renameSync,
  rmSync,
  statSync,
  writeSync,
} from 'node:fs'
import { basename, dirname, join } from 'node:path'

/**
 * Replaces a file whole: temporary file beside it, fsync, rename, fsync of the folder. Whoever reads sees the old
 * bytes or the new ones, also after a crash. Mode and owner of an existing file are kept, links are followed.
 */
export function replaceFile(path: string, content: string | Uint8Array, newMode = 0o600): void {
  const target = realPathOf(path)
  const before = statSync(target, { throwIfNoEntry: false })
  const temporary = join(dirname(target), `.${basename(target)}.${randomBytes(6).toString('hex')}.tmp`)
  const file = openSync(temporary, 'wx', 0o600)
  try {
    try {
      writeWhole(file, typeof content === 'string' ? Buffer.from(content) : content)
      if (before) fchownSync(file, before.uid, before.gid)
      fchmodSync(file, before ? before.mode & 0o7777 : newMode)
      fsyncSync(file)
    } finally {
      closeSync(file)
    }
    renameSync(temporary, target)
  } catch (error) {
    rmSync(temporary, { force: true })
    throw error
  }
  syncFolder(dirname(target))
}

function realPathOf(path: string): string {
  try {
    return realpathSync(path)
  } catch {
    return path
  }
}

function writeWhole(file: number, bytes: Uint8Array): void {
  for (let at = 0; at < bytes.byteLength; ) at += writeSync(file, bytes, at)
}

/** Makes names in a folder durable: a rename is on disk only when its folder is. */
export function syncFolder(folder: string): void {
  const handle = openSync(folder, 'r')
  try {
    fsyncSync(handle)
  } finally {
    closeSync(handle)
  }
}
