// `/_api/database`: without an upstream, lists the databases; with one, creates a database there and its users here.
import { randomBytes } from 'node:crypto'
import { badRequest, Refusal } from '../../base/errors.ts'
import { findMember, isJsonObject, type Members } from '../../base/json.ts'
import { writeVelocyPack } from '../../base/write-velocypack.ts'
import { PROGRAM } from '../../directory/caller.ts'
import { ALL, SYSTEM_DATABASE } from '../../directory/grants.ts'
import { ANONYMOUS, hasAllRights } from '../../directory/identity.ts'
import type { Grant, UserDraft } from '../../directory/users/user.ts'
import type { UserEditor } from '../../directory/users/user-operations.ts'
import type { Reply, RequestContext, RequestHead, RequestIdentity } from '../../http/request-context.ts'
import { coversDatabase, isExempt, mayEnter, requireManager, requireOperator } from './access.ts'
import { isVelocyPack, readMembers } from './body.ts'
import type { MultiModelDeps, StandInDeps } from './deps.ts'
import { toWrappedReply } from './reply.ts'
import { MULTI_MODEL_RIGHTS, type MultiModelRoute } from './rights.ts'
import { readName, readUserInput, requireSmall } from './users/input.ts'

export const databasesRoutes = (deps: StandInDeps): readonly MultiModelRoute[] => [
  { path: '/_api/database', right: MULTI_MODEL_RIGHTS.server, methods: { GET: (context) => listAll(deps, context) } },
  { path: '/_api/database/current', right: MULTI_MODEL_RIGHTS.server, methods: { GET: showCurrent } },
  {
    path: '/_api/database/user',
    right: MULTI_MODEL_RIGHTS.server,
    methods: { GET: (context) => listOwn(deps, context) },
  },
]

/** Also here, users learn only the names of databases that they may enter. */
function listAll(deps: StandInDeps, context: RequestHead & RequestIdentity): Promise<Reply> {
  if (context.path.database !== SYSTEM_DATABASE) throw new Refusal('system_database_only')
  return listOwn(deps, context)
}

function showCurrent({ path: { database: name = SYSTEM_DATABASE } }: RequestHead): Reply {
  const isSystem = name === SYSTEM_DATABASE
  return toWrappedReply({ name, id: isSystem ? '1' : name, path: '', isSystem })
}

async function listOwn({ databases, settings }: StandInDeps, context: RequestIdentity): Promise<Reply> {
  const authenticated = context.authenticated ?? ANONYMOUS
  const names = await databases.list()
  if (isExempt(context, settings())) return toWrappedReply(names)
  return toWrappedReply(names.filter((name) => mayEnter(authenticated, name) && coversDatabase(authenticated, name)))
}

/** Longer paths count too: Cardea does not guess what the database makes of them. */
export const isDatabaseCreation = ({ method, path: { segments } }: RequestHead): boolean =>
  method === 'POST' && segments[0] === '_api' && segments[1] === 'database'

/**
 * Everything is checked before the request is forwarded, so that users are only missing when the store fails just after
 * the upstream has created the database. The upstream never learns a password: it gets the names, each with a
 * random password that is kept nowhere.
 */
export async function createDatabase(deps: MultiModelDeps, context: RequestContext): Promise<Reply> {
  if (context.path.database !== SYSTEM_DATABASE) throw new Refusal('system_database_only')
  requireOperator(context, deps.settings())
  const members = await readMembers(context)
  const database = findMember(members, 'name')
  const drafts = readUsers(members, String(database))
  if (drafts.length > 0) requireManager(context, deps.settings())
  const users = drafts.filter(({ name }) => !deps.directory.isAdministrator(name))
  await requireCreatable(deps, context, users)
  // before the database exists: afterwards its users and grants are stored in any case
  await context.confirm()
  const forwarded = toForwarded(members, users)
  const body = isVelocyPack(context) ? writeVelocyPack(forwarded) : Buffer.from(JSON.stringify(forwarded))
  const reply = await deps.upstream.forwardWhole(context, MAX_CREATION_BYTES, body)
  if (reply.status !== 201 || typeof database !== 'string') return reply
  for (const draft of users) await createOrGrant(deps.directory, draft, database)
  await grantCreator(deps, context, database)
  return reply
}

/** The response to the creation of a database is one line. */
const MAX_CREATION_BYTES = 1_048_576

const MAX_USERS = 100

function readUsers(members: Members, database: string): UserDraft[] {
  const list = findMember(members, 'users') ?? []
  if (!Array.isArray(list)) throw badRequest("'users' must be a list")
  if (list.length > MAX_USERS) throw badRequest(`'users' has more than ${MAX_USERS} entries`)
  return list.map((entry) => readUser(entry, database))
}

function readUser(entry: unknown, database: string): UserDraft {
  if (!isJsonObject(entry)) throw badRequest("an entry of 'users' must be an object")
  const name = readName(findMember(entry, 'username') ?? findMember(entry, 'user'))
  // both spellings are in use; a password that is overlooked would leave the user with an empty one
  const passwordMember = findMember(entry, 'passwd') ?? findMember(entry, 'password')
  const { passwd = '', active = true, extra = {} } = readUserInput({ ...entry, passwd: passwordMember })
  const grants = new Map([[database, WHOLE_DATABASE]])
  const multiModel = { extra: requireSmall(extra), grants }
  return { name, password: { password: passwd }, isActive: active, multiModel }
}

const WHOLE_DATABASE: Grant = { level: 'rw', collections: new Map([[ALL, 'rw']]) }

/** The rules for names and passwords, before anything is created anywhere. */
async function requireCreatable({ directory }: MultiModelDeps, context: RequestIdentity, drafts: readonly UserDraft[]) {
  if (drafts.length === 0) return
  for (const outcome of await directory.importUsers(drafts, context, 'keep', { isTrial: true }))
    if (outcome.kind === 'refused') throw outcome.error
}

function toForwarded(members: Members, users: readonly UserDraft[]): object {
  const { users: _, ...others } = members
  const known = users.map(({ name, isActive }) => ({ username: name, passwd: createPassword(), active: isActive }))
  return known.length === 0 ? others : { ...others, users: known }
}

const createPassword = (): string => randomBytes(32).toString('base64url')

/**
 * A user that exists keeps its password and data, and gets the database. A client that disconnects aborts nothing: the
 * database has been created.
 */
async function createOrGrant(directory: UserEditor, draft: UserDraft, database: string): Promise<void> {
  try {
    await directory.createUser(draft, PROGRAM)
  } catch (error) {
    if (!(error instanceof Refusal) || error.code !== 'conflict') throw error
    await grantWhole(directory, draft.name, database)
  }
}

async function grantWhole(directory: UserEditor, name: string, database: string): Promise<void> {
  await directory.setGrant(name, PROGRAM, { database }, 'rw')
  await directory.setGrant(name, PROGRAM, { database, collection: ALL }, 'rw')
}

/** As in the database, the user who creates a database may use it. */
async function grantCreator({ directory }: MultiModelDeps, context: RequestIdentity, database: string): Promise<void> {
  const { identity } = context.authenticated ?? ANONYMOUS
  if (identity.name === null || hasAllRights(identity)) return
  await grantWhole(directory, identity.name, database)
}
