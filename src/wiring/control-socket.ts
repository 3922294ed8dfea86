// Where a running server is spoken to by the commands of its owner: a socket whose file permission is the credential.
import { createHash } from 'node:crypto'
import { lstatSync, mkdirSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { findStoreFile } from '../store/store-url.ts'

/** Systems allow 104 to 108 bytes; the rest is left for those that count differently. */
const MAX_PATH_BYTES = 100

export interface SocketSeed {
  readonly storeUrl: string
  /** Where the configuration is: the place for a server whose store is no file. */
  readonly folder: string | undefined
}

/** The same for the server and for who looks for it; `undefined` where there is no place for one. */
export function findSocketPath(seed: SocketSeed): string | undefined {
  const place = findPlace(seed)
  if (place === undefined || Buffer.byteLength(place) <= MAX_PATH_BYTES) return place
  const name = createHash('sha256').update(place).digest('hex').slice(0, 32)
  return join(privateFolderOf(seed), `${name}.sock`)
}

function findPlace({ storeUrl, folder }: SocketSeed): string | undefined {
  const file = findStoreFile(storeUrl)
  if (file !== undefined) return `${file}.sock`
  const isShared = /^postgres/.test(storeUrl)
  return isShared && folder !== undefined ? join(resolve(folder), 'cardea.sock') : undefined
}

/** Of the owner of the store, so that another user's server is found by root too. */
const privateFolderOf = (seed: SocketSeed): string => join(tmpdir(), `cardea-${ownerOf(seed)}`)

function ownerOf({ storeUrl, folder }: SocketSeed): number {
  const place = findStoreFile(storeUrl) ?? folder
  const found = place === undefined ? undefined : statSync(place, { throwIfNoEntry: false })
  return found?.uid ?? process.getuid?.() ?? 0
}

/**
 * Whether nobody else can have put something at this path. Only the temporary folder is anybody's: there the socket
 * stands in a folder of its owner, made here where it is missing.
 */
export function isSocketPathSafe(path: string, seed: SocketSeed): boolean {
  const folder = privateFolderOf(seed)
  if (!path.startsWith(`${folder}/`)) return true
  try {
    mkdirSync(folder, { mode: 0o700 })
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && error.code === 'EEXIST')) return false
  }
  const found = lstatSync(folder)
  const isOwn = found.uid === ownerOf(seed) || found.uid === 0
  return found.isDirectory() && isOwn && (found.mode & 0o077) === 0
}
