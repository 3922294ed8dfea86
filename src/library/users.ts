import type { IncomingMessage } from 'node:http'
import type { Account } from '../directory/account.ts'
import type { Directory } from '../directory/directory.ts'
import { withGrant } from '../directory/grants.ts'
import type { Grant, GrantLevel, User, UserDraft } from '../directory/users/user.ts'
import { checkFlag, checkGrants, checkTexts, requireLimit, requireMembers, requireText } from './arguments.ts'
import { withCardeaErrors } from './cardea-error.ts'

/** Rights at the multi-model door, by database; `*` is the default for all. */
export type Grants = Readonly<Record<string, GrantLevel>>

export interface CardeaUser {
  readonly name: string
  readonly isActive: boolean
  readonly roles: readonly string[]
  readonly grants: Grants
}

export interface NewUser {
  readonly name: string
  /** `null`: the user cannot sign in with a password. */
  readonly password: string | null
  readonly roles?: readonly string[]
  readonly grants?: Grants
  /** `true` by default. */
  readonly isActive?: boolean
}

/** Members that are left out stay as they are. */
export interface UserChange {
  /** Replaces all roles. */
  readonly roles?: readonly string[]
  /** Replaces the levels of these databases; `null` removes one. */
  readonly grants?: Readonly<Record<string, GrantLevel | null>>
  readonly isActive?: boolean
}

export interface UserListOptions {
  /** The `next` of the previous page. */
  readonly after?: string
  /** 1 to 1000; 100 by default. */
  readonly limit?: number
}

export interface UserPage {
  readonly users: readonly CardeaUser[]
  /** The next page begins after it; absent on the last page. */
  readonly next?: string
}

export interface PasswordCheckOptions {
  /** The request that brought the password. Failed attempts count for the address of its client. */
  readonly request?: IncomingMessage | Request
  /** The address of the client. Required if the request is a web `Request`. */
  readonly peer?: string
  /** The one-time code of a user with a second factor. */
  readonly code?: string
}

/** A user whose password was right. `cardea.sessions.create` takes it as proof of that. */
export interface VerifiedUser {
  readonly name: string
  readonly roles: readonly string[]
  readonly isAdmin: boolean
}

/** The users of the directory. Every method throws a `CardeaError` for an expected failure. */
export interface Users {
  /** Throws `conflict` if the name is taken, `password_refused` if the password breaks a rule. */
  create(user: NewUser): Promise<CardeaUser>
  find(name: string): Promise<CardeaUser | undefined>
  /** One page in the order of names. */
  list(options?: UserListOptions): Promise<UserPage>
  /** Throws `not_found` for an unknown name, like the methods below. */
  update(name: string, change: UserChange): Promise<CardeaUser>
  /** Revokes all sessions and tokens of the user, unless it is the current password. */
  setPassword(name: string, password: string): Promise<void>
  /**
   * `undefined`: wrong name, password or code. Counts for the lockout, and throws `account_locked` or
   * `too_many_requests` where it is reached. Administrators are verified too.
   */
  verifyPassword(name: string, password: string, options?: PasswordCheckOptions): Promise<VerifiedUser | undefined>
  /** The user cannot sign in any more; its sessions and tokens are revoked. `update` with `isActive` enables it again. */
  disable(name: string): Promise<void>
  remove(name: string): Promise<void>
}

type Verify = (
  credentials: { name: string; password: string } & PasswordCheckOptions,
) => Promise<VerifiedUser | undefined>

const DEFAULT_LIMIT = 100

export function createUsers(directory: Directory, verify: Verify): Users {
  return {
    create: (user) => withCardeaErrors(async () => toCardeaUser(await directory.createUser(toDraft(user)))),
    find: (name) =>
      withName(name, async () => {
        const user = await directory.findUser(name)
        return user && toCardeaUser(user)
      }),
    list: (options = {}) => withCardeaErrors(() => listUsers(directory, options)),
    update: (name, change) =>
      withName(name, async () => toCardeaUser(await directory.changeUser(name, toChange(change)))),
    setPassword: (name, password) =>
      withName(name, async () => {
        requireText(password, 'password')
        await directory.setPassword(name, { password })
      }),
    verifyPassword: (name, password, options = {}) =>
      withName(name, async () => {
        requireText(password, 'password')
        requireMembers(options, 'options', ['request', 'peer', 'code'])
        if (options.code !== undefined) requireText(options.code, 'code')
        return verify({ ...options, name, password })
      }),
    disable: (name) => withName(name, async () => void (await directory.setActive(name, false))),
    remove: (name) => withName(name, async () => void (await directory.removeUser(name, 'any'))),
  }
}

const withName = <T>(name: unknown, work: () => Promise<T>): Promise<T> =>
  withCardeaErrors(async () => {
    requireText(name, 'name')
    return work()
  })

async function listUsers(directory: Directory, options: UserListOptions): Promise<UserPage> {
  requireMembers(options, 'options', ['after', 'limit'])
  const { after, limit = DEFAULT_LIMIT } = options
  if (after !== undefined) requireText(after, 'after')
  requireLimit(limit)
  const page = await directory.listUsers({
    limit,
    ...(after !== undefined && { from: { name: after, isInclusive: false } }),
  })
  const last = page.at(-1)
  return { users: page.map(toCardeaUser), ...(page.length === limit && last && { next: last.name }) }
}

const toCardeaUser = ({ name, isActive, document, multiModel }: User): CardeaUser => ({
  name,
  isActive,
  roles: [...document.roles],
  grants: Object.fromEntries(
    [...multiModel.grants].flatMap(([database, { level }]) => (level ? [[database, level]] : [])),
  ),
})

export const toVerifiedUser = ({ name, roles, isAdmin }: Account): VerifiedUser => ({
  name,
  roles: [...roles],
  isAdmin,
})

function toDraft(user: NewUser): UserDraft {
  requireMembers(user, 'a user', ['name', 'password', 'roles', 'grants', 'isActive'])
  const { name, password, roles, grants, isActive } = user
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
    multiModel: { grants: withGrants(new Map(), grants) },
  }
}

function toChange(change: UserChange): (user: User) => User {
  requireMembers(change, 'a change', ['roles', 'grants', 'isActive'])
  const { roles, grants, isActive } = change
  checkTexts(roles, 'roles')
  checkFlag(isActive, 'isActive')
  checkGrants(grants)
  return (user) => ({
    ...user,
    isActive: isActive ?? user.isActive,
    document: { ...user.document, roles: roles ?? user.document.roles },
    multiModel: { ...user.multiModel, grants: withGrants(user.multiModel.grants, grants) },
  })
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
