import { Refusal } from '../../base/errors.ts'
import { resolveDatabaseLevel, SYSTEM_DATABASE } from '../../directory/grants.ts'
import { ANONYMOUS, type Authenticated, type Identity, isAnonymous } from '../../directory/identity.ts'
import type { GrantLevel } from '../../directory/user.ts'
import type { Path, RequestContext } from '../../http/request-context.ts'
import { toLocalPath } from './path.ts'

export interface GateSettings {
  /** Off: nothing asks for a credential. */
  readonly authentication: boolean
  /** Only what begins with `/_` asks for one; application paths are open. */
  readonly systemOnly: boolean
  /** Off: who comes over a Unix socket needs none. */
  readonly unixSockets: boolean
  /** The files of the database's web interface load before its login. */
  readonly webUiBeforeLogin: boolean
}

/** Which databases there are. */
export interface Databases {
  exists(name: string): boolean | Promise<boolean>
  /** By name, the system database included. */
  list(): Promise<readonly string[]>
}

/** Whether a path asks for a credential, decided once, on its normal form. */
function needsCredential(segments: readonly string[], settings: GateSettings): boolean {
  if (!settings.authentication || isAlwaysOpen(segments)) return false
  return segments[0]?.startsWith('_') ? true : !settings.systemOnly
}

/** Paths that Cardea answers without looking at who the client is. */
const isAlwaysOpen = (segments: readonly string[]): boolean =>
  (segments[0] === '_open' && segments.length > 1) ||
  (segments.length === 3 && segments.join('/') === '_admin/server/availability')

/** Which credentials of a request are examined. */
export type Examined = 'all' | 'token' | 'none'

/**
 * Drivers send a password with every request, on open paths too: there it would be hashed, and counted as a failed
 * sign-in, for nothing. Only the token that is to be renewed or revoked is looked at.
 */
export function examinedOn({ method, path: { segments } }: Pick<RequestContext, 'method' | 'path'>): Examined {
  if (!isAlwaysOpen(segments)) return 'all'
  const place = segments.join('/')
  const isAboutToken =
    (method === 'POST' && place === '_open/auth/renew') || (method === 'DELETE' && place === '_open/auth')
  return isAboutToken ? 'token' : 'none'
}

/** Whether the paths other dialects serve to everyone (the key set, for one) need a credential at this door now. */
export const areAllPathsClosed = ({ authentication, systemOnly }: GateSettings): boolean =>
  authentication && !systemOnly

/** Whether this request needs no credential, whatever it asks for. */
export const isExempt = (context: RequestContext, settings: GateSettings): boolean =>
  !settings.authentication || (!settings.unixSockets && context.client.isUnixSocket)

/** What an identity may do on a database. Whoever stands above all grants may do everything. */
export const levelOn = (identity: Identity, database: string): GrantLevel =>
  identity.isAdmin || identity.isSuperuser ? 'rw' : resolveDatabaseLevel(identity.grants, database)

export async function authorizeRequest(
  context: RequestContext,
  settings: GateSettings,
  databases: Databases,
): Promise<void> {
  const authenticated = context.authenticated ?? ANONYMOUS
  const { segments, scope = SYSTEM_DATABASE } = context.path
  const isFree = isExempt(context, settings)
  if (!isFree && !isPathAllowed(context.path, authenticated)) throw new Refusal('authentication_required')
  const isThere = await databases.exists(scope)
  if (isFree || mayEnter(authenticated, scope)) {
    if (!isThere) throw new Refusal('database_not_found')
    return
  }
  if (isThere && settings.webUiBeforeLogin && isWebUiFile(context)) {
    // let in for the file alone, so nobody's credential goes along
    context.authenticated = ANONYMOUS
    return
  }
  // A name that does not exist looks like one the caller may not enter, so that names cannot be probed.
  const isOpen = !needsCredential(segments, settings) || isOwnAffair(segments, authenticated)
  if (!isThere || !isOpen) throw new Refusal('authentication_required')
}

/** A token may be good for some paths only, to the letter: without API version, database and query. */
const isPathAllowed = (path: Path, { bearer }: Authenticated): boolean =>
  bearer?.allowedPaths === undefined || bearer.allowedPaths.includes(toLocalPath(path))

const mayEnter = (authenticated: Authenticated, database: string): boolean =>
  !isAnonymous(authenticated) && levelOn(authenticated.identity, database) !== 'none'

const isWebUiFile = ({ method, path: { raw, segments } }: RequestContext): boolean =>
  (method === 'GET' || method === 'HEAD') &&
  segments[0] === '_admin' &&
  segments[1] === 'aardvark' &&
  (segments.length > 2 || raw.endsWith('/'))

/** What everybody may ask for who is known at all: about themselves, which the routes decide. */
function isOwnAffair(segments: readonly string[], authenticated: Authenticated): boolean {
  if (isAnonymous(authenticated) || segments[0] !== '_api') return false
  const isAboutUser = segments[1] === 'user' || segments[1] === 'token'
  return (isAboutUser && segments.length > 2) || segments.join('/') === '_api/cluster/endpoints'
}
