import { badRequest, Refusal } from '../base/errors.ts'
import { isJsonObject } from '../base/json.ts'
import { ACCOUNT_OPERATIONS } from '../dialects/admin-api/users/account.ts'
import { type Account, idOf } from '../directory/account.ts'
import type { Directory } from '../directory/directory.ts'
import { withGrant } from '../directory/grants.ts'
import {
  type Grant,
  type GrantLevel,
  type Json,
  TOTP_MEMBER,
  type User,
  type UserDraft,
} from '../directory/users/user.ts'
import { ANY_USER } from '../directory/users/user-operations.ts'
import { readDocumentMembers } from '../transfer/draft.ts'
import type { App } from '../wiring/app.ts'
import { checkFlag, checkGrants, checkTexts, requireLimit, requireMembers, requireText } from './arguments.ts'
import { toLibraryMethods } from './cardea-error.ts'
import { createRun } from './credentials.ts'
import { type ClientOptions, createEmptyRequest, readGuess } from './requests.ts'
import { createLibrarySessions, type VerifiedUser } from './sessions.ts'

/** Rights at the multi-model door, by database; `*` is the default for all. */
export type Grants = Readonly<Record<string, GrantLevel>>

/** Those of a user whose type the program has not given. */
export type OtherMembers = Readonly<Record<string, unknown>>

export interface CardeaUser<Members extends object = OtherMembers> {
  /** Never changes, and no later user of the name has it. */
  readonly id: string
  readonly name: string
  readonly isActive: boolean
  readonly roles: readonly string[]
  readonly grants: Grants
  /** The other members of the user document. Users can change their own at the document door. */
  readonly members: Members
}

export interface NewUser<Members extends object = OtherMembers> {
  readonly name: string
  /** `null`: the user cannot sign in with a password. */
  readonly password: string | null
  readonly roles?: readonly string[]
  readonly grants?: Grants
  /** `true` by default. */
  readonly isActive?: boolean
  readonly members?: Members
}

/** Members that are left out stay as they are. */
export interface UserChange<Members extends object = OtherMembers> {
  /** Replaces all roles. */
  readonly roles?: readonly string[]
  /** Replaces the levels of these databases; `null` removes one. */
  readonly grants?: Readonly<Record<string, GrantLevel | null>>
  readonly isActive?: boolean
  /** Replaces these members; `null` removes one. */
  readonly members?: { readonly [M in keyof Members]?: Members[M] | null }
}

export interface UserListOptions {
  /** The `next` of the previous page. */
  readonly after?: string
  /** 1 to 1000; 100 by default. */
  readonly limit?: number
}

export interface UserPage<Members extends object = OtherMembers> {
  readonly users: readonly CardeaUser<Members>[]
  /** The next page begins after it; absent on the last page. */
  readonly next?: string
}

export interface PasswordCheckOptions extends ClientOptions {
  /** The one-time code of a user with a second factor. */
  readonly code?: string
}

/**
 * `wrong_password`: the name, the password or the code is wrong. `code_required`: ask for the one-time code. `locked`:
 * too many attempts; the next one is possible after `retryAfter` seconds.
 */
type RefusedPassword =
  | { readonly status: 'wrong_password' | 'code_required' }
  | { readonly status: 'locked'; readonly retryAfter: number }

export type PasswordCheck = { readonly status: 'verified'; readonly user: VerifiedUser } | RefusedPassword
/** All sessions of the user have ended: open another one for `user`. */
export type ChangedPassword = { readonly status: 'changed'; readonly user: VerifiedUser } | RefusedPassword

export interface PasswordChange extends PasswordCheckOptions {
  readonly currentPassword: string
  readonly password: string
}

