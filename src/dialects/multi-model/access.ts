// What a request may do at this door: who may enter a database, and who manages the server.
import { type ErrorCode, Refusal } from '../../base/errors.ts'
import { findLevel, SYSTEM_DATABASE } from '../../directory/grants.ts'
import { ANONYMOUS, type Authenticated, identityOf, isAnonymous } from '../../directory/identity.ts'
import type { Params, Path, RequestContext } from '../../http/request-context.ts'
import { coversPath, isClientOf } from '../services.ts'
import { toLocalPath } from './path.ts'
import { type MultiModelRight, rightOf } from './rights.ts'
import type { Databases, MultiModelSettings } from './settings.ts'

/** Throws unless the request may enter the database that its path addresses, or the right needs less. */
export async function authorizeRequest(
  context: RequestContext,
  right: MultiModelRight,
  settings: MultiModelSettings,
  databases: Databases,
): Promise<void> {
  const authenticated = context.authenticated ?? ANONYMOUS
  const { segments, database = SYSTEM_DATABASE } = context.path
  if (right.service && !isClientOf(right.service, authenticated.identity)) throw new Refusal('authentication_required')
  const isFree = isExempt(context, settings)
  if (!isFree && !isPathAllowed(context.path, authenticated)) throw new Refusal('authentication_required')
  if (isFree || mayEnter(authenticated, database)) {
    if (await databases.exists(database)) return
    throw new Refusal('database_not_found')
  }
  const isPublic = settings.webUiBeforeLogin && isWebUiFile(context)
  const isOpen = !needsCredential(right, segments, settings) || (right.isForUsers && !isAnonymous(authenticated))
  // A database that does not exist looks like one the client may not enter, so that names cannot be probed.
  if (!(isPublic || isOpen) || !(await databases.exists(database))) throw new Refusal('authentication_required')
  // a file of the web interface is public, so no identity is forwarded with the request
  if (isPublic) context.authenticated = ANONYMOUS
}

function needsCredential(right: MultiModelRight, [first]: readonly string[], settings: MultiModelSettings): boolean {
  if (!settings.authentication || right.isOpen) return false
  return first?.startsWith('_') ? true : !settings.systemOnly
}

/** Whether this request needs no credential on any path. */
export const isExempt = (context: RequestContext, settings: MultiModelSettings): boolean =>
  !settings.authentication || (!settings.unixSockets && context.client.isUnixSocket)

/** Whether this request needs a credential even on the open paths of other dialects, such as the key set. */
export const needsCredentialEverywhere = (context: RequestContext, settings: MultiModelSettings): boolean =>
  !settings.systemOnly && !isExempt(context, settings)

/** A token may be limited to some paths. They are compared exactly, without API version, database and query. */
const isPathAllowed = (path: Path, { credential }: Authenticated): boolean =>
  credential?.allowedPaths === undefined || credential.allowedPaths.includes(toLocalPath(path))

export const mayEnter = (authenticated: Authenticated, database: string): boolean =>
  !isAnonymous(authenticated) && findLevel(authenticated.identity, database) !== 'none'

/** The segments of ArangoDB's own web interface. */
export const WEB_UI = ['_admin', 'aardvark'] as const

const isWebUiFile = ({ method, path: { raw, segments } }: RequestContext): boolean =>
  (method === 'GET' || method === 'HEAD') &&
  WEB_UI.every((segment, index) => segment === segments[index]) &&
  (segments.length > 2 || raw.endsWith('/'))

/**
 * Throws unless the access token of the request is valid for the database or service of its path. Without access to the
 * system database it reaches no path that concerns the whole server.
 */
export function requireScope(context: RequestContext): undefined {
  const scope = context.authenticated?.credential?.scope
  if (scope === undefined) return
  const { isOpen, isAboutServer, service } = rightOf(context)
  if (isOpen) return
  const needed = isAboutServer ? SYSTEM_DATABASE : (context.path.database ?? SYSTEM_DATABASE)
  if (!coversPath(scope, service, needed)) throw new Refusal('authentication_required')
}

/** Whether the credential of the request is valid for this database. */
export const coversDatabase = ({ credential }: Authenticated, database: string): boolean =>
  credential?.scope === undefined || credential.scope.databases.includes(database)

/** The server is managed by administrators, superuser tokens, and users who may write the system database. */
const isManager = (context: RequestContext): boolean => findLevel(identityOf(context), SYSTEM_DATABASE) === 'rw'

export const isSelf = (context: RequestContext, name: string): boolean => identityOf(context).name === name

const isSelfOrManager = (context: RequestContext, name: string): boolean => isSelf(context, name) || isManager(context)

/** For changes to the directory. They need a manager even where no credential is required. */
export function requireManager(context: RequestContext): void {
  if (!isManager(context)) throw new Refusal('forbidden')
}

/** Whether the request may read everything: of a manager, or where no credential is required. */
export const mayReadAll = (context: RequestContext, settings: MultiModelSettings): boolean =>
  isExempt(context, settings) || isManager(context)

/** For operations of the server, not of the directory. They are open where no credential is required. */
export function requireOperator(context: RequestContext, settings: MultiModelSettings): void {
  if (!mayReadAll(context, settings)) throw new Refusal('forbidden')
}

export function requireSuperuser(context: RequestContext): void {
  if (identityOf(context).isSuperuser) return
  throw new Refusal('forbidden', { reason: 'only a superuser token may see or reload the secrets' })
}

interface ClientDeps {
  settings(): MultiModelSettings
  readonly directory: { isAdministrator(name: string): boolean }
}

/** Throws unless the client may use a method of a route. `{user}` in its path is the user whose data it is about. */
export type RequireClient = (context: RequestContext, deps: ClientDeps, params: Params) => void

/** Who may use a method: each row of users and tokens names one. */
export const CLIENTS = {
  /** The handler decides. */
  anyone: () => {},
  /** Not anonymous, even where no credential is required. */
  identified: ({ authenticated }) => refuseUnless(!isAnonymous(authenticated)),
  manager: requireManager,
  /** The user itself, and requests that may read everything. */
  reader: (context, { settings }, { user }) => {
    const isOwn = user !== undefined && isSelf(context, user)
    refuseUnless(isOwn || mayReadAll(context, settings()), 'not_owner')
  },
  /** The user itself or a manager. Administrators cannot be changed with this API. */
  changer: (context, { directory }, { user = '' }) =>
    refuseUnless(isSelfOrManager(context, user) && !directory.isAdministrator(user)),
  managerOfUser: (context, { directory }, { user = '' }) =>
    refuseUnless(isManager(context) && !directory.isAdministrator(user)),
  tokenOwner: (context, { directory }, { user = '' }) => {
    refuseUnless(isSelfOrManager(context, user), 'not_owner')
    refuseUnless(!directory.isAdministrator(user))
  },
} satisfies Readonly<Record<string, RequireClient>>

function refuseUnless(isAllowed: boolean, code: ErrorCode = 'forbidden'): void {
  if (!isAllowed) throw new Refusal(code)
}
