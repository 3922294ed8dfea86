import { renderUtcTime } from '../../../base/clock.ts'
import { withGrant } from '../../../directory/grants.ts'
import {
  type Grant,
  type GrantLevel,
  type User,
  withExpiry,
  withPasswordChange,
} from '../../../directory/users/user.ts'
import type { UserReader } from '../../../directory/users/user-directory.ts'
import { describePassword } from '../../../passwords/schemes.ts'
import { FLAG, findArgument, findText, readCount, readMembers, requireArgument, requireText } from '../json.ts'
import { type Call, CURRENT_PASSWORD, type Operation, type OperationDeps, requireOwnPassword } from '../operation.ts'
import { checkManaged, requireManaged, requireManagedName, toManaged, toManagedChange } from './delegation.ts'
import { type ShownSignIn, showSignIn } from './last-sign-in.ts'
import { EXPIRES, MUST_CHANGE, readDraft, readExpiry, readGrant, readRoleChange } from './user-input.ts'
import { isSearch, search } from './user-search.ts'

export interface UserPage {
  readonly users: readonly ListedUser[]
  /** The value of `after` for the next page; absent on the last one. */
  readonly next?: string
}

export const USER_OPERATIONS = {
  'user.list': {
    method: 'GET',
    path: '/users',
    allowed: 'userAdmin',
    async run(deps, call): Promise<UserPage> {
      const { page, next } = isSearch(call.query)
        ? await search(deps, call)
        : await readPage(deps.directory, call.query)
      const locked = new Set(deps.limits.listNames())
      const signIns = await deps.directory.findLastSignIns(page.map(({ name }) => name))
      const users = page.map((user) => ({
        ...showManaged(deps, call, user),
        isLocked: locked.has(user.name),
        lastSignIn: showSignIn(signIns.get(user.name)),
      }))
      return { users, ...(next !== undefined && { next }) }
    },
  },
  'user.add': {
    method: 'POST',
    path: '/users',
    allowed: 'userAdmin',
    async run(deps, call) {
      const draft = readDraft(call.body)
      const { name, roles = [], expiresAt, multiModel } = draft
      requireManaged(deps, call, { name, roles, expiresAt, grants: multiModel?.grants ?? new Map() })
      return showUser(await deps.directory.createUser(draft, { ...(call.signal && { signal: call.signal }) }))
    },
  },
  'user.remove': {
    method: 'DELETE',
    path: '/users/{name}',
    allowed: 'userAdmin',
    async run(deps, call) {
      const name = nameOf(call)
      await requireManagedName(deps, call, name)
      await requireOwnPassword(call, name, findCurrentPassword(call))
      return { name, revision: await deps.directory.removeUser(name, 'any') }
    },
  },
  'user.set-password': {
    method: 'PUT',
    path: '/users/{name}/password',
    allowed: 'userAdmin',
    async run(deps, call) {
      const members = readMembers(call.body, ['password', MUST_CHANGE, CURRENT_PASSWORD])
      const password = requireText(members, 'password')
      const isMarked = findArgument(members, MUST_CHANGE, FLAG)
      await requireManagedName(deps, call, nameOf(call))
      await requireOwnPassword(call, nameOf(call), findText(members, CURRENT_PASSWORD))
      const before = await deps.directory.findUser(nameOf(call))
      const mark = (user: User) => (isMarked === undefined ? user : withPasswordChange(user, isMarked))
      const after = await deps.directory.changeUser(nameOf(call), toManagedChange(deps, call, mark), {
        password: { password },
        ...(call.signal && { signal: call.signal }),
        ...(isMarked !== undefined && { mustChangePassword: isMarked }),
      })
      // another password than the current one raises the session epoch
      return { ...showUser(after), passwordChanged: before?.sessionEpoch.generation !== after.sessionEpoch.generation }
    },
  },
  'user.set-password-change': {
    method: 'PUT',
    path: '/users/{name}/password-change',
    allowed: 'userAdmin',
    async run(deps, call) {
      const isRequired = requireArgument(readMembers(call.body, ['required']), 'required', FLAG)
      return changeManaged(deps, call, (user) => withPasswordChange(user, isRequired))
    },
  },
  'user.set-expiry': {
    method: 'PUT',
    path: '/users/{name}/expiry',
    allowed: 'userAdmin',
    async run(deps, call) {
      const expiresAt = readExpiry(readMembers(call.body, [EXPIRES]))
      return changeManaged(deps, call, (user) => withExpiry(user, expiresAt))
    },
  },
  'user.set-roles': {
    method: 'PUT',
    path: '/users/{name}/roles',
    allowed: 'userAdmin',
    run: (deps, call) => changeManaged(deps, call, readRoleChange(call.body)),
  },
  'user.set-grant': {
    method: 'PUT',
    path: '/users/{name}/grants',
    allowed: 'userAdmin',
    async run(deps, call) {
      const { level, ...place } = readGrant(call.body, 'The body')
      return changeManaged(deps, call, (user) => ({
        ...user,
        multiModel: { ...user.multiModel, grants: withGrant(user.multiModel.grants, level, place) },
      }))
    },
  },
  'user.set-active': {
    method: 'PUT',
    path: '/users/{name}/active',
    allowed: 'userAdmin',
    async run(deps, call) {
      const members = readMembers(call.body, ['active', CURRENT_PASSWORD])
      const isActive = requireArgument(members, 'active', FLAG)
      if (!isActive) await requireOwnPassword(call, nameOf(call), findText(members, CURRENT_PASSWORD))
      return changeManaged(deps, call, (user) => ({ ...user, isActive }))
    },
  },
  'user.sign-out': {
    method: 'POST',
    path: '/users/{name}/sign-out',
    allowed: 'userAdmin',
    async run(deps, call) {
      await requireManagedName(deps, call, nameOf(call))
      return showUser(await deps.directory.signOut(nameOf(call)))
    },
  },
} as const satisfies Record<string, Operation<unknown>>

