// Searches users by the beginning of a name or role, by role and by status.
import type { User } from '../../../directory/users/user.ts'
import { foldCase, type UserQuery } from '../../../directory/users/user-search.ts'
import { badRequest } from '../json.ts'
import type { OperationDeps } from '../operation.ts'
import { object, oneOf, type Static, text } from '../schemas/schema.ts'
import { MAX_PAGE, PAGE_QUERY } from '../schemas/users.ts'

const MAX_TEXT = 256

export const SEARCH = {
  'prefix?': text('The beginning of the name or of a role. Case does not matter.'),
  'role?': text('A role. Case does not matter.'),
  'status?': oneOf(['locked', 'disabled', 'expired', '']),
}
const QUERY = object({ ...SEARCH, ...PAGE_QUERY })
type SearchQuery = Static<typeof QUERY>

interface FoundPage {
  readonly page: readonly User[]
  readonly next: string | undefined
}

export const isSearch = ({ prefix, role, status }: SearchQuery): boolean => Boolean(prefix || role || status)

export async function search(deps: OperationDeps, query: SearchQuery): Promise<FoundPage> {
  const { status, after, limit = MAX_PAGE } = query
  const wanted = {
    ...findText(query, 'prefix'),
    ...findText(query, 'role'),
    ...(after !== undefined && { after }),
    limit,
  }
  if (status === 'locked') return listLocked(deps, wanted)
  const { users, next } = await deps.directory.searchUsers({ ...wanted, ...(status && { status }) })
  return { page: users, next }
}

function findText(query: SearchQuery, name: 'prefix' | 'role'): { [name: string]: string } {
  const text = query[name] ?? ''
  if (text.length > MAX_TEXT) throw badRequest(`${name} must have at most ${MAX_TEXT} characters.`)
  return text === '' ? {} : { [name]: text }
}

/** Locked accounts are few, and kept in memory. */
async function listLocked({ directory, limits }: OperationDeps, wanted: UserQuery): Promise<FoundPage> {
  const { prefix = '', role, after = '', limit } = wanted
  const page: User[] = []
  for (const name of limits.listNames().toSorted()) {
    if (name <= after) continue
    const user = await directory.findUser(name)
    if (!user || !isMatch(user, { prefix, role })) continue
    page.push(user)
    if (page.length === limit) return { page, next: name }
  }
  return { page, next: undefined }
}

function isMatch({ name, document }: User, { prefix, role }: { prefix: string; role: string | undefined }): boolean {
  const roles = document.roles.map(foldCase)
  if (role !== undefined && !roles.includes(foldCase(role))) return false
  return [foldCase(name), ...roles].some((each) => each.startsWith(foldCase(prefix)))
}
