import { renderUtcTime } from '../../../base/clock.ts'
import { badRequest } from '../../../base/errors.ts'
import type { Directory } from '../../../directory/directory.ts'
import type { LastSignIn } from '../../../directory/store-port/sign-ins.ts'
import type { VerifiedAddress } from '../../../directory/users/address.ts'
import {
  FIELD_ROWS,
  type Field,
  type FieldName,
  type SetOperation,
  type UserFields,
} from '../../../directory/users/fields.ts'
import { createEmptyUser } from '../../../directory/users/revisions.ts'
import { foldCase } from '../../../directory/users/search-entries.ts'
import {
  type FieldValue,
  fillUser,
  findTotp,
  type Grant,
  readField,
  type User,
  withField,
} from '../../../directory/users/user.ts'
import { type FoundPage, matchesText, type UserQuery } from '../../../directory/users/user-search.ts'
import { describePassword, NO_PASSWORD } from '../../../passwords/schemes.ts'
import {
  CURRENT_PASSWORD,
  type ManagedCall,
  nameOf,
  type OperationDeps,
  operation,
  PROOF,
  requireOwnPassword,
} from '../operation.ts'
import { flag, listOf, object, oneOf, type Schema, type Static, text, toName } from '../schemas/schema.ts'
import {
  type GrantView,
  type LastSignInView,
  MAX_PAGE,
  NEW_GRANT,
  PAGE_QUERY,
  type PageQueryView,
  toForm,
  USER,
  USER_MEMBERS,
  USER_PAGE,
  USER_STATUSES,
  type UserView,
} from '../schemas/users.ts'
import { checkManaged, requireManaged, requireManagedName, toManager } from './delegation.ts'
import { addGrant, DRAFT, GIVEN, readGiven, readUserDraft } from './user-input.ts'

const MAX_TEXT = 256

const QUERY = object({
  'search?': text('A part of the name, or the beginning of a role. Case does not matter.'),
  'role?': text('A role. Case does not matter.'),
  'database?': text('A database that the user has a grant on, or a grant on one of its collections.'),
  'status?': oneOf(
    USER_STATUSES,
    '`idle`: no sign-in with the password for 90 days, or none at all. `second-factor`: one-time codes or a passkey.',
  ),
  ...PAGE_QUERY,
})
type SearchQuery = Static<typeof QUERY>

const ROLE_CHANGE = object({
  'roles?': listOf(text(), 'Replaces all roles.'),
  'add?': listOf(text()),
  'remove?': listOf(text()),
})

type SetPath = {
  [N in FieldName]: UserFields[N] extends { set: { path: infer P extends string } } ? P : never
}[FieldName]

type SetBody = Readonly<Record<string, unknown>> & { readonly current_password?: string }

/** One operation for each field whose row has one. */
const SET_OPERATIONS = Object.fromEntries(
  FIELD_ROWS.flatMap(([name, { type, set }]) =>
    set ? [[`user.set-${set.path}`, toSetOperation(name, type, set)]] : [],
  ),
) as Readonly<Record<`user.set-${SetPath}`, ReturnType<typeof toSetOperation>>>

function toSetOperation(name: FieldName, type: Field['type'], { path, summary, member, provenValue }: SetOperation) {
  const needsProof = provenValue !== undefined
  return operation(`PUT /users/{name}/${path}`, 'userAdmin', {
    summary,
    // the row names the member
    body: object({ [member]: toForm(GIVEN, type), ...(needsProof && CURRENT_PASSWORD) }) as Schema<SetBody>,
    reply: USER,
    async run(deps, call) {
      const { [toName(member)]: given, current_password: current } = call.body
      if (needsProof && given === provenValue) await requireOwnPassword(call, nameOf(call), current)
      // the schema and the reader of its type have checked it
      const value = readGiven(type, toName(member), given) as FieldValue<FieldName> | undefined
      return changeManaged(deps, call, (user) => withField(user, name, value))
    },
  })
}

