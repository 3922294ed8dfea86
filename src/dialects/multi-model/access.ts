// What a request may do at this door: who may enter a database, and who manages the server.
import { type ErrorCode, Refusal } from '../../base/errors.ts'
import { findLevel, SYSTEM_DATABASE } from '../../directory/grants.ts'
import {
  ANONYMOUS,
  type Authenticated,
  hasAllRights,
  type Identity,
  identityOf,
  isAnonymous,
} from '../../directory/identity.ts'
import type { Params, Path, RequestContext, RequestHead, RequestIdentity } from '../../http/request-context.ts'
import { coversPath, isClientOf } from '../services.ts'
import { toLocalPath } from './path.ts'
import { type MultiModelRight, multiModelRightOf } from './rights.ts'
import type { Databases, ManagerSettings, MultiModelSettings } from './settings.ts'

/** Throws unless the request may enter the database that its path addresses, or the right needs less. */
export async function authorizeRequest(
  context: RequestHead & RequestIdentity,
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
  const isPublic = settings['multi-model']['web-ui-before-login'] && isWebUiFile(context)
  const isOpen = !needsCredential(right, segments, settings) || (right.isForUsers && !isAnonymous(authenticated))
  // Whether the database exists is not asked, so that a client that may not enter it cannot find out.
  if (!(isPublic || isOpen)) throw new Refusal('authentication_required')
  // a file of the web interface is public, so no identity is forwarded with the request
  if (isPublic) context.authenticated = ANONYMOUS
}

function needsCredential(right: MultiModelRight, [first]: readonly string[], settings: MultiModelSettings): boolean {
  if (!settings.server.authentication || right.isOpen) return false
  return first?.startsWith('_') ? true : !settings.server['authentication-system-only']
}

/** Whether this request needs no credential on any path. */
export const isExempt = (context: RequestIdentity, settings: MultiModelSettings): boolean =>
  !settings.server.authentication || (!settings.server['authentication-unix-sockets'] && context.client.isUnixSocket)

/** Whether this request needs a credential even on the open paths of other dialects, such as the key set. */
export const needsCredentialEverywhere = (context: RequestIdentity, settings: MultiModelSettings): boolean =>
  !settings.server['authentication-system-only'] && !isExempt(context, settings)

/** A token may be limited to some paths. They are compared exactly, without API version, database and query. */
const isPathAllowed = (path: Path, { credential }: Authenticated): boolean =>
  credential?.allowedPaths === undefined || credential.allowedPaths.includes(toLocalPath(path))

export const mayEnter = (authenticated: Authenticated, database: string): boolean =>
  !isAnonymous(authenticated) && findLevel(authenticated.identity, database) !== 'none'

/** The segments of ArangoDB's own web interface. */
export const WEB_UI = ['_admin', 'aardvark'] as const

const isWebUiFile = ({ method, path: { raw, segments } }: RequestHead): boolean =>
  (method === 'GET' || method === 'HEAD') &&
  WEB_UI.every((segment, index) => segment === segments[index]) &&
  (segments.length > 2 || raw.endsWith('/'))

/**
 * Throws unless the access token of the request is valid for the database or service of its path. Without access to the
 * system database it reaches no path that concerns the whole server.
 */
export function requireScope(context: RequestHead & RequestIdentity): undefined {
  const scope = context.authenticated?.credential?.scope
  if (scope === undefined) return
  if (scope.access === 'ro') throw READ_ONLY_TOKEN
  const { isOpen, isAboutServer, service } = multiModelRightOf(context)
  if (isOpen) return
  const needed = isAboutServer ? SYSTEM_DATABASE : (context.path.database ?? SYSTEM_DATABASE)
  if (!coversPath(scope, service, needed)) throw new Refusal('authentication_required')
}

/** A query in AQL can write, and its path does not show it. */
export const READ_ONLY_TOKEN = new Refusal('forbidden', {
  reason: 'A read-only access token is valid at the document door only. Here, use a user with the grant ro.',
})

/** Whether the credential of the request is valid for this database. */
export const coversDatabase = ({ credential }: Authenticated, database: string): boolean =>
  credential?.scope === undefined || credential.scope.databases.includes(database)

/**
 * The server is managed by administrators, superuser tokens, and users who may write the system database. Where grants
 * limit users at the document door, one on all databases is meant for the databases there, and makes no manager: it
 * could lift every limit of the user. A grant on the system database itself does.
 */
export function isManager(identity: Identity, { document }: ManagerSettings): boolean {
  if (findLevel(identity, SYSTEM_DATABASE) !== 'rw') return false
  const isNamed = hasAllRights(identity) || identity.grants.get(SYSTEM_DATABASE)?.level === 'rw'
  return document.grants !== 'enforce' || isNamed
}

export const isSelf = (context: RequestIdentity, name: string): boolean => identityOf(context).name === name

const isSelfOrManager = (context: RequestIdentity, name: string, settings: ManagerSettings): boolean =>
  isSelf(context, name) || isManager(identityOf(context), settings)

/** For changes to the directory. They need a manager even where no credential is required. */
export function requireManager(context: RequestIdentity, settings: ManagerSettings): void {
  if (!isManager(identityOf(context), settings)) throw new Refusal('forbidden')
}

/** Whether the request may read everything: of a manager, or where no credential is required. */
export const mayReadAll = (context: RequestIdentity, settings: MultiModelSettings): boolean =>
  isExempt(context, settings) || isManager(identityOf(context), settings)

/** For operations of the server, not of the directory. They are open where no credential is required. */
export function requireOperator(context: RequestIdentity, settings: MultiModelSettings): void {
  if (!mayReadAll(context, settings)) throw new Refusal('forbidden')
}

export function requireSuperuser(context: RequestIdentity): void {
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
  manager: (context, { settings }) => requireManager(context, settings()),
  /** The user itself, and requests that may read everything. */
  reader: (context, { settings }, { user }) => {
    const isOwn = user !== undefined && isSelf(context, user)
    refuseUnless(isOwn || mayReadAll(context, settings()), 'not_owner')
  },
  /** The user itself or a manager. Administrators cannot be changed with this API. */
  changer: (context, { directory, settings }, { user = '' }) =>
    refuseUnless(isSelfOrManager(context, user, settings()) && !directory.isAdministrator(user)),
  managerOfUser: (context, { directory, settings }, { user = '' }) =>
    refuseUnless(isManager(identityOf(context), settings()) && !directory.isAdministrator(user)),
  tokenOwner: (context, { directory, settings }, { user = '' }) => {
    refuseUnless(isSelfOrManager(context, user, settings()), 'not_owner')
    refuseUnless(!directory.isAdministrator(user))
  },
} satisfies Readonly<Record<string, RequireClient>>

function refuseUnless(isAllowed: boolean, code: ErrorCode = 'forbidden'): void {
  if (!isAllowed) throw new Refusal(code)
}
