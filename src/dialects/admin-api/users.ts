import { Refusal } from '../../base/errors.ts'
import type { UserDraft } from '../../directory/directory.ts'
import { withGrant } from '../../directory/grants.ts'
import type { Grant, GrantLevel, User } from '../../directory/user.ts'
import {
  findArgument,
  findText,
  isFlag,
  isList,
  isTextList,
  type Members,
  readCount,
  readMembers,
  requireArgument,
  requireText,
} from './arguments.ts'
import { type Call, CURRENT_PASSWORD, type Operation, requireOwnPassword } from './operation.ts'
import { type ShownUser, showUser } from './shown-user.ts'

export interface UserPage {
  readonly users: readonly ShownUser[]
  /** To be sent as `after` for the page that follows; absent on the last. */
  readonly next?: string
}

const PAGE = 1000

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
  'user.show': {
    method: 'GET',
    path: '/users/{name}',
    async run({ directory }, call) {
      const user = await directory.findUser(nameOf(call))
      if (!user) throw new Refusal('not_found')
      return showUser(user)
    },
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
      const members = readMembers(call.body, ['password', CURRENT_PASSWORD])
      const password = requireText(members, 'password')
      await requireOwnPassword(call, nameOf(call), findText(members, CURRENT_PASSWORD))
      const options = call.signal ? { signal: call.signal } : {}
      return showUser(await directory.setPassword(nameOf(call), { password }, options))
    },
  },
  'user.set-roles': {
    method: 'PUT',
    path: '/users/{name}/roles',
    run: async ({ directory }, call) =>
      showUser(await directory.changeUser(nameOf(call), 'any', readRoleChange(call.body))),
  },
  'user.set-grant': {
    method: 'PUT',
    path: '/users/{name}/grants',
    async run({ directory }, call) {
      const { database, level, collection } = readGrant(call.body, 'The body')
      return showUser(await directory.setGrant(nameOf(call), database, level, collection))
    },
  },
  'user.set-active': {
    method: 'PUT',
    path: '/users/{name}/active',
    async run({ directory }, call) {
      const members = readMembers(call.body, ['active', CURRENT_PASSWORD])
      const isActive = requireArgument(members, 'active', isFlag, 'true or false')
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

/** Of a request that may have no body at all. */
export const findCurrentPassword = ({ body }: Call): string | undefined =>
  body === undefined ? undefined : findText(readMembers(body, [CURRENT_PASSWORD]), CURRENT_PASSWORD)

export const nameOf = ({ params }: Call): string => params['name'] ?? ''

/** One page in the order of names, and where the next begins. */
export async function readPage(
  directory: { listUsers(range: Parameters<UserLister>[0]): ReturnType<UserLister> },
  query: URLSearchParams,
): Promise<{ readonly page: readonly User[]; readonly next: string | undefined }> {
  const limit = readCount(query, 'limit', PAGE, PAGE)
  const after = query.get('after')
  const page = await directory.listUsers({
    limit,
    ...(after !== null && { from: { name: after, isInclusive: false } }),
  })
  return { page, next: page.length < limit ? undefined : page.at(-1)?.name }
}

type UserLister = (range: {
  readonly limit: number
  readonly from?: { readonly name: string; readonly isInclusive: boolean }
}) => Promise<readonly User[]>

function readDraft(body: unknown): UserDraft {
  const members = readMembers(body, ['name', 'password', 'active', 'roles', 'grants'])
  const password = findText(members, 'password')
  const isActive = findArgument(members, 'active', isFlag, 'true or false')
  const roles = findArgument(members, 'roles', isTextList, 'a list of texts')
  return {
    name: requireText(members, 'name'),
    ...(password !== undefined && { password: { password } }),
    ...(isActive !== undefined && { isActive }),
    ...(roles && { roles }),
    multiModel: { grants: readGrants(findArgument(members, 'grants', isList, 'a list') ?? []) },
  }
}

const readGrants = (list: readonly unknown[]): ReadonlyMap<string, Grant> =>
  list
    .map((item) => readGrant(item, 'A grant'))
    .reduce<ReadonlyMap<string, Grant>>(
      (grants, { level, database, collection }) => withGrant(grants, level, { database, collection }),
      new Map(),
    )

interface GrantArguments {
  readonly database: string
  /** `undefined`: taken away. */
  readonly level: GrantLevel | undefined
  readonly collection: string | undefined
}

const LEVELS: ReadonlyMap<unknown, GrantLevel | undefined> = new Map<unknown, GrantLevel | undefined>([
  ['rw', 'rw'],
  ['ro', 'ro'],
  ['none', 'none'],
  [null, undefined],
])

function readGrant(value: unknown, what: string): GrantArguments {
  const members = readMembers(value, ['database', 'level', 'collection'], what)
  if (!LEVELS.has(members['level'])) throw new Refusal('bad_request', { about: 'level must be rw, ro, none or null.' })
  return {
    database: requireText(members, 'database'),
    level: LEVELS.get(members['level']),
    collection: findText(members, 'collection'),
  }
}

/** `roles` replaces them; `add` and `remove` leave the others as they are. */
function readRoleChange(body: unknown): (user: User) => User {
  const members = readMembers(body, ['roles', 'add', 'remove'])
  const roles = findRoles(members, 'roles')
  const added = findRoles(members, 'add') ?? []
  const removed = findRoles(members, 'remove') ?? []
  return (user) => {
    const kept = (roles ?? user.document.roles).filter((role) => !removed.includes(role))
    return { ...user, document: { ...user.document, roles: [...new Set([...kept, ...added])] } }
  }
}

const findRoles = (members: Members, name: string): readonly string[] | undefined =>
  findArgument(members, name, isTextList, 'a list of texts')