const changeManaged = async (deps: OperationDeps, call: Call, change: (user: User) => User): Promise<ShownUser> =>
  showUser(await deps.directory.changeUser(nameOf(call), toManagedChange(deps, call, change)))

/** A user, and whether the caller may change it. */
interface ManagedUser extends ShownUser {
  readonly canEdit: boolean
}

export interface ListedUser extends ManagedUser {
  /** Whether at least one client is locked out after too many failures. */
  readonly isLocked: boolean
  readonly lastSignIn: ShownSignIn | null
}

export const showManaged = (deps: OperationDeps, call: Call, user: User): ManagedUser => ({
  ...showUser(user),
  canEdit: checkManaged(deps, call, toManaged(user)) === undefined,
})

/** For a request that may have no body. */
export const findCurrentPassword = ({ body }: Call): string | undefined =>
  body === undefined ? undefined : findText(readMembers(body, [CURRENT_PASSWORD]), CURRENT_PASSWORD)

export const nameOf = ({ params }: Call): string => params['name'] ?? ''

const MAX_PAGE = 1000

interface Page {
  readonly page: readonly User[]
  /** The name after which the next page begins. */
  readonly next: string | undefined
  /** Names of users that are left out because their records are damaged. */
  readonly damaged: readonly string[]
}

/** One page in the order of names. */
export async function readPage(directory: Pick<UserReader, 'listUsers'>, query: URLSearchParams): Promise<Page> {
  const limit = readCount(query, 'limit', MAX_PAGE)
  const after = query.get('after')
  const damaged: string[] = []
  const page = await directory.listUsers({
    limit,
    onDamaged: (name) => damaged.push(name),
    ...(after !== null && { from: { name: after, isInclusive: false } }),
  })
  return { page, next: page.length < limit ? undefined : page.at(-1)?.name, damaged }
}

/** A user in replies: nothing that could be used to sign in as that user. */
export interface ShownUser {
  readonly name: string
  readonly active: boolean
  /** From then on the user cannot sign in; absent: never. */
  readonly expires?: string
  readonly mustChangePassword?: true
  readonly roles: readonly string[]
  readonly grants: Readonly<Record<string, ShownGrant>>
  /** The scheme of the stored password, in words; `null`: there is none. */
  readonly password: string | null
  readonly revision: string
  readonly accessTokens: number
}

export interface ShownGrant {
  readonly level?: GrantLevel
  readonly collections?: Readonly<Record<string, GrantLevel>>
}

export const showUser = (user: User): ShownUser => ({
  name: user.name,
  active: user.isActive,
  ...(user.expiresAt !== undefined && { expires: renderUtcTime(user.expiresAt) }),
  ...(user.mustChangePassword && { mustChangePassword: true }),
  roles: user.document.roles,
  grants: Object.fromEntries([...user.multiModel.grants].map(([database, grant]) => [database, showGrant(grant)])),
  password: describePassword(user.password),
  revision: user.document.revision,
  accessTokens: user.multiModel.tokens.length,
})

const showGrant = ({ level, collections }: Grant): ShownGrant => ({
  ...(level && { level }),
  ...(collections.size > 0 && { collections: Object.fromEntries(collections) }),
})
