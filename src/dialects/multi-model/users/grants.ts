import { Refusal } from '../../../base/errors.ts'
import { ALL, resolveCollectionLevel, resolveDatabaseLevel, SYSTEM_DATABASE } from '../../../directory/grants.ts'
import type { Grant, GrantLevel } from '../../../directory/users/user.ts'
import type { Params } from '../../../http/request-context.ts'
import { mayReadAll } from '../access.ts'
import { readMembers } from '../body.ts'
import type { MultiModelDeps, MultiModelHandler } from '../deps.ts'
import { capLevel } from '../mode.ts'
import { toDoneReply, toMergedReply, toWrappedReply } from '../reply.ts'
import { orUserNotFound, ROOT, readGrant } from './input.ts'

type Grants = ReadonlyMap<string, Grant>

/** An administrator may do everything. The system database is listed by name because clients look for it. */
const EVERYTHING: Grants = new Map(
  [ALL, SYSTEM_DATABASE].map((database) => [database, { level: 'rw', collections: new Map([[ALL, 'rw']]) }]),
)

async function findGrants({ directory }: MultiModelDeps, name: string): Promise<Grants | undefined> {
  if (directory.isAdministrator(name)) return EVERYTHING
  return (await directory.findUser(name))?.multiModel.grants
}

export const listDatabases: MultiModelHandler = async (deps, context, { user = '' }) => {
  const grants = await findGrants(deps, user)
  if (!grants) throw new Refusal('user_not_found')
  const names = await listNames(deps, grants, mayReadAll(context, deps.settings()))
  if (context.query.get('full') === 'true') return toWrappedReply(toConfigured(names, grants))
  const mode = deps.mode.get()
  const levels = names.map((name) => [name, capLevel(resolveDatabaseLevel(grants, name), mode)] as const)
  return toWrappedReply(Object.fromEntries(levels.filter(([, level]) => level !== 'none')))
}

/** Without `isComplete`, for a user who reads its own grants: the names of databases that it may enter. */
async function listNames({ databases }: MultiModelDeps, grants: Grants, isComplete: boolean) {
  const isShown = (name: string) =>
    isComplete || name === SYSTEM_DATABASE || resolveDatabaseLevel(grants, name) !== 'none'
  const names = new Set([...(await databases.list()), ...grants.keys()])
  return [...names].filter((name) => name !== ALL && isShown(name)).toSorted()
}

/** The configured levels, without the defaults that follow from them. */
function toConfigured(names: readonly string[], grants: Grants): object {
  const entries = names.map((name) => {
    const { level, collections } = grants.get(name) ?? NOTHING
    const all = collections.get(ALL) ?? 'undefined'
    const granted = Object.fromEntries([...collections, [ALL, all]])
    return [name, { permission: level ?? 'undefined', collections: granted }] as const
  })
  return Object.fromEntries([...entries, [ALL, { permission: grants.get(ALL)?.level ?? 'none' }]])
}

const NOTHING: Grant = { level: undefined, collections: new Map() }

export const getLevel: MultiModelHandler = async (deps, context, { user = '', database = '', collection }) => {
  // quirk: reference multi-model 7.2: neither the user nor the database has to exist
  const grants = (await findGrants(deps, user)) ?? new Map()
  const level =
    collection === undefined
      ? resolveDatabaseLevel(grants, database)
      : await findCollectionLevel(deps, grants, database, collection)
  const isConfigured = context.query.get('configured') === 'true'
  return toWrappedReply(isConfigured ? level : capLevel(level, deps.mode.get()))
}

/** `none` in a database that does not exist, whatever level the system database gives. */
async function findCollectionLevel(
  { databases }: MultiModelDeps,
  grants: Grants,
  database: string,
  collection: string,
): Promise<GrantLevel> {
  if (database !== ALL && !(await databases.exists(database))) return 'none'
  return resolveCollectionLevel(grants, database, collection)
}

export const setLevel: MultiModelHandler = async (deps, context, params) => {
  const { user = '', database = '', collection } = params
  const level = readGrant(await readMembers(context))
  requireRootAccess(params, level)
  if (collection !== undefined) await requireDatabase(deps, database)
  await orUserNotFound(deps.directory.setGrant(user, context, { database, collection }, level))
  const place = collection === undefined ? database : `${database}/${collection}`
  return toMergedReply(200, Object.fromEntries([[place, level]]))
}

export const clearLevel: MultiModelHandler = async (deps, context, params) => {
  const { user = '', database = '', collection } = params
  requireRootAccess(params, undefined)
  if (collection !== undefined) await requireDatabase(deps, database)
  await orUserNotFound(deps.directory.setGrant(user, context, { database, collection }, undefined))
  return toDoneReply(202)
}

/** A collection can be granted only in a database that exists; a database can be granted before it exists. */
async function requireDatabase({ databases }: MultiModelDeps, database: string): Promise<void> {
  if (database !== ALL && !(await databases.exists(database))) throw new Refusal('database_not_found')
}

// quirk: reference multi-model 7.2
function requireRootAccess({ user, database, collection }: Params, level: GrantLevel | undefined): void {
  const isSystem = database === SYSTEM_DATABASE && collection === undefined
  if (user !== ROOT || !isSystem || level === 'rw') return
  throw new Refusal('forbidden', { reason: "Cannot lower access level of 'root' to _system" })
}