export const USER_OPERATIONS = {
  'user.list': operation('GET /users', 'userAdmin', {
    summary: 'List users in the order of their names, or search them',
    query: QUERY,
    reply: USER_PAGE,
    async run(deps, call) {
      const { search: wanted, role, database, status } = call.query
      const { users, next, total } =
        wanted || role || database || status
          ? await search(deps, call.query)
          : await readPage(deps.directory, call.query)
      const locked = new Set(deps.limits.listNames())
      const signIns = await deps.directory.findLastSignIns(users.map(({ name }) => name))
      const shown = users.map((user) => ({
        ...showManaged(deps, call, user),
        isLocked: locked.has(user.name),
        lastSignIn: showSignIn(signIns.get(user.name)),
      }))
      return { users: shown, ...(next !== undefined && { next }), ...(total !== undefined && { total }) }
    },
  }),
  'user.add': operation('POST /users', 'userAdmin', {
    summary: 'Create a user',
    body: DRAFT,
    reply: USER,
    async run(deps, call) {
      const draft = readUserDraft(call.body)
      requireManaged(deps, call, fillUser(createEmptyUser(draft.name, NO_PASSWORD), draft))
      return showUser(await deps.directory.createUser(draft, toManager(deps, call)))
    },
  }),
  'user.remove': operation('DELETE /users/{name}', 'userAdmin', {
    summary: 'Delete a user',
    ...PROOF,
    reply: object({ name: text(), revision: text('Of the deletion.') }),
    async run(deps, call) {
      const name = nameOf(call)
      await requireManagedName(deps, call, name)
      await requireOwnPassword(call, name, call.body.current_password)
      return { name, revision: await deps.directory.removeUser(name, toManager(deps, call), 'any') }
    },
  }),
  'user.set-password': operation('PUT /users/{name}/password', 'userAdmin', {
    summary: 'Set the password of a user',
    body: object({ password: text(), 'mustChangePassword?': flag(), ...CURRENT_PASSWORD }),
    reply: object({ ...USER_MEMBERS, passwordChanged: flag('false: it was this password already.') }),
    async run(deps, call) {
      const { password, mustChangePassword: isMarked, current_password: current } = call.body
      await requireManagedName(deps, call, nameOf(call))
      await requireOwnPassword(call, nameOf(call), current)
      const before = await deps.directory.findUser(nameOf(call))
      const mark = (user: User) => (isMarked === undefined ? user : withField(user, 'mustChangePassword', isMarked))
      const after = await deps.directory.changeUser(nameOf(call), toManager(deps, call), mark, {
        password: { password },
        ...(isMarked !== undefined && { mustChangePassword: isMarked }),
      })
      // another password than the current one raises the session epoch
      return { ...showUser(after), passwordChanged: before?.sessionEpoch.generation !== after.sessionEpoch.generation }
    },
  }),
  'user.set-roles': operation('PUT /users/{name}/roles', 'userAdmin', {
    summary: 'Change the roles of a user',
    body: ROLE_CHANGE,
    reply: USER,
    run: (deps, call) => changeManaged(deps, call, (user) => withRoles(user, call.body)),
  }),
  'user.set-grant': operation('PUT /users/{name}/grants', 'userAdmin', {
    summary: 'Grant access to a database or a collection',
    body: NEW_GRANT,
    reply: USER,
    run: (deps, call) =>
      changeManaged(deps, call, (user) => withField(user, 'grants', addGrant(user.multiModel.grants, call.body))),
  }),
  ...SET_OPERATIONS,
  'user.sign-out': operation('POST /users/{name}/sign-out', 'userAdmin', {
    summary: 'End all sessions and tokens of a user',
    ...PROOF,
    reply: USER,
    async run(deps, call) {
      await requireOwnPassword(call, nameOf(call), call.body.current_password)
      await requireManagedName(deps, call, nameOf(call))
      return showUser(await deps.directory.signOut(nameOf(call), toManager(deps, call)))
    },
  }),
}

const withRoles = (user: User, { roles, add = [], remove = [] }: Static<typeof ROLE_CHANGE>): User => {
  const kept = (roles ?? user.document.roles).filter((role) => !remove.includes(role))
  return withField(user, 'roles', [...new Set([...kept, ...add])])
}

