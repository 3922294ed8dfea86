/** The dependencies and settings of the document dialect. */
import type { Authenticated } from '../../directory/identity.ts'
import type { RequestContext } from '../../http/request-context.ts'
import type { CheckHealth } from '../../observe/health.ts'
import type { CorsRules } from './cors.ts'
import type { DocumentUpstream } from './forward.ts'
import type { NodeDeps } from './node.ts'
import type { SessionDeps, SessionSettings } from './session.ts'
import type { UsersDeps } from './users/deps.ts'

export interface DocumentDeps extends Omit<SessionDeps, 'settings'> {
  /** The name of the database as its clients know it, such as `CouchDB`. */
  readonly name: string
  /** The version of the interface that clients see. */
  readonly version: string
  readonly product: { readonly name: string; readonly version: string }
  settings(): DocumentSettings
  readonly checkHealth: CheckHealth
  authenticate(context: RequestContext): Authenticated | Promise<Authenticated>
  readonly node: NodeDeps
  readonly users: UsersDeps
  /** Left out: there is no gateway. */
  readonly upstream?: DocumentUpstream
  /** Whether a path is a percent-encoded form of a path that another dialect serves at this door. */
  isElsewhere?(segments: readonly string[]): boolean
}

/** The current options of this dialect. */
export interface DocumentSettings extends SessionSettings {
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
}
