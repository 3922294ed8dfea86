/**
 * The directory: users, administrators and their sessions, for both doors and the command line. Every operation is
 * atomic. When it resolves, this process no longer accepts the previous data; other nodes follow within a second.
 *
 * Operations throw a `Refusal`: `not_found` for an unknown name, `conflict` for an outdated revision or a taken name,
 * `bad_request` for an invalid name or role, `password_refused` for a new password that breaks a rule, `overloaded` if
 * too many passwords wait to be hashed, `store_unavailable` if the store cannot be reached.
 */
import type { HashWork } from '../passwords/hash-work.ts'
import type { StoredPassword } from '../passwords/schemes.ts'
import type { Account } from './account.ts'
import type { GrantPlace } from './grants.ts'
import type { Session, SessionOwner } from './session.ts'
import type { EndedSession, LastSignIn, SessionRecord, SessionRecordRange, UserRange } from './store-port.ts'
import type { DocumentPayload, GrantLevel, MultiModelPayload, SessionEpoch, User, UserRecord } from './user.ts'

/** The expected `_rev` of the document, or `any`. */
export type ExpectedRevision = string | 'any'

/** In clear, to be checked by the rules and hashed; or in a stored form, which no rule can check. */
export type NewPassword = PlainPassword | { readonly stored: StoredPassword }

export interface PlainPassword {
  readonly password: string
  /** Used instead of a new one. */
  readonly salt?: string
}

/** A user to be created. Omitted members are empty; without a password the user cannot sign in with one. */
export interface UserDraft {
  readonly name: string
  readonly password?: NewPassword
  /** The password could not be exported. An import that replaces a user keeps the existing password. */
  readonly keepsPassword?: boolean
  /** `true` by default. */
  readonly isActive?: boolean
  readonly expiresAt?: number
  readonly mustChangePassword?: boolean
  readonly roles?: DocumentPayload['roles']
  readonly members?: DocumentPayload['members']
  readonly multiModel?: Partial<MultiModelPayload>
  /** The revision the user had elsewhere. Used only if the name was never used here. */
  readonly revision?: string
  /** The session epoch the user had elsewhere. The later of the two counts. */
  readonly sessionEpoch?: SessionEpoch
}

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
}

export interface SetPasswordOptions extends Pick<ChangeOptions, 'expected'>, Caller {
  /** Whether the user must change it. Omitted: not if it is another password than the current one. */
  readonly mustChangePassword?: boolean
}

/** The result for one draft. `kept`: the name was taken, or the user equals the draft; nothing was changed. */
export type ImportOutcome =
  | { readonly kind: 'created' | 'replaced' | 'kept' }
  | { readonly kind: 'refused'; readonly error: Error }

export interface ImportOptions {
  /** Nothing is written: the outcomes are those a real import would have. */
  readonly isTrial?: boolean
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
  /** Users that match all of it: by name, then by role. A page may be shorter than its limit and not be the last one. */
  searchUsers(query: UserQuery): Promise<UserSearchPage>
}

export interface UserEditor {
  /** Returns the user as stored, with its revision. The name of a user or administrator is taken. */
  createUser(draft: UserDraft, caller?: Caller): Promise<User>
  /**
   * Replaces the user by what `change` returns. `change` must be a pure function: it is called again if another writer
   * was faster. The directory sets name, revision and session epoch itself. Another password or a deactivation revokes
   * all sessions.
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

export interface UserImporter {
  /** Imports a few hundred drafts in one transaction. Each has its own outcome, in the same order. */
  importUsers(
    drafts: readonly UserDraft[],
    onTaken: 'keep' | 'replace',
    options?: ImportOptions,
  ): Promise<readonly ImportOutcome[]>
}

export interface Administrator {
  readonly name: string
  /** The stored form, as in `[admins]`. */
  readonly text: string
  /** Whether a one-time code is needed with the password. */
  readonly hasTotp?: true
}

