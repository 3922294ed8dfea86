import { Refusal } from '../../base/errors.ts'
import type { Account } from '../../directory/account.ts'
import type {
  AccountDirectory,
  AdministratorDirectory,
  SignInLog,
  TokenUses,
} from '../../directory/account-directory.ts'
import type { DoorAccess } from '../../directory/door-access.ts'
import type { Identity } from '../../directory/identity.ts'
import type { SecondFactors } from '../../directory/second-factor/second-factor.ts'
import type { SessionList } from '../../directory/sessions/session-directory.ts'
import type { PasswordLinkStore } from '../../directory/store-port/one-time-secrets.ts'
import type { UserEditor, UserImporter, UserReader, UserSearch } from '../../directory/users/user-directory.ts'
import type { AuditRecord } from '../../observe/audit/audit-record.ts'
import type { AuditRange } from '../../observe/audit/audit-store.ts'
import type { SecurityEvents } from '../../observe/security-events.ts'
import type { PasswordRules } from '../../passwords/password-rules.ts'
import type { Right } from './rights.ts'
import type { Monitor } from './system/monitor.ts'
import type { SecretsEditor } from './system/secrets-editor.ts'

/** One operation of the admin API, for a request or for a command that has opened the store itself. */
export interface Operation<R> {
  readonly method: 'GET' | 'POST' | 'PUT' | 'DELETE'
  /** Below `/_cardea/api`. */
  readonly path: string
  /** Who may call it. Left out: administrators. */
  readonly allowed?: Right
  /** Whether a user who must change the password may call it before that. */
  readonly isBeforePasswordChange?: true
  run(deps: OperationDeps, call: Call): R | Promise<R>
}

export interface OperationDeps {
  readonly directory: UserReader &
    UserSearch &
    UserEditor &
    UserImporter &
    AdministratorDirectory &
    Pick<AccountDirectory, 'findAccount'> &
    Pick<SessionList, 'listSessions' | 'revokeSession'> &
    Pick<SignInLog, 'findLastSignIns'> &
    Pick<TokenUses, 'listTokenUses'> &
    Omit<SecondFactors, 'spendCode'>
  readonly passwordLinks: PasswordLinkStore
  /** The URL at which users reach the console; empty: not configured. */
  publicUrl(): string
  readonly limits: LimitEditor
  readonly events: SecurityEvents
  readonly audit: AuditReader
  readonly settings: SettingsEditor
  /** The role of users who may manage other users; empty: there are none. */
  userAdminRole(): string
  /** What the account may do at each door, and why. */
  explainAccess(account: Account, database: string): readonly DoorAccess[]
  /** The rules for new passwords. */
  passwordRules(): PasswordRules
  readonly secrets: SecretsEditor
  readonly monitor: Monitor
  health(): Health
  /** Reads the whole configuration again. */
  reload(): Promise<ReloadResult>
}

export interface AuditErased {
  /** What the records show in place of the name. */
  readonly pseudonym: string
  /** How many records were changed. */
  readonly records: number
}

export interface AuditReader {
  /** One page, with the records that were not written yet when it was called. */
  list(range: AuditRange): Promise<readonly AuditRecord[]>
  /** Replaces the name in all records, and the addresses that this user had. */
  erase(name: string): Promise<AuditErased>
}

export interface AccountLimit {
  /** How many client addresses are locked out. 0: clients of every address have to wait. */
  readonly lockedPeers: number
  /** Some of them. */
  readonly peers: readonly string[]
  readonly untilMs: number
}

/** The limits on password checks of one account. */
export interface LimitEditor {
  /** `undefined`: no client is locked out. */
  find(account: LimitedAccount): Promise<AccountLimit | undefined>
  /** How many names are locked for at least one client, including names that no account has, as far as this node knows. */
  countLocked(): number
  /** Names of accounts that are locked for at least one client, as far as this node knows. */
  listNames(): readonly string[]
  /** Forgets the failures of the account on every node. */
  lift(account: LimitedAccount): Promise<void>
}

export interface LimitedAccount {
  readonly name: string
  /** Of the stored password: a new password starts without failures. */
  readonly salt: string
}

export interface Call {
  /** The values of `{name}` in the path. */
  readonly params: Readonly<Record<string, string>>
  readonly query: URLSearchParams
  /** Parsed JSON, not checked yet. */
  readonly body: unknown
  /** Aborted when the caller no longer waits. */
  readonly signal?: AbortSignal
  /** Left out for a command that has opened the store itself. */
  readonly caller?: Caller
}

export interface Caller {
  /** `null`: the owner of the process at its socket, or a superuser token. */
  readonly name: string | null
  readonly identity: Identity
  readonly right: Right
  /** The session of the request, if it has one. */
  readonly sessionId: string | undefined
  /** Whether it is the owner of the process, at its socket. */
  readonly isOwner: boolean
  /** Throws unless the credential has proved the password recently and `current`, if it was sent, is that password. */
  requirePassword(current: string | undefined): Promise<void>
  /** The same, but a session needs `current` even if it proved the password recently. */
  requireCurrentPassword(current: string | undefined): Promise<void>
  /** Gives a browser a new session, after its own has ended with a new password. */
  reopenSession(): Promise<void>
  /** Address of the client. */
  readonly peer: string
  /** Scheme and host of the URL that the client used; `undefined` on a socket. */
  readonly origin: string | undefined
}

