import type { CorsRules } from './cors.ts'
import type { SessionSettings } from './session.ts'

/** The current options of this dialect. */
export interface DocumentSettings extends SessionSettings {
  readonly requireValidUser: boolean
  readonly requireValidUserExceptForUp: boolean
  readonly adminOnlyAllDbs: boolean
  readonly maxUriLength: number | undefined
  /** Whether requests go to a `_rewrite` of the database, which decides where they lead. */
  readonly forwardsRewrites: boolean
  readonly validatesHost: boolean
  readonly validHosts: readonly string[]
  /** What every 401 challenges with; empty: by the rules. */
  readonly wwwAuthenticate: string
  readonly showsVersions: boolean
  readonly maintenanceMode: 'false' | 'true' | 'nolb'
  readonly uuid: string
  readonly cors: CorsRules
}
