import { type ErrorCode, Refusal } from '../../base/errors.ts'
import type { Identity } from '../../directory/identity.ts'
import type { RequestContext } from '../../http/request-context.ts'
import { type PathRule, usersRule } from './users/authorize.ts'
import type { UsersDeps } from './users/deps.ts'

export interface AuthorizeOptions {
  readonly adminOnlyAllDbs: boolean
}

export type AuthorizeUsers = Pick<UsersDeps, 'database' | 'settings'>

/** What a path asks of the caller. */
export type PathDemand = PathRule | 'user' | 'metrics'

/** First segments that begin with `_` and need no administrator, when nothing follows them. */
const OPEN_WHEN_EXACT = new Set(['_up', '_uuids', '_session', '_active_tasks', '_stats'])
const LISTS_OF_DATABASES = new Set(['_all_dbs', '_dbs_info'])
/** Databases of the system: their documents have rules of their own. */
const SYSTEM_DATABASES = new Set(['_replicator'])
/** What of a node whoever reads metrics may see. */
const METRICS = new Set(['_stats', '_system', '_prometheus'])
const METRICS_ROLE = '_metrics'

/** What a path asks of the caller, before any endpoint looks at it. */
function ruleOf(
  method: string,
  segments: readonly string[],
  options: AuthorizeOptions,
  users: AuthorizeUsers,
): PathDemand {
  const [first, ...rest] = segments
  if (first === undefined) return 'open'
  if (first === users.database) return usersRule(method, rest, users.settings())
  if (LISTS_OF_DATABASES.has(first)) return options.adminOnlyAllDbs ? 'admin' : 'open'
  if (OPEN_WHEN_EXACT.has(first) && rest.length === 0) return 'open'
  const isDatabase = !first.startsWith('_') || SYSTEM_DATABASES.has(first)
  if (!isDatabase) return ruleOfService(method, first, rest)
  return rest.length === 0 && (method === 'PUT' || method === 'DELETE') ? 'admin' : 'open'
}

function ruleOfService(method: string, first: string, rest: readonly string[]): PathDemand {
  if (first === '_utils' && (method === 'GET' || method === 'HEAD')) return 'open'
  if (first === '_replicate' && rest.length === 0) return 'user'
  return first === '_node' && METRICS.has(rest[1] ?? '') ? 'metrics' : 'admin'
}

const DEMANDS: Readonly<Record<PathDemand, { readonly isMet: (who: Identity) => boolean; readonly code: ErrorCode }>> =
  {
    open: { isMet: () => true, code: 'forbidden' },
    user: { isMet: ({ name, isAdmin }) => name !== null || isAdmin, code: 'user_required' },
    metrics: { isMet: ({ isAdmin, roles }) => isAdmin || roles.includes(METRICS_ROLE), code: 'metrics_required' },
    admin: { isMet: ({ isAdmin }) => isAdmin, code: 'admin_required' },
  }

export function authorize(
  { method, path: { segments } }: Pick<RequestContext, 'method' | 'path'>,
  who: Identity,
  options: AuthorizeOptions,
  users: AuthorizeUsers,
): void {
  const { isMet, code } = DEMANDS[ruleOf(method, segments, options, users)]
  if (!isMet(who)) throw new Refusal(code)
}
