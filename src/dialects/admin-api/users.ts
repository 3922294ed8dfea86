import type { UserReader } from '../../directory/directory.ts'
import { type Grant, type GrantLevel, type User, withExpiry, withPasswordChange } from '../../directory/user.ts'
import { describePassword } from '../../passwords/schemes.ts'
import { FLAG, findArgument, findText, readCount, readMembers, requireArgument, requireText } from './json.ts'
import { type Call, CURRENT_PASSWORD, type Operation, requireOwnPassword } from './operation.ts'
import { EXPIRES, MUST_CHANGE, readDraft, readExpiry, readGrant, readRoleChange, renderExpiry } from './user-input.ts'

export interface UserPage {
  readonly users: readonly ShownUser[]
  /** The value of `after` for the next page; absent on the last one. */
  readonly next?: string
}

export const USER_OPERATIONS = {
  'user.list': {
    method: 'GET',
    path: '/users',
    async run({ directory }, { query }): Promise<UserPage> {
      const { page, next } = await readPage(directory, query)
      return { users: page.map(showUser), ...(next !== undefined && { next }) }
    },
  },
  'user.add': {
    method: 'POST',
    path: '/users',
    run: async ({ directory }, { body, signal }) =>
      showUser(await directory.createUser(readDraft(body), { ...(signal && { signal }) })),
  },
  'user.remove': {
    method: 'DELETE',
    path: '/users/{name}',
    async run({ directory }, call) {
      const name = nameOf(call)
      await requireOwnPassword(call, name, findCurrentPassword(call))
      return { name, revision: await directory.removeUser(name, 'any') }
    },
  },
  'user.set-password': {
    method: 'PUT',
    path: '/users/{name}/password',
    async run({ directory }, call) {
      const members = readMembers(call.body, ['password', MUST_CHANGE, CURRENT_PASSWORD])
      const password = requireText(members, 'password')
      const mustChangePassword = findArgument(members, MUST_CHANGE, FLAG)
      await requireOwnPassword(call, nameOf(call), findText(members, CURRENT_PASSWORD))
      const options = {
        ...(call.signal && { signal: call.signal }),
        ...(mustChangePassword !== undefined && { mustChangePassword }),
      }
      const before = await directory.findUser(nameOf(call))
      const after = await directory.setPassword(nameOf(call), { password }, options)
      // another password than the current one raises the session epoch
      return { ...showUser(after), passwordChanged: before?.sessionEpoch.generation !== after.sessionEpoch.generation }
    },
  },
  'user.set-password-change': {
    method: 'PUT',
    path: '/users/{name}/password-change',
    async run({ directory }, call) {
      const isRequired = requireArgument(readMembers(call.body, ['required']), 'required', FLAG)
      return showUser(await directory.changeUser(nameOf(call), (user) => withPasswordChange(user, isRequired)))
    },
  },
  'user.set-expiry': {
    method: 'PUT',
    path: '/users/{name}/expiry',
    async run({ directory }, call) {
      const expiresAt = readExpiry(readMembers(call.body, [EXPIRES]))
      return showUser(await directory.changeUser(nameOf(call), (user) => withExpiry(user, expiresAt)))
    },
  },
  'user.set-roles': {
    method: 'PUT',
    path: '/users/{name}/roles',
    run: async ({ directory }, call) => showUser(await directory.changeUser(nameOf(call), readRoleChange(call.body))),
  },
  'user.set-grant': {
    method: 'PUT',
    path: '/users/{name}/grants',
    async run({ directory }, call) {
      const { database, level, collection } = readGrant(call.body, 'The body')
      return showUser(await directory.setGrant(nameOf(call), { database, collection }, level))
    },
  },
  'user.set-active': {
    method: 'PUT',
    path: '/users/{name}/active',
    async run({ directory }, call) {
      const members = readMembers(call.body, ['active', CURRENT_PASSWORD])
      const isActive = requireArgument(members, 'active', FLAG)
      if (!isActive) await requireOwnPassword(call, nameOf(call), findText(members, CURRENT_PASSWORD))
      return showUser(await directory.setActive(nameOf(call), isActive))
    },
  },
  'user.sign-out': {
    method: 'POST',
    path: '/users/{name}/sign-out',
    run: async ({ directory }, call) => showUser(await directory.signOut(nameOf(call))),
  },
} as const satisfies Record<string, Operation<unknown>>

/** For a request that may have no body. */
export const findCurrentPassword = ({ body }: Call): string | undefined =>
  body === undefined ? undefined : findText(readMembers(body, [CURRENT_PASSWORD]), CURRENT_PASSWORD)

export const nameOf = ({ params }: Call): string => params['name'] ?? ''

const MAX_PAGE = 1000

/** One page in the order of names, and the name after which the next one begins. */
export async function readPage(
  directory: Pick<UserReader, 'listUsers'>,
  query: URLSearchParams,
): Promise<{ readonly page: readonly User[]; readonly next: string | undefined }> {
  const limit = readCount(query, 'limit', MAX_PAGE)
  const after = query.get('after')
  const page = await directory.listUsers({
    limit,
    ...(after !== null && { from: { name: after, isInclusive: false } }),
  })
  return { page, next: page.length < limit ? undefined : page.at(-1)?.name }
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
  ...(user.expiresAt !== undefined && { expires: renderExpiry(user.expiresAt) }),
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
