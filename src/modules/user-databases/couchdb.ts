/** The databases of users in CouchDB. What is written is what CouchDB's own daemon `couch_peruser` writes. */
import { Refusal } from '../../base/errors.ts'
import { isJsonObject, type Members } from '../../base/json.ts'
import { ADMIN_ROLE } from '../../directory/identity.ts'
import { findTextMember, requireStatus, type ServerReply } from '../reply.ts'
import { type Ask, refuse, requireNames, type UserDatabaseServer } from './server.ts'
import type { Claim } from './wishes.ts'

const SERVER = 'CouchDB'
const HOLDERS = ['admins', 'members'] as const

/** Only administrators of the server may use a database with it. */
const CLOSED: Members = { admins: { roles: [ADMIN_ROLE] }, members: { roles: [ADMIN_ROLE] } }

export const createCouchdb = (ask: Ask): UserDatabaseServer => ({
  async create(database, user, { shards, claim, onAccepted }) {
    const path = toPath(database)
    const reply = await ask(`${path}${shards === 0 ? '' : `?q=${shards}`}`, 'PUT')
    if (isNameRefused(reply)) return refuse(`CouchDB refuses its name: ${findTextMember(reply.body, 'reason')}`)
    // 412: it exists
    const { status } = requireStatus(SERVER, 'the creation of a database', reply, 201, 202, 412)
    const security = await readSecurity(ask, path)
    if (security === undefined) throw new Refusal('upstream_failed', { detail: 'the new database is not there yet' })
    if (security === 'unreadable') return refuse('the database exists, and its _security cannot be read')
    const foreign = status === 412 ? await findForeign(ask, path, security, { user, claim }) : undefined
    if (foreign !== undefined) return refuse(foreign)
    await onAccepted?.()
    const withUser = (names: readonly unknown[]) => (names.includes(user) ? names : [user, ...names])
    const isChanged = await changeSecurity(ask, path, security, withUser)
    return { state: isChanged || status !== 412 ? 'given' : 'had' }
  },
  keep: (database, user) => keepDatabase(ask, toPath(database), user),
  async remove(database, user) {
    const path = toPath(database)
    const security = await readSecurity(ask, path)
    if (security === 'unreadable') return keepDatabase(ask, path, user)
    if (security === undefined || !listNames(security).includes(user)) return undefined
    requireStatus(SERVER, 'the removal of a database', await ask(path, 'DELETE'), 200, 202, 404)
    return 'removed'
  },
  async list(prefix) {
    const found: string[] = []
    let page: readonly string[]
    do {
      const last = found.at(-1)
      const range = { start_key: last ?? prefix, end_key: `${prefix}\ufff0` }
      const query = Object.entries(range).map(([key, value]) => `${key}=${encodeURIComponent(JSON.stringify(value))}`)
      const more = `limit=${PAGE_SIZE}&skip=${last === undefined ? 0 : 1}`
      const { body } = requireStatus(SERVER, '_all_dbs', await ask(`/_all_dbs?${query.join('&')}&${more}`), 200)
      page = requireNames(SERVER, body)
      found.push(...page)
    } while (page.length === PAGE_SIZE)
    return found
  },
})

/** Each name has at most 238 characters, and a reply 1 MiB. */
const PAGE_SIZE = 1000

const toPath = (database: string): string => `/${encodeURIComponent(database)}`

async function keepDatabase(ask: Ask, path: string, user: string) {
  const security = await readSecurity(ask, path)
  if (security === undefined) return undefined
  if (security === 'unreadable') {
    // it may name the user, and then the next one of the name would be among its members
    await writeSecurity(ask, path, CLOSED)
    return 'kept'
  }
  const withoutUser = (names: readonly unknown[]) => names.filter((name) => name !== user)
  return (await changeSecurity(ask, path, withClosedMembers(security), withoutUser)) ? 'kept' : undefined
}

const REFUSED_NAMES: ReadonlySet<unknown> = new Set(['illegal_database_name', 'database_name_too_long'])

/** Not every 400: CouchDB responds so to a wrong signature, too, which an administrator can correct. */
const isNameRefused = ({ status, body }: ServerReply): boolean =>
  status === 400 && REFUSED_NAMES.has(findTextMember(body, 'error'))

/** `undefined`: there is no such database. Unreadable: too large, or not made of lists of names and roles. */
async function readSecurity(ask: Ask, path: string): Promise<Members | 'unreadable' | undefined> {
  const reply = await ask(`${path}/_security`)
  if (isNameRefused(reply) || requireStatus(SERVER, '_security', reply, 200, 404).status === 404) return undefined
  if (!isJsonObject(reply.body)) return 'unreadable'
  const security = withMembers(reply.body)
  return HOLDERS.every((holders) => isReadable(security, holders)) ? security : 'unreadable'
}

// quirk: without `members`, those whom CouchDB 1.0 called `readers` are the members
const withMembers = (security: Members): Members =>
  security['members'] === undefined ? { ...security, members: security['readers'] ?? {} } : security

function isReadable(security: Members, holders: string): boolean {
  const value = security[holders] ?? {}
  return isJsonObject(value) && ['names', 'roles'].every((list) => Array.isArray(value[list] ?? []))
}

// `readSecurity` has checked these
const holdersOf = (security: Members, holders: string) => (security[holders] ?? {}) as Members
const listOf = (security: Members, holders: string, list: 'names' | 'roles') =>
  (holdersOf(security, holders)[list] ?? []) as readonly unknown[]
const namesOf = (security: Members, holders: string) => listOf(security, holders, 'names')
const listNames = (security: Members) => HOLDERS.flatMap((holders) => namesOf(security, holders))

/** CouchDB opens a database without members to everyone. */
function withClosedMembers(security: Members): Members {
  if (listOf(security, 'members', 'roles').length > 0) return security
  return { ...security, members: { ...holdersOf(security, 'members'), roles: [ADMIN_ROLE] } }
}

/** Why an existing database is not the user's: it may hold what another user wrote. */
async function findForeign(
  ask: Ask,
  path: string,
  security: Members,
  { user, claim }: { readonly user: string; readonly claim: Claim },
): Promise<string | undefined> {
  const names = listNames(security)
  if (claim === 'any' || (claim === 'named' && names.includes(user))) return undefined
  if (names.some((name) => name !== user)) return 'the database exists, and its _security names other users'
  const roles = HOLDERS.flatMap((holders) => listOf(security, holders, 'roles'))
  if (roles.some((role) => role !== ADMIN_ROLE)) return 'the database exists, and its _security names roles'
  const { body } = requireStatus(SERVER, 'the database', await ask(path), 200)
  const isEmpty = isJsonObject(body) && body['doc_count'] === 0 && (body['doc_del_count'] ?? 0) === 0
  return isEmpty ? undefined : 'the database exists, with documents of an earlier user'
}

/** The rest of `_security` stays as it is. Returns whether there was something to change. */
async function changeSecurity(
  ask: Ask,
  path: string,
  security: Members,
  change: (names: readonly unknown[]) => readonly unknown[],
): Promise<boolean> {
  const changed = { ...security }
  for (const holders of HOLDERS) {
    const [before, after] = [namesOf(security, holders), change(namesOf(security, holders))]
    if (after.length !== before.length) changed[holders] = { ...holdersOf(security, holders), names: after }
  }
  if (HOLDERS.every((holders) => changed[holders] === security[holders])) return false
  await writeSecurity(ask, path, changed)
  return true
}

const writeSecurity = async (ask: Ask, path: string, security: Members) =>
  requireStatus(SERVER, '_security', await ask(`${path}/_security`, 'PUT', security), 200)
