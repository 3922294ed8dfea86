/** Which engine saves and restores a store, by its URL. An engine is loaded only when it is used. */
import { existsSync } from 'node:fs'
import { MIGRATIONS } from '../migrations.ts'
import { findStoreFile, MEMORY, readStoreUrl, type StoreScheme } from '../store-url.ts'
import { BackupError } from './backup-error.ts'
import type { OpenSnapshot } from './content.ts'
import type { OpenTarget } from './restore-target.ts'

interface BackupEngine {
  openSnapshot(url: string): Promise<OpenSnapshot>
  readonly openTarget: OpenTarget
}

const ENGINES: Readonly<Record<StoreScheme, () => Promise<BackupEngine>>> = {
  sqlite: async () => {
    const { openSqliteSnapshot } = await import('../sqlite/snapshot.ts')
    const { openSqliteTarget } = await import('../sqlite/restore-target.ts')
    return { openSnapshot: async (url) => openSqliteSnapshot(requireFile(url)), openTarget: openSqliteTarget }
  },
  postgres: async () => {
    const { openPostgresSnapshot } = await import('../postgres/snapshot.ts')
    const { openPostgresTarget } = await import('../postgres/restore-target.ts')
    return { openSnapshot: openPostgresSnapshot, openTarget: openPostgresTarget }
  },
}

async function findEngine(url: string): Promise<BackupEngine> {
  const read = readStoreUrl(url)
  if (!read) throw new BackupError('The address of the store begins with sqlite: or postgres://')
  if (read.scheme === 'sqlite' && read.path === MEMORY)
    throw new BackupError('A store in memory ends with its process. Set store.url to a file or a PostgreSQL server.')
  return ENGINES[read.scheme]()
}

function requireFile(url: string): string {
  const file = findStoreFile(url) ?? ''
  if (existsSync(file)) return file
  throw new BackupError(
    `There is no store at ${file}. Name the configuration of the server with --config. The first start creates the store.`,
  )
}

/**
 * Opens a consistent view of a store, which a server may be using. The store is only read: a schema of an older version
 * is not migrated.
 */
export async function openSnapshot(url: string): Promise<OpenSnapshot> {
  const snapshot = await (await findEngine(url)).openSnapshot(url)
  const newest = MIGRATIONS.at(-1)?.number ?? 0
  if (snapshot.schema <= newest) return snapshot
  await snapshot.close()
  throw new BackupError(
    `The store has schema ${snapshot.schema}, written by a newer Cardea; this one knows schema ${newest}. Make the backup with the newer version.`,
  )
}

export const openTarget: OpenTarget = async (url, options) => (await findEngine(url)).openTarget(url, options)
