import { hasAllRights, type Identity } from './identity.ts'
import { GRANT_LEVELS } from './users/fields.ts'
import type { Grant, GrantLevel } from './users/user.ts'

type Grants = ReadonlyMap<string, Grant>

/** All databases, or all collections of a database. */
export const ALL = '*'
export const SYSTEM_DATABASE = '_system'

const ORDER: readonly (GrantLevel | undefined)[] = [undefined, ...GRANT_LEVELS.toReversed()]

const highest = (levels: readonly (GrantLevel | undefined)[]): GrantLevel | undefined =>
  ORDER.findLast((level) => levels.includes(level))

const levelOf = (grants: Grants, database: string): GrantLevel | undefined => grants.get(database)?.level

/** What a grant is for: a database, or a collection of it. */
export interface GrantPlace {
  readonly database: string
  readonly collection?: string | undefined
}

/** The grants with this one set, or removed if `level` is `undefined`. */
export function withGrant(grants: Grants, level: GrantLevel | undefined, { database, collection }: GrantPlace): Grants {
  const before = grants.get(database) ?? { level: undefined, collections: new Map<string, GrantLevel>() }
  const after =
    collection === undefined
      ? { ...before, level }
      : { ...before, collections: withEntry(before.collections, collection, level) }
  const isEmpty = after.level === undefined && after.collections.size === 0
  return withEntry(grants, database, isEmpty ? undefined : after)
}

function withEntry<V>(entries: ReadonlyMap<string, V>, key: string, value: V | undefined): ReadonlyMap<string, V> {
  const copy = new Map(entries)
  if (value === undefined) copy.delete(key)
  else copy.set(key, value)
  return copy
}

/** The level on a database: its own entry, otherwise the higher of the defaults. */
export const resolveDatabaseLevel = (grants: Grants, database: string): GrantLevel =>
  levelOf(grants, database) ?? highest([levelOf(grants, ALL), levelOf(grants, SYSTEM_DATABASE)]) ?? 'none'

/** What an identity may do on a database. Administrators and superuser tokens may do everything. */
export const findLevel = (identity: Identity, database: string): GrantLevel =>
  hasAllRights(identity) ? 'rw' : resolveDatabaseLevel(identity.grants, database)

/** The level on a collection: its own entry, otherwise the highest of all more general entries. */
export function resolveCollectionLevel(grants: Grants, database: string, collection: string): GrantLevel {
  if (collection.startsWith('_')) return resolveSystemCollection(grants, database, collection)
  const own = grants.get(database)?.collections
  const general = [
    levelOf(grants, database),
    own?.get(ALL),
    levelOf(grants, SYSTEM_DATABASE),
    levelOf(grants, ALL),
    grants.get(ALL)?.collections.get(ALL),
  ]
  return own?.get(collection) ?? highest(general) ?? 'none'
}

/** System collections have the level of their database, except these. */
const SYSTEM_COLLECTIONS: ReadonlyMap<string, GrantLevel> = new Map([
  ['_queues', 'ro'],
  ['_frontend', 'rw'],
])

function resolveSystemCollection(grants: Grants, database: string, collection: string): GrantLevel {
  if (database === SYSTEM_DATABASE && collection === '_users') return 'none'
  return SYSTEM_COLLECTIONS.get(collection) ?? resolveDatabaseLevel(grants, database)
}

const rank = (level: GrantLevel): number => ORDER.indexOf(level)

/** No database or collection has this name: it shows the level of all that no grant names. */
const OTHER = '\0'

/** Whether `own` allows everything, on every database and collection, that `grants` allows. */
export function coversGrants(own: Grants, grants: Grants): boolean {
  const databases = new Set([...own.keys(), ...grants.keys(), SYSTEM_DATABASE, OTHER])
  return [...databases].every((database) => coversDatabase(own, grants, database))
}

function coversDatabase(own: Grants, grants: Grants, database: string): boolean {
  if (rank(resolveDatabaseLevel(grants, database)) > rank(resolveDatabaseLevel(own, database))) return false
  const named = [own, grants].flatMap((each) =>
    [database, ALL].flatMap((key) => [...(each.get(key)?.collections.keys() ?? [])]),
  )
  return [...new Set([...named, OTHER])].every(
    (collection) =>
      rank(resolveCollectionLevel(grants, database, collection)) <=
      rank(resolveCollectionLevel(own, database, collection)),
  )
}
