import { type ErrorCode, Refusal } from '../../base/errors.ts'
import { ANONYMOUS, type Identity } from '../../directory/identity.ts'
import type { RequestContext } from '../../http/request-context.ts'
import type { DocumentSettings } from './deps.ts'
import { type PathRule, usersRule } from './users/authorize.ts'
import type { UsersDeps } from './users/deps.ts'

type Users = Pick<UsersDeps, 'database' | 'settings'>

/** Checks the path against the rules below, before any handler runs. Handlers may require more. */
export function authorize(
  { method, path, authenticated }: Pick<RequestContext, 'method' | 'path' | 'authenticated'>,
  settings: DocumentSettings,
  users: Users,
): void {
  const { isMet, code } = DEMANDS[findDemand(method, path.segments, settings, users)]
  if (!isMet((authenticated ?? ANONYMOUS).identity)) throw new Refusal(code)
}

/** What a path requires of the client. */
type PathDemand = PathRule | 'user' | 'metrics'

const METRICS_ROLE = '_metrics'

interface Demand {
  isMet(identity: Identity): boolean
  readonly code: ErrorCode
}

const DEMANDS: Readonly<Record<PathDemand, Demand>> = {
  open: { isMet: () => true, code: 'forbidden' },
  user: { isMet: ({ name, isAdmin }) => name !== null || isAdmin, code: 'user_required' },
  metrics: { isMet: ({ isAdmin, roles }) => isAdmin || roles.includes(METRICS_ROLE), code: 'metrics_required' },
  admin: { isMet: ({ isAdmin }) => isAdmin, code: 'admin_required' },
}

/** System paths that need no administrator, as long as no further segment follows. */
const OPEN_WHEN_EXACT = new Set(['_up', '_uuids', '_session', '_active_tasks', '_stats'])
const LISTS_OF_DATABASES = new Set(['_all_dbs', '_dbs_info'])
/** Databases whose name begins with `_`. CouchDB checks access to their documents. */
const SYSTEM_DATABASES = new Set(['_replicator'])
/** The endpoints of a node that the metrics role may read. */
const METRICS = new Set(['_stats', '_system', '_prometheus'])

function findDemand(
  method: string,
  segments: readonly string[],
  { adminOnlyAllDbs }: DocumentSettings,
  users: Users,
): PathDemand {
  const first = segments[0]
  const isExact = segments.length === 1
  if (first === undefined) return 'open'
  if (first === users.database) return usersRule(method, segments.slice(1), users.settings())
  if (LISTS_OF_DATABASES.has(first)) return adminOnlyAllDbs ? 'admin' : 'open'
  if (OPEN_WHEN_EXACT.has(first) && isExact) return 'open'
  const isDatabase = !first.startsWith('_') || SYSTEM_DATABASES.has(first)
  if (!isDatabase) return findSystemDemand(method, first, segments.slice(1))
  return isExact && (method === 'PUT' || method === 'DELETE') ? 'admin' : 'open'
}

function findSystemDemand(method: string, first: string, rest: readonly string[]): PathDemand {
  if (first === '_utils' && (method === 'GET' || method === 'HEAD')) return 'open'
  if (first === '_replicate' && rest.length === 0) return 'user'
  return first === '_node' && METRICS.has(rest[1] ?? '') ? 'metrics' : 'admin'
}
