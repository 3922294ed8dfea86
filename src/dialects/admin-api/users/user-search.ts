// Searches users by a part of the name or the beginning of a role, by role and by status.
import { badRequest } from '../../../base/errors.ts'
import type { User } from '../../../directory/users/user.ts'
import { foldCase, matchesText, type UserQuery } from '../../../directory/users/user-search.ts'
import type { OperationDeps } from '../operation.ts'
import { object, oneOf, type Static, text } from '../schemas/schema.ts'
import { MAX_PAGE, PAGE_QUERY } from '../schemas/users.ts'

const MAX_TEXT = 256

export const SEARCH = {
  'search?': text('A part of the name, or the beginning of a role. Case does not matter.'),
  'role?': text('A role. Case does not matter.'),
  'database?': text('A database that the user has a grant on, or a grant on one of its collections.'),
  'status?': oneOf(
    ['locked', 'disabled', 'expired', 'idle', ''],
    '`idle`: no sign-in with the password for 90 days, or none at all.',
  ),
}
const QUERY = object({ ...SEARCH, ...PAGE_QUERY })
type SearchQuery = Static<typeof QUERY>

interface FoundPage {
  readonly page: readonly User[]
  readonly next: string | undefined
  readonly total?: number | undefined
}

export const isSearch = ({ search: wanted, role, database, status }: SearchQuery): boolean =>
  Boolean(wanted || role || database || status)

export async function search(deps: OperationDeps, query: SearchQuery): Promise<FoundPage> {
  const { status, after, limit = MAX_PAGE } = query
  const wanted = {
    text: requireShort(query, 'search'),
    ...(query.role && { role: requireShort(query, 'role') }),
    ...(query.database && { database: requireShort(query, 'database') }),
    ...(after !== undefined && { after }),
    limit,
  }
  if (status === 'locked') return listLocked(deps, wanted)
  const { users, next, total } = await deps.directory.searchUsers({ ...wanted, ...(status && { status }) })
  return { page: users, next, total }
}

function requireShort(query: SearchQuery, name: 'search' | 'role' | 'database'): string {
  const text = query[name] ?? ''
  if (text.length > MAX_TEXT) throw badRequest(`${name} must have at most ${MAX_TEXT} characters.`)
  return text
}

/** Locked accounts are few, and kept in memory. */
async function listLocked({ directory, limits }: OperationDeps, wanted: UserQuery): Promise<FoundPage> {
  const { text = '', role, database, after = '', limit } = wanted
  const page: User[] = []
  for (const name of limits.listNames().toSorted()) {
    if (name <= after) continue
    const user = await directory.findUser(name)
    const roles = user ? directory.listRoles(user).map(foldCase) : []
    if (!user || !matchesText(name, roles, foldCase(text))) continue
    if (role !== undefined && !roles.includes(foldCase(role))) continue
    if (database !== undefined && !user.multiModel.grants.has(database)) continue
    page.push(user)
    if (page.length === limit) return { page, next: name }
  }
  return { page, next: undefined }
}