/** The users of the directory. Every method throws a `CardeaError` for an expected failure. */
export interface Users<Members extends object = OtherMembers> {
  /** Throws `conflict` if the name is taken, `password_refused` if the password breaks a rule. */
  create(user: NewUser<Members>): Promise<CardeaUser<Members>>
  find(name: string): Promise<CardeaUser<Members> | undefined>
  /** One page in the order of names. */
  list(options?: UserListOptions): Promise<UserPage<Members>>
  /** Throws `not_found` for an unknown name, like the methods below. */
  update(name: string, change: UserChange<Members>): Promise<CardeaUser<Members>>
  /** Revokes all sessions and tokens of the user, unless it is the current password. */
  setPassword(name: string, password: string): Promise<void>
  /** The same for a user or administrator who gives the current password. Throws `password_refused` for the new one. */
  changePassword(name: string, change: PasswordChange): Promise<ChangedPassword>
  /** Counts for the lockout. Administrators are verified too. */
  checkPassword(name: string, password: string, options?: PasswordCheckOptions): Promise<PasswordCheck>
  /** The same without the reason: `undefined` unless it is verified. Throws `account_locked` or `too_many_requests`. */
  verifyPassword(name: string, password: string, options?: PasswordCheckOptions): Promise<VerifiedUser | undefined>
  /** The user cannot sign in any more; its sessions and tokens are revoked. `update` with `isActive` enables it again. */
  disable(name: string): Promise<void>
  remove(name: string): Promise<void>
}

const DEFAULT_LIMIT = 100
const CHECK_OPTIONS = ['request', 'peer', 'code']

/** Users and sessions for routes of the program itself. */
export function createUsersAndSessions<Members extends object>(app: App) {
  const verified = new WeakMap<VerifiedUser, Account>()
  const toVerified = (account: Account): VerifiedUser => {
    const { name, roles, isAdmin } = account
    const user = { id: idOf(account), name, roles: [...roles], isAdmin }
    verified.set(user, account)
    return user
  }
  return { users: createUsers<Members>(app, toVerified), sessions: createLibrarySessions(app, verified) }
}

/** `toVerified`: the user as the proof of a right password. */
function createUsers<Members extends object>(app: App, toVerified: (account: Account) => VerifiedUser): Users<Members> {
  return toLibraryMethods<Users<Members>>({
    create: async (user) => toCardeaUser(await app.directory.createUser(toDraft(user))),
    async find(name) {
      requireText(name, 'name')
      const user = await app.directory.findUser(name)
      return user && toCardeaUser(user)
    },
    list: (options = {}) => listUsers(app.directory, options),
    async update(name, change) {
      requireText(name, 'name')
      return toCardeaUser(await app.directory.changeUser(name, ANY_USER, toChange(change)))
    },
    async setPassword(name, password) {
      requireText(name, 'name')
      requireText(password, 'password')
      await app.directory.setPassword(name, ANY_USER, { password })
    },
    async changePassword(name, change) {
      requireText(name, 'name')
      requireMembers(change, 'a change', ['currentPassword', 'password', ...CHECK_OPTIONS])
      const { currentPassword, password, ...options } = change
      requireText(password, 'password')
      const account = await findVerified(app, ['changePassword', name, currentPassword], options).catch(toLocked)
      if ('status' in account) return account
      await createRun(app)(ACCOUNT_OPERATIONS['account.set-password'], { user: name, body: () => ({ password }) })
      // the account before the change opens sessions that have ended
      return { status: 'changed', user: toVerified((await app.directory.findAccount(name)) ?? account) }
    },
    async checkPassword(name, password, options = {}) {
      const account = await findVerified(app, ['checkPassword', name, password], options).catch(toLocked)
      return 'status' in account ? account : { status: 'verified', user: toVerified(account) }
    },
    async verifyPassword(name, password, options = {}) {
      const account = await findVerified(app, ['verifyPassword', name, password], options)
      return 'status' in account ? undefined : toVerified(account)
    },
    async disable(name) {
      requireText(name, 'name')
      await app.directory.setActive(name, ANY_USER, false)
    },
    async remove(name) {
      requireText(name, 'name')
      await app.directory.removeUser(name, ANY_USER, 'any')
    },
  })
}

