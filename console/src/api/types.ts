// What the admin API returns, as far as the console uses it. `…At` is in seconds since the epoch.
import type { UpstreamStatus } from '../../../src/dialects/admin-api/system/health.ts'

export type {
  OptionList,
  SettingChange,
  SettingPreview,
  ShownOption as ServerOption,
} from '../../../src/dialects/admin-api/system/settings-editor.ts'

export type Rights = 'administrator' | 'userAdmin' | 'user'

export interface Session {
  /** `null`: not signed in. */
  readonly name: string | null
  readonly isAdministrator: boolean
  readonly roles?: readonly string[]
  readonly server?: string
  readonly rights?: Rights
  readonly mustChangePassword?: boolean
}

export interface Grant {
  readonly level?: GrantLevel
  readonly collections?: Readonly<Record<string, GrantLevel>>
}

export type GrantLevel = 'rw' | 'ro' | 'none'

export interface User {
  readonly name: string
  readonly active: boolean
  readonly expires?: string
  readonly mustChangePassword?: true
  readonly roles: readonly string[]
  readonly grants: Readonly<Record<string, Grant>>
  readonly password: string | null
  readonly accessTokens: number
  /** Whether at least one client is locked out after too many failures. */
  readonly isLocked: boolean
  readonly lastSignIn: SignIn | null
}

/** The last sign-in with the password. `at` is ISO 8601. */
export interface SignIn {
  readonly at: string
  readonly peer: string
}

export interface UserPage {
  readonly users: readonly User[]
  readonly next?: string
}

export interface UserDetails extends User {
  readonly totp: boolean
  readonly sessions: number
  readonly lockout: Lockout | null
  /** Whether the caller may change this user. */
  readonly canEdit?: boolean
}

export interface Lockout {
  /** 0: clients of every address have to wait. */
  readonly addresses: number
  /** The first of them. */
  readonly peers: readonly string[]
  readonly until: string
}

export interface UserSession {
  readonly id: string
  readonly door: string
  readonly createdAt: number
  readonly seenAt: number
  readonly expiresAt?: number
  readonly peer: string
  readonly userAgent: string
  readonly isCurrent?: boolean
}

export interface AccessReport {
  readonly doors: readonly {
    readonly door: string
    readonly rules: readonly {
      readonly what: string
      /** `null`: the database decides. */
      readonly isAllowed: boolean | null
      readonly because: string
    }[]
  }[]
}

export interface BatchReport {
  readonly outcomes: readonly { readonly name: string; readonly ok: boolean; readonly reason?: string }[]
}

export interface PasswordLink {
  readonly url: string
  readonly expiresAt: number
}

export interface Administrator {
  readonly name: string
  readonly password: string | null
  /** Whether a one-time code is needed. */
  readonly totp: boolean
  readonly sessions: number
  readonly lastSignIn: SignIn | null
}

export interface Account {
  readonly name: string
  readonly isAdministrator: boolean
  readonly roles: readonly string[]
  readonly mustChangePassword: boolean
  readonly expires?: string | null
  readonly totp: { readonly isEnabled: boolean; readonly recoveryCodesLeft: number }
  readonly passwordRules: readonly string[]
}

export interface AccessToken {
  readonly name: string
  readonly createdAt: number
  readonly expiresAt: number
  readonly usedAt?: number
  readonly isActive: boolean
  readonly databases?: readonly string[]
}

/** One value for each step; `null`: no node has written any. */
export type Line = readonly (number | null)[]

export interface Overview {
  readonly range: '1h' | '24h' | '7d' | '30d'
  readonly from: number
  readonly now: number
  readonly stepSeconds: number
  readonly series: {
    readonly signIns: Readonly<Record<string, Line>>
    readonly signInsByHandler: Readonly<Record<string, Line>>
    readonly refusals: Readonly<Record<string, Line>>
    readonly refusalsByHandler: Readonly<Record<string, Line>>
    readonly requests: Readonly<Record<string, Line>>
    readonly serverErrors: Line
    readonly latencyMs: { readonly p50: Line; readonly p95: Line }
    readonly upstreamMs: { readonly p50: Line; readonly p95: Line }
  }
  readonly totals: Readonly<
    Record<'signIns' | 'refusals' | 'requests' | 'serverErrors' | 'lockouts' | 'revokedSessions', number>
  >
  readonly lockedAccounts: number
  readonly refusedUnknownNames: number
  readonly health: OverviewHealth
}

export interface OverviewHealth {
  readonly node: string
  readonly store: string
  readonly parts: readonly { readonly name: string; readonly isWorking: boolean; readonly problem: string | null }[]
  readonly upstreams: readonly UpstreamStatus[]
  readonly nodes: { readonly total: number; readonly ready: number } | null
  readonly certificates: readonly { readonly listener: string; readonly expiresAt: number }[]
  readonly secrets: readonly { readonly option: string; readonly ageSeconds: number }[]
  readonly warnings: readonly string[]
  readonly needRestart: readonly string[]
}

export interface ServerNode {
  readonly name: string
  readonly instance: string
  readonly version: string
  readonly startedAt: number
  readonly seenAt: number
  readonly lagMs: number
  readonly keysHash: string
  readonly isReady: boolean
  readonly isLost: boolean
  readonly isThisNode: boolean
  readonly problems: readonly string[]
}

/** A record of the audit trail; further fields depend on the kind of event. */
export interface AuditRecord {
  readonly id: string
  /** In milliseconds since the epoch. */
  readonly time: number
  readonly node: string
  readonly event: string
  readonly outcome: 'success' | 'failure'
  readonly actor?: string
  readonly subject?: string
  readonly peer?: string
  readonly door?: string
  readonly handler?: string
  readonly reason?: string
  readonly count?: number
  /** The record is about so many names, and `subject` says so. */
  readonly names?: number
  readonly [field: string]: unknown
}

export interface AuditList {
  readonly records: readonly AuditRecord[]
  readonly next?: string
}

export interface AuditEventKind {
  readonly event: string
  /** A short name, in lower case. */
  readonly sentence: string
  /** A sentence with `{field}` where values belong. */
  readonly story: string
}

export interface KeyRing {
  /** The option that names the secrets. */
  readonly option: string
  /** What they are for. */
  readonly use: string
  readonly source: string
  /** Why the last reload failed. */
  readonly problem: string | null
  readonly keys: readonly {
    readonly hashPrefix: string
    /** Whether it signs; the others only verify. */
    readonly isActive: boolean
    readonly algorithm: string
    readonly file?: string
    readonly ageSeconds?: number
  }[]
}

export type RotationStep = 'add' | 'activate' | 'retire'

export interface RotationState {
  readonly next?: RotationStep
  /** From when on `retire` rejects no valid token. */
  readonly until?: number
  /** Why no step can be taken. */
  readonly problem?: string
}

export interface SecretList {
  readonly rings: readonly KeyRing[]
  readonly rotation: RotationState
}
