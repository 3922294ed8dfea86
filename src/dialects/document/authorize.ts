import { Refusal } from '../../base/errors.ts'
import type { Identity } from '../../identity/identity.ts'
import { type PathRule, usersRule } from './users/authorize.ts'
import type { UsersNeeds } from './users/needs.ts'

export interface AuthorizeOptions {
  readonly adminOnlyAllDbs: boolean
  readonly users: Pick<UsersNeeds, 'database' | 'settings'>
}

/** First segments that begin with `_` and need no administrator, when nothing follows them. */
const OPEN_WHEN_EXACT = new Set(['_up', '_uuids', '_session', '_active_tasks', '_stats'])
const LISTS_OF_DATABASES = new Set(['_all_dbs', '_dbs_info'])
/** Databases of the system: their documents have rules of their own. */
const SYSTEM_DATABASES = new Set(['_replicator'])

/** What a path asks of the caller, before any endpoint looks at it. */
export function ruleOf(method: string, segments: readonly string[], options: AuthorizeOptions): PathRule {
  const [first, ...rest] = segments
  if (first === undefined) return 'open'
  if (first === options.users.database) return usersRule(method, rest, options.users.settings())
  if (LISTS_OF_DATABASES.has(first)) return options.adminOnlyAllDbs ? 'admin' : 'open'
  if (OPEN_WHEN_EXACT.has(first) && rest.length === 0) return 'open'
  const isDatabase = !first.startsWith('_') || SYSTEM_DATABASES.has(first)
  if (!isDatabase) return 'admin'
  return rest.length === 0 && (method === 'PUT' || method === 'DELETE') ? 'admin' : 'open'
}

export function authorize(method: string, segments: readonly string[], who: Identity, options: AuthorizeOptions): void {
  if (ruleOf(method, segments, options) === 'admin' && !who.isAdmin) throw new Refusal('admin_required')
}
