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
import type { SessionDirectory, SessionList } from '../../directory/sessions/session-directory.ts'
import type { PasswordLinkStore } from '../../directory/store-port/one-time-secrets.ts'
import type { UserEditor, UserImporter, UserReader, UserSearch } from '../../directory/users/user-directory.ts'
import type { AuditReader } from '../../observe/audit/audit-store.ts'
import type { SecurityEvents } from '../../observe/security-events.ts'
import type { PasswordRules } from '../../passwords/password-rules.ts'
import type { Right } from './rights.ts'
import type { Health, ReloadResult } from './system/health.ts'
import type { Monitor } from './system/monitor.ts'
import type { SecretsEditor } from './system/secrets-editor.ts'
import type { SettingsEditor } from './system/settings-editor.ts'
import type { LimitEditor } from './users/limit-editor.ts'

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
    Pick<SessionDirectory, 'hasProvedFactor'> &
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
  health(): Promise<Health>
  /** Reads the whole configuration again. */
  reload(): Promise<ReloadResult>
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