/** The name of the caller's own account. The owner of the process and superuser tokens have none. */
export function requireAccountName({ caller }: Call): string {
  if (caller && caller.name !== null) return caller.name
  throw new Refusal('forbidden', { about: 'This credential belongs to no account.' })
}

/** The member of a body that holds the current password, for sessions that have not proved it recently. */
export const CURRENT_PASSWORD = 'current_password'

/** For changes of the caller's own account. Other accounts may be changed with any credential of an administrator. */
export async function requireOwnPassword({ caller }: Call, name: string, current: string | undefined): Promise<void> {
  if (caller?.name === name) await caller.requirePassword(current)
}

/** One setting in replies; secrets are masked. */
export interface ShownSetting {
  readonly name: string
  readonly value: string
  readonly source: string
  readonly isDefault: boolean
  readonly note?: string
}

/** An option of the table. */
export interface ShownOption {
  readonly name: string
  readonly section: string
  readonly key: string
  readonly help: string
  readonly details?: string
  /** What is accepted, in words. */
  readonly expects: string
  readonly type: 'boolean' | 'list' | 'choice' | 'text'
  readonly choices?: readonly string[]
  readonly default: string
  /** The configured value; secrets are masked. */
  readonly value: string
  readonly source: { readonly kind: string; readonly text: string }
  /** When it was set at run time, in seconds since the epoch. */
  readonly changedAt?: number
  readonly isSecret: boolean
  readonly effect: 'live' | 'restart'
  /** The value in use, where the configured one waits for a restart. */
  readonly running?: string
  /** Why it cannot be changed at run time, as a clause after "because"; absent: it can. */
  readonly fixed?: string
}

export interface OptionList {
  readonly sections: readonly { readonly name: string; readonly help: string }[]
  readonly options: readonly ShownOption[]
}

export interface SettingPreview {
  readonly name: string
  /** Secrets are masked, also in `value`. */
  readonly current: string
  /** `null`: the value made at run time is removed. */
  readonly value: string | null
  /** Why the change would be refused; empty: it would be made. */
  readonly problems: readonly string[]
  /** What the change does, in sentences. */
  readonly effects: readonly string[]
  readonly needsRestart: boolean
}

export interface SettingsEditor {
  /** Every option of the table. */
  listOptions(): Promise<OptionList>
  /** What a change would do. Changes nothing. */
  preview(change: Omit<NewSetting, 'text'> & { readonly text: string | undefined }): SettingPreview
  /** All current settings, including defaults. */
  list(): readonly ShownSetting[]
  /** Resolves when the setting is in effect or waits for a restart. Throws a `Refusal` if it cannot be set. */
  set(setting: NewSetting, options: SetOptions): Promise<SettingChange>
  /** Settings made at run time, in clear. */
  listStored(): Promise<readonly StoredSetting[]>
  /** Removes the stored value, so that files, environment and defaults apply again. */
  unset(section: string, key: string): Promise<SettingChange>
}

export interface StoredSetting extends NewSetting {
  readonly isSecret: boolean
}

export interface NewSetting {
  readonly section: string
  readonly key: string
  readonly text: string
}

export interface SetOptions {
  /** For the cookie secret: cookies signed with earlier secrets are rejected at once. */
  readonly isImmediate: boolean
}

export interface SettingChange {
  readonly name: string
  /** Secrets are masked; empty: there was none. */
  readonly previous: string
  readonly value: string
  /** How to undo the change: set `previous`, or remove the new value. `null`: `previous` is a masked secret. */
  readonly undo: 'set' | 'unset' | null
  readonly needsRestart: boolean
  /** Warnings about the new value. */
  readonly warnings: readonly string[]
}

/** The state of this node. */
export interface Health {
  readonly product: string
  readonly version: string
  readonly pid: number
  readonly store: string
  /** The age of this node's knowledge of changes that other nodes made. */
  readonly stalenessMs: number
  /** Empty where no upstream is configured. */
  readonly upstreams: readonly UpstreamStatus[]
  readonly node: string
  /** When the process started, in seconds since the epoch. */
  readonly startedAt: number
  /** The URLs of all listeners. */
  readonly listening: readonly string[]
  /** Changed options that take effect at the next start. */
  readonly needRestart: readonly string[]
  /** Warnings about the configuration. */
  readonly warnings: readonly string[]
}

/** Whether the upstream of a door can be used, and what to change if it cannot. */
export interface UpstreamStatus {
  readonly door: string
  readonly isReady: boolean
  readonly findings: readonly {
    readonly upstream: string
    readonly problem: string
    readonly reason: string
    readonly check: string
  }[]
}

export interface ReloadResult {
  /** `false`: the configuration has problems, and the previous one is kept. */
  readonly applied: boolean
  readonly problems: readonly string[]
  readonly changed: readonly string[]
  readonly needRestart: readonly string[]
  /** The options whose files had other secrets than before, each with their number. */
  readonly secrets: readonly string[]
}