const changeManaged = async (deps: OperationDeps, call: ManagedCall, change: (user: User) => User): Promise<UserView> =>
  showUser(await deps.directory.changeUser(nameOf(call), toManager(deps, call), change))

/** The address of a user with more rights than the caller is private. */
export function showManaged(deps: OperationDeps, call: ManagedCall, user: User) {
  const canEdit = checkManaged(deps, call, user) === undefined
  const shown = canEdit ? user : withField(user, 'address', undefined)
  return { ...showUser(shown), totp: findTotp(user) !== undefined, canEdit }
}

/** `null`: none is known. */
export const showSignIn = (signIn: LastSignIn | undefined): LastSignInView | null =>
  signIn ? { at: new Date(signIn.at * 1000).toISOString(), peer: signIn.peer } : null

/** One page in the order of names. The next one begins after `next`. */
export async function readPage(directory: Directory, { limit = MAX_PAGE, after }: PageQueryView) {
  // names of users that are left out because their records are damaged
  const damaged: string[] = []
  const users = await directory.listUsers({
    limit,
    onDamaged: (name) => damaged.push(name),
    ...(after !== undefined && { from: { name: after, isInclusive: false } }),
  })
  const total = after === undefined ? await directory.countUsers() : undefined
  return { users, next: users.length < limit ? undefined : users.at(-1)?.name, total, damaged }
}

/** How the API shows the values of these types; those of others as they are. */
const SHOW: Readonly<Partial<Record<Field['type'], (value: never) => unknown>>> = {
  address: ({ text }: VerifiedAddress) => text,
  grants: (grants: User['multiModel']['grants']) =>
    Object.fromEntries([...grants].map(([database, grant]) => [database, showGrant(grant)])),
  // imports and backups may hold an empty list
  passkeys: (passkeys: readonly unknown[]) => passkeys.length || undefined,
  password: describePassword,
  time: renderUtcTime,
  tokens: (tokens: readonly unknown[]) => tokens.length,
}

export const showUser = (user: User): UserView =>
  Object.fromEntries(
    FIELD_ROWS.flatMap(([name, { type, shown }]) => {
      const value = readField(user, name)
      const show = SHOW[type]
      // the function is that of the type of the field, which the compiler cannot see
      return shown && value !== undefined ? [[toName(shown), show ? show(value as never) : value]] : []
    }),
    // the members are those of the schema, which is made of the same rows
  ) as unknown as UserView

const showGrant = ({ level, collections }: Grant): GrantView => ({
  ...(level && { level }),
  ...(collections.size > 0 && { collections: Object.fromEntries(collections) }),
})

async function search(deps: OperationDeps, query: SearchQuery): Promise<FoundPage> {
  const { status, after, limit = MAX_PAGE } = query
  const wanted = {
    text: requireShort(query, 'search'),
    ...(query.role && { role: requireShort(query, 'role') }),
    ...(query.database && { database: requireShort(query, 'database') }),
    ...(after !== undefined && { after }),
    limit,
  }
  if (status === 'locked') return listLocked(deps, wanted)
  return deps.directory.searchUsers({ ...wanted, ...(status && { status }) })
}

function requireShort(query: SearchQuery, name: 'search' | 'role' | 'database'): string {
  const text = query[name] ?? ''
  if (text.length > MAX_TEXT) throw badRequest(`${name} must have at most ${MAX_TEXT} characters.`)
  return text
}

/** Locked accounts are few, and kept in memory. */
async function listLocked({ directory, limits }: OperationDeps, wanted: UserQuery): Promise<FoundPage> {
  const { text = '', role, database, after = '', limit } = wanted
  const users: User[] = []
  for (const name of limits.listNames().toSorted()) {
    if (name <= after) continue
    const user = await directory.findUser(name)
    const roles = user ? directory.listRoles(user).map(foldCase) : []
    if (!user || !matchesText(name, roles, foldCase(text))) continue
    if (role !== undefined && !roles.includes(foldCase(role))) continue
    if (database !== undefined && !user.multiModel.grants.has(database)) continue
    users.push(user)
    if (users.length === limit) return { users, next: name }
  }
  return { users, next: undefined }
}
