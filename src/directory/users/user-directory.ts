import type { GrantPlace } from '../grants.ts'
import type { UserRange } from '../store-port/users.ts'
import type { GrantLevel, NewPassword, User, UserDraft, UserRecord } from './user.ts'

/** The expected `_rev` of the document, or `any`. */
export type ExpectedRevision = string | 'any'

/** The request that waits for a new password to be hashed. */
export interface Caller {
  /** Aborted when the client disconnects: a password that is not being hashed yet is dropped. */
  readonly signal?: AbortSignal
  /** Address of the client. Omitted for administrators and the server itself. */
  readonly peer?: string
}

export interface ChangeOptions extends Caller {
  /** Throws `conflict` if the user has another revision. `any` by default. */
  readonly expected?: ExpectedRevision
  /** Set after `change`. A password other than the current one revokes all sessions. */
  readonly password?: NewPassword
  /** Whether the user must change another password that is set here. `false` by default. */
  readonly mustChangePassword?: boolean
  /** The request has confirmed the second factor that is set here with a code: its session is not revoked. */
  readonly confirmsFactor?: boolean
}

export interface SetPasswordOptions extends Pick<ChangeOptions, 'expected'>, Caller {
  /** Whether the user must change it. Omitted: not if it is another password than the current one. */
  readonly mustChangePassword?: boolean
}

export interface UserReader {
  /** The user as stored now, active or not. */
  findUser(name: string): Promise<User | undefined>
  /** The user, or the tombstone of a deleted one. */
  findRecord(name: string): Promise<UserRecord | undefined>
  /** One page, ordered by the bytes of the names. A page shorter than the limit is the last one. */
  listUsers(range: UserRange): Promise<readonly User[]>
  countUsers(): Promise<number>
}

export interface UserEditor {
  /** Returns the user as stored, with its revision. The name of a user or administrator is taken. */
  createUser(draft: UserDraft, caller?: Caller): Promise<User>
  /**
   * Replaces the user by what `change` returns. `change` must be a pure function: it is called again if another writer
   * was faster. The directory sets name, revision and session epoch itself. Another password, another second
   * factor or a deactivation revokes all sessions. A user who removes or replaces the own second factor must have proved
   * it.
   */
  changeUser(name: string, change: (user: User) => User, options?: ChangeOptions): Promise<User>
  setPassword(name: string, password: NewPassword, options?: SetPasswordOptions): Promise<User>
  setActive(name: string, isActive: boolean): Promise<User>
  /** `undefined` removes the grant. `*` means all databases, or all collections. */
  setGrant(name: string, place: GrantPlace, level: GrantLevel | undefined): Promise<User>
  /** Revokes all current sessions and tokens. */
  signOut(name: string): Promise<User>
  /** Returns the revision of the deletion. */
  removeUser(name: string, expected: ExpectedRevision): Promise<string>
}

/** The result for one draft. `kept`: the name was taken, or the user equals the draft; nothing was changed. */
export type ImportOutcome =
  | { readonly kind: 'created' | 'replaced' | 'kept' }
  | { readonly kind: 'refused'; readonly error: Error }

export interface ImportOptions {
  /** Nothing is written: the outcomes are those a real import would have. */
  readonly isTrial?: boolean
}

export interface UserImporter {
  /** Imports a few hundred drafts in one transaction. Each has its own outcome, in the same order. */
  importUsers(
    drafts: readonly UserDraft[],
    onTaken: 'keep' | 'replace',
    options?: ImportOptions,
  ): Promise<readonly ImportOutcome[]>
}

export interface UserQuery {
  /** The beginning of the name or of a role, in any case. */
  readonly prefix?: string
  /** A role, in any case. */
  readonly role?: string
  readonly status?: 'disabled' | 'expired'
  /** `next` of the previous page. */
  readonly after?: string
  readonly limit: number
}

export interface UserSearchPage {
  readonly users: readonly User[]
  /** `undefined`: this was the last page. */
  readonly next: string | undefined
}

export interface UserSearch {
  /** Users that match all conditions, those with a matching name first. A short page need not be the last one. */
  searchUsers(query: UserQuery): Promise<UserSearchPage>
}
