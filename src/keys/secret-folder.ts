import { constants } from 'node:fs'
import { open, readdir, realpath, stat } from 'node:fs/promises'
import { sep } from 'node:path'
import { getSystemErrorMessage } from 'node:util'

/** A file in the folder of secrets. Paths are bytes: they are sorted as bytes, and not all are UTF-8. */
export interface SecretFile {
  readonly name: string
  readonly path: Buffer
  /** Changes whenever the file does. */
  readonly state: string
}

export interface FolderListing {
  /** In byte order of their names. */
  readonly files: readonly SecretFile[]
  readonly warnings: readonly string[]
}

const DOT = 0x2e

/** A file of the folder cannot be examined, for instance a broken link. */
export class SecretFileError extends Error {
  override readonly name = 'SecretFileError'
  readonly path: string
  constructor(path: string, cause: unknown) {
    super('a secret file cannot be examined', { cause })
    this.path = path
  }
}

/**
 * The secret files of a folder, without hidden ones (such as `..data` of a mounted secret), `.tmp` files and folders.
 * Links inside the folder are followed, as mounted secrets need; links out of it are ignored with a warning.
 */
export async function listSecretFiles(folder: string): Promise<FolderListing> {
  const root = await realpath(folder)
  const names = (await readdir(folder, { encoding: 'buffer' })).filter(isCandidate).sort(Buffer.compare)
  const found = await Promise.all(names.map((name) => examine(folder, name, root)))
  return {
    files: found.filter((entry) => typeof entry === 'object'),
    warnings: found.filter((entry) => typeof entry === 'string'),
  }
}

const isCandidate = (name: Buffer): boolean => name[0] !== DOT && !name.subarray(-4).equals(TEMPORARY)

const TEMPORARY = Buffer.from('.tmp')

async function examine(folder: string, name: Buffer, root: string): Promise<SecretFile | string | undefined> {
  const path = Buffer.concat([Buffer.from(folder + sep), name])
  const fail = (cause: unknown) => Promise.reject(new SecretFileError(path.toString(), cause))
  const target = await realpath(path, { encoding: 'buffer' }).catch(fail)
  const inside = Buffer.from(root.endsWith(sep) ? root : root + sep)
  if (!target.subarray(0, inside.length).equals(inside)) {
    return `'${path.toString()}' is a link that leads out of the folder: not read`
  }
  const state = await findFileState(target).catch(fail)
  return state === undefined ? undefined : { name: name.toString(), path: target, state }
}

/** Path, inode, size and times of a file as text; `undefined`: not a regular file. */
export async function findFileState(path: Buffer | string): Promise<string | undefined> {
  const found = await stat(path, { bigint: true })
  if (!found.isFile()) return undefined
  return [Buffer.from(path).toString('hex'), found.dev, found.ino, found.size, found.mtimeNs, found.ctimeNs].join(' ')
}

const MAX_FILE_BYTES = 65_536

/** Throws a system error, or a `RangeError` if it is not a small regular file. */
export async function loadSmallFile(path: Buffer | string): Promise<Buffer> {
  // opening a pipe without a writer would block for ever
  const file = await open(path, constants.O_RDONLY | constants.O_NONBLOCK)
  try {
    const found = await file.stat()
    if (!found.isFile()) throw new RangeError('not a regular file')
    if (found.size > MAX_FILE_BYTES) throw new RangeError(`larger than ${MAX_FILE_BYTES} bytes`)
    return await file.readFile()
  } finally {
    await file.close()
  }
}

/** The message of the operating system, without path and system call. */
export function describeFileError(error: unknown): string {
  if (error instanceof RangeError) return error.message
  const errno = error instanceof Error && 'errno' in error ? error.errno : undefined
  return typeof errno === 'number' ? getSystemErrorMessage(errno) : 'unknown error'
}
