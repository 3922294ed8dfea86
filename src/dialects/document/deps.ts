/** The dependencies and settings of the document dialect. */

import type { DoorSignUp } from '../../auth/door-sign-in.ts'
import type { CookieHeaders } from '../../auth/session/session-cookie.ts'
import type { DocumentSessions } from '../../auth/session/session-service.ts'
import type { Clock } from '../../base/clock.ts'
import type { Caller } from '../../directory/caller.ts'
import type { Directory } from '../../directory/directory.ts'
import type { Authenticated } from '../../directory/identity.ts'
import type { ConfirmCredential, RequestContext, Step } from '../../http/request-context.ts'
import type { CheckHealth } from '../../observe/health.ts'
import type { DoorUpstream, MountedService } from '../services.ts'
import type { CorsSettings } from './cors.ts'
import type { UserChanges } from './users/user-changes.ts'

export interface DocumentDeps {
  /** The name of the database as its clients know it, such as `CouchDB`. */
  readonly name: string
  /** The version of the interface that clients see. */
  readonly version: string
  settings(): DocumentSettings
  readonly checkHealth: CheckHealth
  /** The streams of the gateway: credentials that end after this epoch end a stream. */
  readonly streams: { readonly epoch: number }
  authenticate(context: RequestContext): Authenticated | Promise<Authenticated>
  /** Left out where the credential cannot be revoked. */
  readonly confirmCredential?: ConfirmCredential
  readonly sessions: Pick<DocumentSessions, 'open' | 'openForToken' | 'endCarried'>
  readonly cookieHeaders: CookieHeaders
  readonly node: NodeDeps
  readonly users: UsersDeps
  /** Steps that may reply to an authenticated request before its right is checked. */
  readonly replies?: readonly Step[]
  /** What else a request must pass, after its right was checked. */
  readonly checks?: readonly Step[]
  readonly upstream: DoorUpstream
  readonly services: readonly MountedService[]
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
  /** Whether a page of the origin that the request names may read replies. */
  isOriginAllowed(context: RequestContext): boolean
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
    caller: Caller,
    options: ChangeOptions & { readonly isImmediate: boolean },
  ): Promise<string>
  /** Returns the previous value. Throws `option_not_found` if there was none. */
  unset(section: string, key: string, caller: Caller, options: ChangeOptions): Promise<string>
  reload(): Promise<void>
}

export type ConfigSection = Readonly<Record<string, string>>

interface ChangeOptions {
  /** Whether the change ends with this process. */
  readonly isVolatile: boolean
}

/** The options that this dialect reads, by section, under their own names. */
export interface DocumentSettings extends CorsSettings {
  readonly chttpd: CorsSettings['chttpd'] & {
    readonly require_valid_user: boolean
    readonly require_valid_user_except_for_up: boolean
    readonly admin_only_all_dbs: boolean
    /** 0: no limit. */
    readonly max_uri_length: number
    readonly validate_host: boolean
    readonly valid_hosts: readonly string[]
    /** This header of every 401. Empty: the default rules apply. */
    readonly 'WWW-Authenticate': string
    readonly server_header_versions: boolean
  }
  readonly chttpd_auth: {
    /** Where browsers are redirected after a sign-in. Empty: nowhere. */
    readonly authentication_redirect: string
    /** Seconds since the last request after which a session expires. */
    readonly timeout: number
  }
  readonly couchdb: { readonly maintenance_mode: 'false' | 'true' | 'nolb'; readonly uuid: string }
  /** Whether browsers without a session are sent from the pages of services to the sign-in page. */
  readonly gate: { readonly 'sign-in': boolean }
  /** Whether requests to a `_rewrite` function are forwarded: the database alone decides where those lead. */
  readonly upstream: { readonly 'document-rewrites': boolean }
  /** Displayed names of the credential handlers, in their order. */
  readonly handlers: readonly string[]
  /** The name of the users database, if it was configured. */
  readonly authenticationDb: string | undefined
}

/** The dependencies of the users database. */
export interface UsersDeps {
  /** Its name in paths. */
  readonly database: string
  /** The part of a document id before the name of the user. */
  readonly prefix: string
  readonly directory: Pick<
    Directory,
    'findRecord' | 'listUsers' | 'countUsers' | 'createUser' | 'changeUser' | 'removeUser'
  >
  readonly changes: UserChanges
  settings(): UsersSettings
  /** Throws unless the credential of the request has proved the password of its user. */
  requirePassword(context: RequestContext): Promise<void>
  /** Calls `onEnd` when the credential of the request ends. Before each piece of a reply, `isValid` must be asked. */
  watchCredential(context: RequestContext, onEnd: () => void): CredentialWatch
  /** Creates a user for a client that is not an administrator, within the limits on sign-ups. */
  readonly signUp: DoorSignUp
  readonly clock: Clock
}

export interface CredentialWatch {
  isValid(): Promise<boolean>
  close(): void
}

/** The options of the users database, by section, under their own names. */
export interface UsersSettings {
  readonly chttpd_auth: {
    /** Members of user documents that other users may read, if `users_db_public`. */
    readonly public_fields: readonly string[]
    readonly users_db_public: boolean
    /** Whether anonymous requests may create a user document. */
    readonly allow_sign_up: boolean
  }
  /** Whether `DELETE` of the database is allowed. */
  readonly couchdb: { readonly users_db_deletable: boolean }
}
