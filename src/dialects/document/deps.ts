/** The dependencies and settings of the document dialect. */
import type { OpenedSession, SessionService } from '../../auth/session/session-service.ts'
import type { CookieContext } from '../../auth/session/set-cookie.ts'
import type { Clock } from '../../base/clock.ts'
import type { Directory } from '../../directory/directory.ts'
import type { Authenticated } from '../../directory/identity.ts'
import type { PresentedSession } from '../../directory/sessions/session.ts'
import type { Reply, RequestContext } from '../../http/request-context.ts'
import type { CheckHealth } from '../../observe/health.ts'
import type { CorsRules } from './cors.ts'
import type { UsersDeps } from './users/deps.ts'

export interface DocumentDeps {
  /** The name of the database as its clients know it, such as `CouchDB`. */
  readonly name: string
  /** The version of the interface that clients see. */
  readonly version: string
  readonly product: { readonly name: string; readonly version: string }
  settings(): DocumentSettings
  readonly clock: Clock
  readonly checkHealth: CheckHealth
  /** The streams of the gateway: credentials that end after this epoch end a stream. Left out: there is no gateway. */
  readonly streams?: { readonly epoch: number }
  authenticate(context: RequestContext): Authenticated | Promise<Authenticated>
  readonly sessions: Pick<SessionService, 'open' | 'end'>
  /** Opens a session for the JWT of a request. */
  openForToken(authenticated: Authenticated, context: RequestContext): Promise<OpenedSession>
  /** The session of the cookie, even if another credential decided the identity of the request. */
  findCookieSession(context: RequestContext): Promise<PresentedSession | undefined>
  readonly node: NodeDeps
  readonly users: UsersDeps
  /** Left out: there is no gateway. */
  readonly upstream?: DocumentUpstream
  /** Whether a path is a percent-encoded form of a path that another dialect serves at this door. */
  isMounted?(segments: readonly string[]): boolean
}

/** The database behind this door. */
export interface DocumentUpstream {
  /** Whether an upstream is configured. */
  isSet(): boolean
  forward(context: RequestContext): Promise<Reply>
  /** Reads the whole response body into memory and decodes it. A larger or truncated body is `upstream_failed`. */
  forwardWhole(context: RequestContext, maxBytes: number): Promise<Reply>
}

/** What the paths about this node need. */
export interface NodeDeps {
  readonly nodeName: string
  readonly configuration: ConfigService
  readonly administrators: Pick<Directory, 'listAdministrators' | 'setAdministrator' | 'removeAdministrator'>
  /** Throws unless the credential of the request has proved the password of its user. */
  requirePassword(context: RequestContext): Promise<void>
  /** Whether Cardea uses the section, or the option in it, itself. */
  isOwnSetting(section: string, key?: string): boolean
  /** Whether a section is unknown and its name is close to one of Cardea's. */
  isMisspelt(section: string): boolean
  /** Names of the hash algorithms this installation supports. */
  supportedHashes(): readonly string[]
}

/** Values are texts, with secrets masked. */
export interface ConfigService {
  /** By section, then key. Options that are not set are left out. */
  list(): Readonly<Record<string, ConfigSection>>
  /** Returns the previous value; `''` if there was none. `isImmediate`: cookies signed with an earlier secret end. */
  set(
    option: { readonly section: string; readonly key: string; readonly text: string },
    options: Volatility & { readonly isImmediate: boolean },
  ): Promise<string>
  /** Returns the previous value. Throws `option_not_found` if there was none. */
  unset(section: string, key: string, options: Volatility): Promise<string>
  reload(): Promise<void>
}

export type ConfigSection = Readonly<Record<string, string>>

interface Volatility {
  /** Whether the change ends with this process. */
  readonly isVolatile: boolean
}

/** The current options of this dialect. */
export interface DocumentSettings {
  readonly requireValidUser: boolean
  readonly requireValidUserExceptForUp: boolean
  readonly adminOnlyAllDbs: boolean
  readonly maxUriLength: number | undefined
  /** Whether requests to a `_rewrite` function are forwarded: the database alone decides where those lead. */
  readonly forwardsRewrites: boolean
  readonly validatesHost: boolean
  readonly validHosts: readonly string[]
  /** The `WWW-Authenticate` header of every 401. Empty: the default rules apply. */
  readonly wwwAuthenticate: string
  readonly showsVersions: boolean
  readonly maintenanceMode: 'false' | 'true' | 'nolb'
  readonly uuid: string
  readonly cors: CorsRules
  /** Displayed names of the credential handlers, in their order. */
  readonly handlers: readonly string[]
  /** The name of the users database, if it was configured. */
  readonly authenticationDb: string | undefined
  /** Where browsers are redirected after a sign-in. Empty: nowhere. */
  readonly authenticationRedirect: string
  readonly cookie: CookieContext['settings']
}
