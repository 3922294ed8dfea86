// Where the control socket of a server is. Its file permission is the credential: only the owner may open it.
import { createHash } from 'node:crypto'
import { lstatSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { createFolderFor } from '../base/files.ts'
import { findStoreFile } from '../store/store-url.ts'

/** Systems allow paths of 104 to 108 bytes. */
const MAX_PATH_BYTES = 100

export interface SocketSeed {
  readonly storeUrl: string
  /** The folder of the configuration: holds the socket of a server whose store is not a file. */
  readonly folder: string | undefined
}

/** The same for the server and for its commands; `undefined` where the server has neither file nor folder. */
export function findSocketPath(seed: SocketSeed): string | undefined {
  const path = findPlainPath(seed)
  if (path === undefined || Buffer.byteLength(path) <= MAX_PATH_BYTES) return path
  const name = createHash('sha256').update(path).digest('hex').slice(0, 32)
  return join(privateFolderOf(seed), `${name}.sock`)
}

function findPlainPath({ storeUrl, folder }: SocketSeed): string | undefined {
  const file = findStoreFile(storeUrl)
  if (file !== undefined) return `${file}.sock`
  const isShared = /^postgres/.test(storeUrl)
  return isShared && folder !== undefined ? join(resolve(folder), 'cardea.sock') : undefined
}

/** Named after the owner of the store, so that root finds the server of another user. */
const privateFolderOf = (seed: SocketSeed): string => join(tmpdir(), `cardea-${ownerOf(seed)}`)

function ownerOf({ storeUrl, folder }: SocketSeed): number {
  const path = findStoreFile(storeUrl) ?? folder
  const found = path === undefined ? undefined : statSync(path, { throwIfNoEntry: false })
  return found?.uid ?? process.getuid?.() ?? 0
}

/**
 * Whether no other user can have created the socket at this path. Every user may write to the temporary folder, so
 * there the socket is in a private folder of its owner, created here if missing.
 */
export function isSocketPathSafe(path: string, seed: SocketSeed): boolean {
  const folder = privateFolderOf(seed)
  if (!path.startsWith(`${folder}/`)) return true
  try {
    createFolderFor(ownerOf(seed), folder)
  } catch {
    return false
  }
  const found = lstatSync(folder)
  const isOwn = found.uid === ownerOf(seed) || found.uid === 0
  return found.isDirectory() && isOwn && (found.mode & 0o077) === 0
}
