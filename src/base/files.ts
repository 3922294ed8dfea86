import { randomBytes } from 'node:crypto'
import {
  closeSync,
  constants,
  createWriteStream,
  fchmodSync,
  fchownSync,
  fstatSync,
  fsyncSync,
  linkSync,
  mkdirSync,
  openSync,
  readSync,
  realpathSync,
  renameSync,
  rmSync,
  type Stats,
  statSync,
  type WriteStream,
  writeSync,
} from 'node:fs'
import { basename, dirname, join, resolve } from 'node:path'
import { attempt, codeOf } from './errors.ts'

const OWNER_ONLY = 0o600

/**
 * Replaces a file atomically: temporary file in the same folder, fsync, rename, fsync of the folder. Readers see the old
 * content or the new one, also after a crash. Mode and owner of an existing file are kept; links are followed.
 */
export function replaceFile(path: string, content: string | Uint8Array, newMode = OWNER_ONLY): void {
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
 * Replaces a file with one that `write` makes under another name beside it, such as by `openNewStream`: under its own
 * name, a file is always complete. Links are followed.
 */
export async function replaceByWriting<T>(path: string, write: (temporary: string) => Promise<T>): Promise<T> {
  const target = realPathOf(path)
  const temporary = toTemporary(target)
  try {
    const result = await write(temporary)
    renameSync(temporary, target)
    syncFolder(dirname(target))
    return result
  } catch (error) {
    rmSync(temporary, { force: true })
    throw error
  }
}

/**
 * Creates a file that only its owner can read. It is complete from the moment it appears. Returns `false`, and changes
 * nothing, if the file already exists.
 */
export function createFile(path: string, content: string | Uint8Array): boolean {
  const temporary = writeTemporary(path, content)
  try {
    if (!createUnlessExisting(() => linkSync(temporary, path))) return false
  } finally {
    rmSync(temporary, { force: true })
  }
  syncFolder(dirname(path))
  return true
}

/** Returns `false` if what is to be created already exists. */
function createUnlessExisting(create: () => void): boolean {
  try {
    create()
    return true
  } catch (error) {
    if (codeOf(error) === 'EEXIST') return false
    throw error
  }
}

/** Writes a temporary file in the folder of the target and syncs it to disk. */
function writeTemporary(target: string, content: string | Uint8Array, prepare: (file: number) => void = () => {}) {
  const temporary = toTemporary(target)
  const file = openNew(temporary)
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

const toTemporary = (target: string): string =>
  join(dirname(target), `.${basename(target)}.${randomBytes(6).toString('hex')}.tmp`)

const realPathOf = (path: string): string => attempt(() => realpathSync(path)) ?? path

function writeAll(file: number, bytes: Uint8Array): void {
  for (let at = 0; at < bytes.byteLength; ) at += writeSync(file, bytes, at)
}

/** Makes a rename or link durable: it is on disk only after a sync of its folder. */
export const syncFolder = (folder: string): void => withFile(openSync(folder, 'r'), fsyncSync)

/** Closes the file afterwards. */
export function withFile<T>(file: number, work: (file: number) => T): T {
  try {
    return work(file)
  } finally {
    closeSync(file)
  }
}

/**
 * Opens a file that does not exist yet. If root creates it, it belongs to the owner of its folder: a file of root in the
 * folder of another user would stop that user's server.
 */
export function openNew(path: string, mode = OWNER_ONLY): number {
  const file = openSync(path, 'wx', mode)
  giveTo(statSync(dirname(path)), file)
  return file
}

/** Opens a new file as a stream. What was written is on disk when the stream closes. */
export const openNewStream = (path: string): WriteStream => createWriteStream(path, { fd: openNew(path), flush: true })

/** Creates an empty file. Returns `false` if the file already exists: then it is not even opened. */
export const createEmptyFile = (path: string, mode?: number): boolean =>
  createUnlessExisting(() => closeSync(openNew(path, mode)))

/** Creates a folder and those above it that are missing, for their owner alone: the owner of the first that exists. */
export function createFolders(path: string): void {
  const first = mkdirSync(resolve(path), { recursive: true, mode: 0o700 })
  if (first === undefined) return
  const parent = dirname(first)
  const owner = statSync(parent)
  for (let folder = resolve(path); folder !== parent; folder = dirname(folder)) giveFolder(folder, owner)
  syncFolder(parent)
}

/** Creates a folder for this user alone. Returns `false` if it already exists. */
export function createFolderFor(uid: number, folder: string): boolean {
  if (!createUnlessExisting(() => mkdirSync(folder, { mode: 0o700 }))) return false
  giveFolder(folder, { uid, gid: SAME_GROUP })
  return true
}

const SAME_GROUP = -1

/** A link that has taken the place of the new folder is not followed. */
function giveFolder(folder: string, owner: Owner): void {
  const handle = openSync(folder, constants.O_RDONLY | constants.O_DIRECTORY | constants.O_NOFOLLOW)
  withFile(handle, () => giveTo(owner, handle))
}

type Owner = Pick<Stats, 'uid' | 'gid'>

function giveTo({ uid, gid }: Owner, handle: number): void {
  if (process.getuid?.() !== 0) return
  try {
    fchownSync(handle, uid, gid)
  } catch {
    // root without the right to change owners keeps the file
  }
}

/**
 * Reads a file whose path is configured: never blocks for long, and never reads more than a limit. Throws a system error,
 * or an error that describes the problem. It may be a pipe, as a shell makes one of `<(command)`, only if that is said.
 */
export function readBounded(path: string, maxBytes: number, mayBePipe = false) {
  // opening a pipe without a writer would block
  return withFile(openSync(path, constants.O_RDONLY | constants.O_NONBLOCK), (file) => {
    const found = fstatSync(file)
    const isPipe = found.isFIFO()
    if (!found.isFile() && !(isPipe && mayBePipe))
      throw new Error(found.isDirectory() ? 'it is a folder' : 'it is not a regular file')
    return { bytes: readWhole(file, maxBytes), mode: found.mode, isPipe }
  })
}

const CHUNK = 65_536

function readWhole(file: number, maxBytes: number): Buffer {
  const chunks: Buffer[] = []
  let size = 0
  for (;;) {
    const chunk = Buffer.alloc(CHUNK)
    const read = readPatiently(file, chunk)
    if (read === 0) return Buffer.concat(chunks)
    size += read
    if (size > maxBytes) throw new Error(`it is larger than ${maxBytes} bytes`)
    chunks.push(chunk.subarray(0, read))
  }
}

const WAIT_MS = 10
const MAX_WAITS = 1000

/** Waits for a writer that has opened the pipe and not written yet. */
function readPatiently(file: number, into: Buffer): number {
  const never = new Int32Array(new SharedArrayBuffer(4))
  for (let waits = 0; waits < MAX_WAITS; waits += 1) {
    try {
      return readSync(file, into)
    } catch (error) {
      if (codeOf(error) !== 'EAGAIN') throw error
      Atomics.wait(never, 0, 0, WAIT_MS)
    }
  }
  throw new Error('nothing came out of this pipe for ten seconds')
}
