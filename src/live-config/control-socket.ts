// The control socket of a server. Its file permission is the credential: only the owner may open it.
import { createHash } from 'node:crypto'
import { existsSync, lstatSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { messageOf } from '../base/errors.ts'
import { createFolderFor } from '../base/files.ts'
import type { Log } from '../base/log.ts'
import { keepRepeating } from '../base/sleep.ts'
import type { Door } from '../http/door.ts'
import { type Listener, type ListenerLimits, listen } from '../http/server.ts'
import { findStoreFile } from '../store/store-url.ts'

/** Systems allow paths of 104 to 108 bytes. */
const MAX_PATH_BYTES = 100

export interface SocketSeed {
  readonly storeUrl: string
  /** The folder of the configuration: holds the socket of a server whose store is not a file. */
  readonly folder: string | undefined
}

/** The server and its commands find one path; `undefined` where the server has neither file nor folder. */
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

const OWNER_ONLY = 0o600

/** A server without the socket still works, but its commands need `--url`: so a failure is only logged. */
export async function openControlSocket(
  seed: SocketSeed,
  createDoor: () => Door,
  limits: ListenerLimits,
  log: Log,
): Promise<Listener | undefined> {
  const path = findSocketPath(seed)
  if (path === undefined) return undefined
  const open = async () => {
    if (!isSocketPathSafe(path, seed)) throw new Error('its folder is not private to the owner')
    return listen(createDoor(), { kind: 'unix', path, mode: OWNER_ONLY }, limits)
  }
  const onFailure = (error: unknown): undefined => {
    log.warn('no control socket: commands need --url', { path, reason: messageOf(error) })
  }
  const first = await open().catch(onFailure)
  return first && keepOpen(path, first, open, onFailure)
}

const LOOK_MS = 1000

/** Opens the socket again if its file is removed: without it commands would find no server, and open the store. */
function keepOpen(
  path: string,
  first: Listener,
  open: () => Promise<Listener>,
  onFailure: (error: unknown) => undefined,
): Listener {
  let current: Listener | undefined = first
  let hasFailed = false
  const stop = keepRepeating(async () => {
    if (current && existsSync(path)) hasFailed = false
    else if (current) {
      // before another is opened: closing removes the file of that path. All siblings close it before one opens another,
      // otherwise they would share the lost one
      void current.close(LOOK_MS)
      current = undefined
    } else {
      current = await open().catch((error) => (hasFailed ? undefined : onFailure(error)))
      hasFailed = !current
    }
    return LOOK_MS
  })
  return {
    ...first,
    async retire() {
      await stop()
      await current?.retire()
    },
    async close(graceMs) {
      await stop()
      await current?.close(graceMs)
    },
  }
}