/** `stored` is a text in one of the forms of `[admins]` and kept as given; any other text is a `bad_request`. */
export type NewAdministratorPassword = { readonly password: string } | { readonly stored: string }

/**
 * Administrators are kept in the run-time layer of the configuration. Every change of one revokes all its sessions;
 * setting its current password again changes nothing.
 */
export interface AdministratorDirectory {
  listAdministrators(): readonly Administrator[]
  isAdministrator(name: string): boolean
  /** Creates or changes one. Returns the stored form. */
  setAdministrator(name: string, password: NewAdministratorPassword, caller?: Caller): Promise<string>
  /** Returns the removed stored form. The last administrator cannot be removed: `forbidden`. */
  removeAdministrator(name: string): Promise<string>
}

/** A token that another issuer signed. `issuedAt` is its `iat`; `now` for a source that confirms every request. */
export interface ForeignToken {
  readonly name: string
  /** The id of a session opened with it, and the mark of the token. */
  readonly id?: string
  readonly mark?: string
  readonly issuedAt: number | 'now' | undefined
}

export interface SessionOpening {
  /** Whether the session was opened with the password itself. */
  readonly hasPassword: boolean
  /** The mark of the access token it was opened with. */
  readonly accessToken?: string | undefined
}

export interface EndingSession extends EndedSession {
  /** The mark of the access token the session was opened with. */
  readonly accessToken?: string | undefined
  /** The mark of the token of another issuer that the session was opened with. */
  readonly foreignToken?: string | undefined
}

export interface SessionDirectory {
  /** Takes the account that signed in, not its name: if the password has changed since, the session is revoked already. */
  createSession(account: Account, opening?: SessionOpening): Session
  /** When the session was opened with the password, in seconds; `undefined`: it was not. Does not check if it is live. */
  findPasswordTime(id: string, owner: SessionOwner): number | undefined
  /**
   * Whether the id proves that the session was opened here: with the access token of this mark, or without one with the
   * password. A program that knows the secret of the tokens can make up ids, but no proof.
   */
  isOpenedHere(id: string, owner: SessionOwner, accessToken: string | undefined): boolean
  /** Also for a renewed session. A removed or inactive account has no live session. */
  isSessionLive(session: Session): Promise<boolean>
  /** Whether this node knows that this session, or all sessions of the token with this mark, were ended. */
  isSessionEnded(id: string): boolean
  /** Whether the session epoch of the name allows the token. An unknown name has no epoch and allows all. */
  isForeignTokenLive(token: ForeignToken): Promise<boolean>
  /** Whether the cache shows that it is live; `false`: ask `isForeignTokenLive`. */
  isForeignTokenKnownLive(token: ForeignToken): boolean
  /** `expiresAt`: from then on no copy would be accepted anyway, renewals included. */
  endSession(session: EndingSession): Promise<void>
}

/** A session that a request has opened or used now. */
export type SessionUse = Omit<SessionRecord, 'seenAt'>

export interface SessionPage {
  readonly sessions: readonly SessionRecord[]
  /** To be sent as `after` for the next page; `undefined`: this was the last one. */
  readonly next: SessionRecordRange['after']
}

/** The sessions that are live, for lists. */
export interface SessionList {
  /**
   * Never waits: uses are written in batches, those of one session once a minute. `describe` is called only for a use
   * that is written.
   */
  noteSession(id: string, describe: () => SessionUse): void
  /** The newest first. A page may be shorter than its limit and still not be the last one. */
  listSessions(range: SessionRecordRange): Promise<SessionPage>
  /**
   * Ends the oldest sessions of an account beyond the number it may have, so that another one can be opened. Sessions
   * opened with the password are counted apart from the others. Returns the account to open it for.
   */
  makeRoom(account: Account, opening: SessionOpening): Promise<Account>
  /** The same for a name in a token of another issuer. */
  makeRoomForToken(name: string): Promise<void>
  /** Ends a session on every node. `undefined`: no live session, or none of this name, has this id. */
  revokeSession(id: string, name?: string): Promise<SessionRecord | undefined>
}

