// What the admin API returns, as far as the console uses it. `…At` is in seconds since the epoch.

export type Rights = 'administrator' | 'userAdmin' | 'user'

export interface Session {
  /** `null`: not signed in. */
  readonly name: string | null
  readonly isAdministrator: boolean
  readonly roles?: readonly string[]
  readonly server?: string
  readonly rights?: Rights
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
}

export interface UserPage {
  readonly users: readonly User[]
  readonly next?: string
}

export interface UserDetails extends User {
  readonly totp: boolean
  readonly sessions: number
  readonly lastSignIn: { readonly at: string; readonly peer: string } | null
  readonly lockout: { readonly addresses: number; readonly until: string } | null
  /** Whether the caller may change this user. */
  readonly canEdit?: boolean
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
    readonly rules: readonly { readonly what: string; readonly isAllowed: boolean; readonly because: string }[]
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
  readonly createdAt?: number
  readonly expiresAt?: number | null
  readonly usedAt?: number | null
}
