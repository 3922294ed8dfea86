/** Which engine saves and restores a store, by its URL. An engine is loaded only when it is used. */
import type { Setting } from '../../directory/store-port/settings.ts'
import type { StoreTime } from '../../directory/store-port/time.ts'
import { MIGRATIONS, NEWEST_SCHEMA, pendingMigrations, TIME_SCHEMA } from '../migrations.ts'
import { readSetting } from '../operations/settings.ts'
import { readTime } from '../operations/time.ts'
import { MEMORY, readStoreUrl, type StoreScheme } from '../store-url.ts'
import { BackupError } from './format.ts'
import { type BackupDatabase, type BackupEngine, findSchema, readSnapshot, type StoreSnapshot } from './snapshot.ts'

const ENGINES: Readonly<Record<StoreScheme, () => Promise<BackupEngine>>> = {
  sqlite: async () => (await import('../sqlite/backup.ts')).SQLITE_BACKUP,
  postgres: async () => (await import('../postgres/backup.ts')).POSTGRES_BACKUP,
}

/** Throws a `BackupError` if there is none. */
export async function findEngine(url: string): Promise<BackupEngine> {
  const read = readStoreUrl(url)
  if (!read) throw new BackupError('The address of the store begins with sqlite: or postgres://')
  if (read.scheme === 'sqlite' && read.path === MEMORY)
    throw new BackupError('A store in memory ends with its process. Set store.url to a file or a PostgreSQL server.')
  return ENGINES[read.scheme]()
}

/** Opens a store to read it. A schema of an older version is not migrated. */
export async function openSnapshot(url: string): Promise<StoreSnapshot> {
  const database = await (await findEngine(url)).openForReading(url)
  try {
    const snapshot = await readSnapshot(database)
    requireKnown(snapshot.schema)
    return snapshot
  } catch (error) {
    await database.close()
    throw error
  }
}

/** Reads a store, and closes it. */
export async function readStore<T>(url: string, work: (snapshot: StoreSnapshot) => Promise<T>): Promise<T> {
  const snapshot = await openSnapshot(url)
  return work(snapshot).finally(() => snapshot.close())
}

/** Whether there is a store: there is none before the first start. */
export const hasStore = async (url: string): Promise<boolean> => (await read(url, findSchema)) !== undefined

const SETTINGS = `SELECT section, key, value, changed_at, sequence FROM cardea_settings
  WHERE value IS NOT NULL OR section = 'admins' ORDER BY section, key`

/**
 * The settings in a store that a server may be using. It is only read: opened for writing, SQLite would write the
 * server's write-ahead log into a file that was put in the place of the server's.
 */
export const loadStoredSettings = (url: string): Promise<readonly Setting[]> =>
  read(url, async (database) => {
    const schema = await findSchema(database)
    if (schema === undefined) return []
    pendingMigrations(schema, MIGRATIONS)
    return (await database.ask(SETTINGS)).map(readSetting)
  })

/** The time of a store that a server may be using; `undefined`: the store does not know it yet. */
export const loadStoredTime = (url: string): Promise<StoreTime | undefined> =>
  read(url, async (database) => {
    const schema = (await findSchema(database)) ?? 0
    if (schema < TIME_SCHEMA) return undefined
    return readTime((await database.ask((await findEngine(url)).readTime))[0])
  })

async function read<T>(url: string, work: (database: BackupDatabase) => Promise<T>): Promise<T> {
  const database = await (await findEngine(url)).openForReading(url)
  return work(database).finally(() => database.close())
}

function requireKnown(schema: number): void {
  if (schema <= NEWEST_SCHEMA) return
  throw new BackupError(
    `The store has schema ${schema}, written by a newer Cardea; this one knows schema ${NEWEST_SCHEMA}. Make the backup with the newer version.`,
  )
}