/** A second factor that an app has been given, with a code of it as proof. */
export interface NewTotp {
  /** In base32. */
  readonly secret: string
  readonly code: string
}

/** The second factor of users and administrators. */
export interface SecondFactors {
  /** Replaces an earlier one. Returns new recovery codes. A wrong code is a `bad_request`. */
  enableTotp(name: string, totp: NewTotp): Promise<readonly string[]>
  /** Also removes the recovery codes. */
  removeTotp(name: string): Promise<void>
  /** Throws `conflict` if the account has no second factor. */
  replaceRecoveryCodes(name: string): Promise<readonly string[]>
  countRecoveryCodes(account: FactorOwner): Promise<number>
  /** Whether this is a right code, of the app or for recovery. An accepted code cannot be used again on any node. */
  spendCode(account: FactorOwner, code: string): Promise<boolean>
}

export type FactorOwner = Pick<Account, 'name' | 'totp'>

/** When access tokens were used last. */
export interface TokenUses {
  /** Never waits: uses are written in batches, those of one token once a minute. `mark` is that of the token. */
  noteTokenUse(name: string, mark: string): void
  /** Seconds since the epoch, exact to the minute, by the mark of the token. */
  listTokenUses(name: string): Promise<ReadonlyMap<string, number>>
}

/** When accounts last signed in with their password. */
export interface SignInLog {
  /** Never waits: written in batches, for each name at most once a minute. */
  noteSignIn(name: string, peer: string): void
  findLastSignIn(name: string): Promise<LastSignIn | undefined>
}

/** `account`: every credential of the name must be checked again. `everything`: of every name. */
export type Revocation =
  | { readonly kind: 'session'; readonly id: string; readonly name: string }
  | { readonly kind: 'account'; readonly name: string }
  | { readonly kind: 'everything' }

export interface RevocationFeed {
  /** Called after the fact, immediately for changes made by this process. Returns a function that removes the listener. */
  onRevoked(listener: (revocation: Revocation) => void): () => void
}

export interface UpgradeOptions {
  /** Whether the password opens a session and was not sent with a single request. `true` by default. */
  readonly opensSession?: boolean
}

/** The accounts that can sign in. */
export interface AccountDirectory {
  /**
   * An administrator, with the roles of the user of the same name added; otherwise an active user. Served from the cache
   * if possible: while the cache is fresh, the store is not needed.
   */
  findAccount(name: string): Promise<Account | undefined>
  /** The same if it is in the cache; `undefined`: ask `findAccount`. */
  peekAccount(name: string): Account | undefined
  /** The cost of verifying the passwords of users and administrators: at least the most iterations of each PRF. */
  storedWork(): readonly HashWork[]
  /**
   * Hashes the password again, with the same salt, if its stored form is weaker than configured. Returns the account
   * after that. A user's hash is replaced in the background and keeps the sessions; a failure is retried at a later
   * sign-in. An administrator's hash is awaited, because replacing it revokes the earlier sessions.
   */
  upgradeHash(account: Account, password: string, options?: UpgradeOptions): Promise<Account>
  /** Whether `upgradeHash` may have something to do. */
  isUpgradeDue(account: Account): boolean
}

/** How recent this node's view of the store is. */
export interface DirectoryFreshness {
  stalenessMs(): number
  /** Whether the view is recent enough to authenticate, now or after a short query of the store. */
  isFresh(): Promise<boolean>
  /** Resolves when every earlier write of any node is visible here. */
  catchUp(): Promise<void>
}

export interface Directory
  extends UserReader,
    UserSearch,
    UserEditor,
    UserImporter,
    AdministratorDirectory,
    AccountDirectory,
    SessionDirectory,
    SessionList,
    TokenUses,
    SignInLog,
    SecondFactors,
    RevocationFeed,
    DirectoryFreshness {
  /** Writes the uses of sessions noted so far, and stops following changes. The store stays open. */
  close(): Promise<void>
}
