import { constants } from 'node:fs'
import { open, readdir, realpath, stat } from 'node:fs/promises'
import { sep } from 'node:path'
import { getSystemErrorMessage } from 'node:util'

/** A name in the folder of secrets that is to be read. Names are bytes: their order is, and not all are text. */
export interface SecretFile {
  readonly name: string
  readonly path: Buffer
  /** Tells whether a later look finds the same file unchanged. */
  readonly state: string
}

export interface FolderListing {
  /** In byte order of their names. */
  readonly files: readonly SecretFile[]
  readonly warnings: readonly string[]
}

const DOT = 0x2e

/** One of the files of a folder cannot be looked at: a link that leads nowhere, perhaps. Its cause says why. */
export class SecretFileError extends Error {
  override readonly name = 'SecretFileError'
  readonly path: string
  constructor(path: string, cause: unknown) {
    super('a file of secrets cannot be looked at', { cause })
    this.path = path
  }
}

/**
 * The files of a folder that count: no hidden ones (`..data` of a mounted secret is one), none that end in `.tmp`, no
 * folders. A link is followed while it stays inside, as a mounted secret's do; one that leads out is passed over.
 */
export async function listSecretFiles(folder: string): Promise<FolderListing> {
  const root = await realpath(folder)
  const names = (await readdir(folder, { encoding: 'buffer' })).filter(isCandidate).sort(Buffer.compare)
  const found = await Promise.all(names.map((name) => lookAt(folder, name, root)))
  return {
    files: found.filter((entry) => typeof entry === 'object'),
    warnings: found.filter((entry) => typeof entry === 'string'),
  }
}

const isCandidate = (name: Buffer): boolean => name[0] !== DOT && !name.subarray(-4).equals(TEMPORARY)

const TEMPORARY = Buffer.from('.tmp')

async function lookAt(folder: string, name: Buffer, root: string): Promise<SecretFile | string | undefined> {
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

/** Where and which a file is and when it changed last, as text; `undefined` for anything but a regular file. */
export async function findFileState(path: Buffer | string): Promise<string | undefined> {
  const found = await stat(path, { bigint: true })
  if (!found.isFile()) return undefined
  return [Buffer.from(path).toString('hex'), found.dev, found.ino, found.size, found.mtimeNs, found.ctimeNs].join(' ')
}

const MAX_FILE_BYTES = 65_536

/** A small regular file as bytes. Rejects with a system error, or with a `RangeError` where it is none. */
export async function loadSmallFile(path: Buffer | string): Promise<Buffer> {
  // a pipe without a writer would keep the opening waiting for ever
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

/** The words of the operating system, without its path and call. */
export function describeFileError(error: unknown): string {
  if (error instanceof RangeError) return error.message
  const errno = error instanceof Error && 'errno' in error ? error.errno : undefined
  return typeof errno === 'number' ? getSystemErrorMessage(errno) : 'unknown error'
}
