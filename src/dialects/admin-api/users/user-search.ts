// Searches users by the beginning of a name or role, by role and by status.
import { Refusal } from '../../../base/errors.ts'
import type { User } from '../../../directory/users/user.ts'
import type { UserQuery } from '../../../directory/users/user-directory.ts'
import { foldCase } from '../../../directory/users/user-search.ts'
import { readCount } from '../json.ts'
import type { Call, OperationDeps } from '../operation.ts'

const MAX_PAGE = 1000
const MAX_TEXT = 256

export const STATUSES = ['locked', 'disabled', 'expired'] as const

interface FoundPage {
  readonly page: readonly User[]
  readonly next: string | undefined
}

export const isSearch = (query: URLSearchParams): boolean =>
  ['prefix', 'role', 'status'].some((name) => (query.get(name) ?? '') !== '')

export async function search(deps: OperationDeps, { query }: Call): Promise<FoundPage> {
  const status = STATUSES.find((each) => each === query.get('status'))
  if ((query.get('status') ?? '') !== '' && !status) throw bad(`status must be one of ${STATUSES.join(', ')}.`)
  const after = query.get('after')
  const wanted = {
    ...findText(query, 'prefix'),
    ...findText(query, 'role'),
    ...(after !== null && { after }),
    limit: readCount(query, 'limit', MAX_PAGE),
  }
  if (status === 'locked') return listLocked(deps, wanted)
  const { users, next } = await deps.directory.searchUsers({ ...wanted, ...(status && { status }) })
  return { page: users, next }
}

const bad = (about: string): Refusal => new Refusal('bad_request', { about })

function findText(query: URLSearchParams, name: 'prefix' | 'role'): { [name: string]: string } {
  const text = query.get(name) ?? ''
  if (text.length > MAX_TEXT) throw bad(`${name} must have at most ${MAX_TEXT} characters.`)
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
