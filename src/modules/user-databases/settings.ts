// The options of this module, and the names of the databases.
import { isUtf8 } from 'node:buffer'
import type { Identity } from '../../directory/identity.ts'

/** Users of vaults have it, whose database has their own name. */
export const VAULT_ROLE = 'livesync'

/** By section, under their own names. */
export interface UserDatabaseSettings {
  readonly 'user-databases': {
    readonly enabled: boolean
    readonly prefix: string
    readonly 'on-delete': 'keep' | 'remove'
    /** 0: as many as the database makes by default. */
    readonly shards: number
    /** How long a sign-in waits for the database of the user, in milliseconds. */
    readonly wait: number
  }
  readonly upstream: Readonly<Record<DatabaseDoor, readonly unknown[]>>
}

export type DatabaseDoor = 'document' | 'multi-model'

/** The name of the database server, and the longest name of a database: in CouchDB that of a file. */
export const SERVERS: Readonly<Record<DatabaseDoor, { readonly name: string; readonly maxBytes: number }>> = {
  document: { name: 'CouchDB', maxBytes: 238 },
  'multi-model': { name: 'ArangoDB', maxBytes: 64 },
}

/** The doors behind which users have databases. */
export function listDoors({ 'user-databases': { enabled }, upstream }: UserDatabaseSettings): readonly DatabaseDoor[] {
  const doors = ['document', 'multi-model'] as const
  return enabled ? doors.filter((door) => upstream[door].length > 0) : []
}

/** As CouchDB's own daemon `couch_peruser` names it, so that its databases stay those of their users. */
export const toDatabaseName = ({ 'user-databases': { prefix } }: UserDatabaseSettings, user: string): string =>
  `${prefix}${Buffer.from(user).toString('hex')}`

/** The name of the user whose database this would be; `undefined`: it cannot be one. */
export function findUserOf(
  { 'user-databases': { prefix } }: UserDatabaseSettings,
  database: string,
): string | undefined {
  const hex = database.slice(prefix.length)
  if (!database.startsWith(prefix) || !/^(?:[0-9a-f]{2})+$/.test(hex)) return undefined
  const bytes = Buffer.from(hex, 'hex')
  return isUtf8(bytes) ? bytes.toString() : undefined
}

/** The database of this user behind the document door; `undefined`: it has none. */
export function findOwnDatabase({ name, isAdmin }: Identity, settings: UserDatabaseSettings): string | undefined {
  if (name === null || isAdmin || !listDoors(settings).includes('document')) return undefined
  return toDatabaseName(settings, name)
}

/** Every request to the document door asks this, so what is cheap comes first. */
export const isOwnDatabase = (identity: Identity, database: string, settings: UserDatabaseSettings): boolean =>
  settings['user-databases'].enabled &&
  database.startsWith(settings['user-databases'].prefix) &&
  database === findOwnDatabase(identity, settings)
