import { Refusal } from '../base/errors.ts'
import { ACCOUNT_OPERATIONS } from '../dialects/admin-api/users/account.ts'
import { type Account, idOf } from '../directory/account.ts'
import { PROGRAM } from '../directory/caller.ts'
import type { Directory } from '../directory/directory.ts'
import type { ClientOptions } from '../modules/module.ts'
import type { App } from '../wiring/app.ts'
import { assertText, requireLimit, requireMembers } from './arguments.ts'
import { orUnknownUser, toLibraryMethods } from './cardea-error.ts'
import { createRun } from './credentials.ts'
import { createEmptyRequest, readGuess } from './requests.ts'
import { createLibrarySessions, type VerifiedUser } from './sessions.ts'
import {
  type CardeaUser,
  type NewUser,
  type OtherMembers,
  readNewUser,
  toCardeaUser,
  toChange,
  type UserChange,
} from './user-values.ts'

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
  /** Revokes all sessions and tokens of the user and removes the passkeys, unless it is the current password. */
  setPassword(name: string, password: string): Promise<void>
  /** Sets the password of a user or administrator who gives the current one. Throws `password_refused` for the new one. */
  changePassword(name: string, change: PasswordChange): Promise<ChangedPassword>
  /** Counts for the lockout. Administrators are verified too. */
  checkPassword(name: string, password: string, options?: PasswordCheckOptions): Promise<PasswordCheck>
  /** Like `checkPassword`, but `undefined` unless it is verified. Throws `account_locked` or `too_many_requests`. */
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
    create: async (user) => toCardeaUser(await app.directory.createUser(readNewUser(user), PROGRAM)),
    async find(name) {
      assertText(name, 'name')
      const user = await app.directory.findUser(name)
      return user && toCardeaUser(user)
    },
    list: (options = {}) => listUsers(app.directory, options),
    async update(name, change) {
      assertText(name, 'name')
      return toCardeaUser(await orUnknownUser(name, app.directory.changeUser(name, PROGRAM, toChange(change))))
    },
    async setPassword(name, password) {
      assertText(name, 'name')
      assertText(password, 'password')
      await orUnknownUser(name, app.directory.setPassword(name, PROGRAM, { password }))
    },
    async changePassword(name, change) {
      assertText(name, 'name')
      requireMembers(change, 'a change', ['currentPassword', 'password', ...CHECK_OPTIONS])
      const { currentPassword, password, ...options } = change
      assertText(password, 'password')
      const account = await findVerified(app, ['changePassword', name, currentPassword], options).catch(toLocked)
      if ('status' in account) return account
      await createRun(app)(ACCOUNT_OPERATIONS['account.set-password'], {
        user: account.name,
        body: () => ({ password }),
      })
      // the account before the change opens sessions that have ended
      return { status: 'changed', user: toVerified((await app.directory.findAccount(account.name)) ?? account) }
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
      assertText(name, 'name')
      await orUnknownUser(name, app.directory.setActive(name, PROGRAM, false))
    },
    async remove(name) {
      assertText(name, 'name')
      await orUnknownUser(name, app.directory.removeUser(name, PROGRAM, 'any'))
    },
  })
}

async function findVerified(
  app: App,
  [caller, name, password]: readonly [caller: string, name: string, password: unknown],
  options: PasswordCheckOptions,
): Promise<Account | RefusedPassword> {
  assertText(name, 'name')
  assertText(password, 'password')
  requireMembers(options, 'options', CHECK_OPTIONS)
  const { request, peer, code = '' } = options
  assertText(code, 'code')
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
  if (after !== undefined) assertText(after, 'after')
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