async function findVerified(
  app: App,
  [caller, name, password]: readonly [caller: string, name: string, password: unknown],
  options: PasswordCheckOptions,
): Promise<Account | RefusedPassword> {
  requireText(name, 'name')
  requireText(password, 'password')
  requireMembers(options, 'options', CHECK_OPTIONS)
  const { request, peer, code = '' } = options
  requireText(code, 'code')
  const incoming = request ? readGuess(request, caller, peer) : createEmptyRequest()
  const checked = await app.runFor(incoming, (context) => app.signIn.check({ name, password, code }, context))
  if (typeof checked !== 'string') return checked
  return { status: checked === 'code_required' ? checked : 'wrong_password' }
}

function toLocked(error: unknown): RefusedPassword {
  const isLimit = error instanceof Refusal && ['account_locked', 'too_many_requests'].includes(error.code)
  if (!isLimit) throw error
  return { status: 'locked', retryAfter: error.retryAfterSeconds ?? 0 }
}

async function listUsers<Members extends object>(
  directory: Directory,
  options: UserListOptions,
): Promise<UserPage<Members>> {
  requireMembers(options, 'options', ['after', 'limit'])
  const { after, limit = DEFAULT_LIMIT } = options
  if (after !== undefined) requireText(after, 'after')
  requireLimit(limit)
  const page = await directory.listUsers({
    limit,
    ...(after !== undefined && { from: { name: after, isInclusive: false } }),
  })
  const last = page.at(-1)
  return {
    users: page.map((user) => toCardeaUser<Members>(user)),
    ...(page.length === limit && last && { next: last.name }),
  }
}

function toCardeaUser<Members extends object>(user: User): CardeaUser<Members> {
  const { name, isActive, document, multiModel } = user
  const grants = [...multiModel.grants].flatMap(([database, { level }]) => (level ? [[database, level] as const] : []))
  return {
    id: idOf(user),
    name,
    isActive,
    roles: [...document.roles],
    grants: Object.fromEntries(grants),
    // the program knows what it has stored
    members: Object.fromEntries(document.members.filter(([member]) => member !== TOTP_MEMBER)) as Members,
  }
}

function toDraft(user: NewUser<object>): UserDraft {
  requireMembers(user, 'a user', ['name', 'password', 'roles', 'grants', 'isActive', 'members'])
  const { name, password, roles, grants, isActive, members } = user
  requireText(name, 'name')
  // required, so that a request without one does not take the name
  if (password !== null) requireText(password, 'password')
  checkTexts(roles, 'roles')
  checkFlag(isActive, 'isActive')
  checkGrants(grants)
  return {
    name,
    ...(password !== null && { password: { password } }),
    ...(roles && { roles }),
    ...(isActive !== undefined && { isActive }),
    members: withMembers([], members),
    multiModel: { grants: withGrants(new Map(), grants) },
  }
}

function toChange(change: UserChange<object>): (user: User) => User {
  requireMembers(change, 'a change', ['roles', 'grants', 'isActive', 'members'])
  const { roles, grants, isActive, members } = change
  checkTexts(roles, 'roles')
  checkFlag(isActive, 'isActive')
  checkGrants(grants)
  return (user) => ({
    ...user,
    isActive: isActive ?? user.isActive,
    document: {
      ...user.document,
      roles: roles ?? user.document.roles,
      members: withMembers(user.document.members, members),
    },
    multiModel: { ...user.multiModel, grants: withGrants(user.multiModel.grants, grants) },
  })
}

type Member = readonly [name: string, value: Json]

/** The second factor is a member of the document too, which only its own operations change. */
function withMembers(before: readonly Member[], given: object = {}): readonly Member[] {
  if (!isJsonObject(given) || TOTP_MEMBER in given) throw badRequest('members must be an object, without totp.')
  // also leaves out what JSON does not have
  const members = readDocumentMembers(Object.entries(JSON.parse(JSON.stringify(given))))
  const kept = before.filter(([name]) => !Object.hasOwn(given, name))
  return [...kept, ...members.filter(([, value]) => value !== null)]
}

function withGrants(
  before: ReadonlyMap<string, Grant>,
  grants: Readonly<Record<string, GrantLevel | null>> | undefined,
): ReadonlyMap<string, Grant> {
  let after = before
  for (const [database, level] of Object.entries(grants ?? {})) {
    after = withGrant(after, level ?? undefined, { database, collection: undefined })
  }
  return after
}
