/**
 * The directory: users, administrators and their sessions, as both doors and the command line know them. Every operation
 * is whole, and when one has answered, this process accepts the old state no longer; other nodes follow within a second.
 *
 * All operations throw a `Refusal`: `not_found` for a name nobody has, `conflict` for a revision that is not the current
 * one or a name that is taken, `bad_request` for a name or role that cannot be one, `password_refused` for a new password
 * that breaks a rule, `overloaded` where too much hashing waits, `store_unavailable` where the store cannot be reached.
 */

import type { MaybePromise } from '../base/maybe-promise.ts'
import type { HashWork } from '../passwords/hash-work.ts'
import type { StoredPassword } from '../passwords/schemes.ts'
import type { Account } from './account.ts'
import type { SessionOwner } from './session-id.ts'
import type { EndedSession, UserRange } from './store-port.ts'
import type { DocumentPayload, GrantLevel, MultiModelPayload, SessionEpoch, User, UserRecord } from './user.ts'

/** The `_rev` of the document that was seen, or whatever there is. */
export type ExpectedRevision = string | 'any'

/** In clear, to be judged by the rules and hashed; or as it was stored elsewhere, which no rule can judge. */
export type NewPassword = PlainPassword | { readonly stored: StoredPassword }

export interface PlainPassword {
  readonly password: string
  /** Kept instead of a new one. */
  readonly salt?: string
}

/** A user to be made. What is left out is empty; without a password the user cannot sign in with one. */
export interface UserDraft {
  readonly name: string
  readonly password?: NewPassword
  /** Its password could not be carried here: where an import puts it in the place of a user, that one's stays. */
  readonly keepsPassword?: boolean
  /** `true` unless given. */
  readonly isActive?: boolean
  readonly roles?: DocumentPayload['roles']
  readonly members?: DocumentPayload['members']
  readonly multiModel?: Partial<MultiModelPayload>
  /** The revision a user had elsewhere. It counts where the name was never used here. */
  readonly revision?: string
  /** What had ended elsewhere stays ended. */
  readonly sessionEpoch?: SessionEpoch
}

/** Whose request a new password waits for. */
export interface Caller {
  /** Aborted when the caller no longer waits: a password that still waits to be hashed is given up. */
  readonly signal?: AbortSignal
  /** Address of the client. Left out: an administrator or the server itself. */
  readonly peer?: string
}

export interface ChangeOptions extends Caller {
  /** Put in place of the old one after `change`. Another password than the current one ends all sessions. */
  readonly password?: NewPassword
}

/** What became of one draft of an import. `kept`: the name was taken, or all is as the draft says: nothing was changed. */
export type ImportOutcome =
  | { readonly kind: 'created' | 'replaced' | 'kept' }
  | { readonly kind: 'refused'; readonly error: Error }

export interface ImportOptions {
  /** Nothing is written: the outcomes are those there would be. */
  readonly isTrial?: boolean
}

export interface UserDirectory {
  /** As the store has it now, active or not. */
  findUser(name: string): Promise<User | undefined>
  /** The same, or what stays of a deleted user. */
  findRecord(name: string): Promise<UserRecord | undefined>
  /** One page, in the order of the names' bytes. Fewer users than the limit: the end is reached. */
  listUsers(range: UserRange): Promise<readonly User[]>
  countUsers(): Promise<number>
  /** Answers with the user as it is stored, its revision included. A name of a user or administrator is taken. */
  createUser(draft: UserDraft, caller?: Caller): Promise<User>
  /**
   * Puts what `change` makes of the user in its place. It is asked again where somebody else was faster, so it must be a
   * pure function of its argument. Name, revision and `sessionEpoch` stay with the directory, whatever it gives; another
   * password or a deactivation ends all sessions.
   */
  changeUser(
    name: string,
    expected: ExpectedRevision,
    change: (user: User) => User,
    options?: ChangeOptions,
  ): Promise<User>
  setPassword(name: string, password: NewPassword, options?: SetPasswordOptions): Promise<User>
  setActive(name: string, isActive: boolean): Promise<User>
  setRoles(name: string, roles: readonly string[]): Promise<User>
  /** `undefined` takes the grant away. `*` stands for all databases, or all collections. */
  setGrant(name: string, database: string, level: GrantLevel | undefined, collection?: string): Promise<User>
  /** Ends all sessions and tokens there are now. */
  signOut(name: string): Promise<User>
  /** Answers with the revision of the deletion. */
  removeUser(name: string, expected: ExpectedRevision): Promise<string>
  /** All drafts at once, each with its own outcome, in their order. Some hundred at a time. */
  importUsers(
    drafts: readonly UserDraft[],
    onTaken: 'keep' | 'replace',
    options?: ImportOptions,
  ): Promise<readonly ImportOutcome[]>
}

export interface SetPasswordOptions extends Caller {
  readonly expected?: ExpectedRevision
}

export interface Administrator {
  readonly name: string
  /** The stored form, as `[admins]` shows it. */
  readonly text: string
}

/** `stored` is a text in one of the forms of `[admins]`, kept as it is given; another one is a `bad_request`. */
export type NewAdministratorPassword = { readonly password: string } | { readonly stored: string }

/**
 * Administrators live in the run-time layer of the configuration. Whatever changes one ends all sessions of the name;
 * setting the password it has changes nothing.
 */
export interface AdministratorDirectory {
  listAdministrators(): readonly Administrator[]
  isAdministrator(name: string): boolean
  /** Makes one or changes one. Answers with the stored form. */
  setAdministrator(name: string, password: NewAdministratorPassword, caller?: Caller): Promise<string>
  /** Answers with the stored form that was removed. The last one stays: `forbidden`. */
  removeAdministrator(name: string): Promise<string>
}

/** One sign-in, whatever cookie or token carries it. */
export interface Session {
  /** 16 random bytes in base64url. */
  readonly id: string
  readonly name: string
  /** That of the account when the session began. */
  readonly generation: number
  /** Seconds since the epoch. */
  readonly issuedAt: number
}

/** What is known of a token somebody else issued. `issuedAt` is its `iat`; `now` of who vouches anew each time. */
export interface ForeignToken {
  readonly name: string
  /** Of a session opened with it. */
  readonly id?: string
  readonly issuedAt: number | 'now' | undefined
}

/** `account`: what was let in under this name must be judged anew. `everything`: under any name. */
export type Ended =
  | { readonly kind: 'session'; readonly id: string; readonly name: string }
  | { readonly kind: 'account'; readonly name: string }
  | { readonly kind: 'everything' }

export interface SessionOpening {
  /** Whether the password was shown to open it, and not something in its place. */
  readonly hasPassword: boolean
}

export interface EndingSession extends EndedSession {
  /** The mark of the access token the session rests on. */
  readonly accessToken?: string | undefined
}

export interface SessionDirectory {
  /** Takes the account that signed in, not its name: if the password changed meanwhile, the session has ended already. */
  createSession(account: Account, opening?: SessionOpening): Session
  /** When this session was opened with the password, in seconds; `undefined`: it was not. Whether it is live is not asked. */
  findPasswordTime(id: string, owner: SessionOwner): number | undefined
  /** Also of a session renewed since. Nobody who is gone or inactive has one. */
  isSessionLive(session: Session): Promise<boolean>
  /** Whether this very session has ended, as far as is known here. */
  isSessionEnded(id: string): boolean
  /** Whether `sessionEpoch` of that name allows it; a name nobody has, nothing stands against. */
  isForeignTokenLive(token: ForeignToken): MaybePromise<boolean>
  /** `expiresAt`: when no copy of it would be accepted anyway, renewals included. */
  endSession(session: EndingSession): Promise<void>
  /** Told after the fact, at once for changes made here. Must not throw. Returns the end of it. */
  onEnded(listener: (ended: Ended) => void): () => void
}

export interface UpgradeOptions {
  /** Whether the password was given to open a session, and not with a single request. `true` unless given. */
  readonly opensSession?: boolean
}

/** Who can sign in. */
export interface AccountDirectory {
  /**
   * An administrator, with the roles of a user of that name besides; else an active user. From memory where possible:
   * as long as what is known is younger than the limit, the store is not needed.
   */
  findAccount(name: string): MaybePromise<Account | undefined>
  /** What the passwords of users and administrators cost: of each PRF the most iterations at least. */
  storedWork(): readonly HashWork[]
  /**
   * Hashes the password as configured where its stored form is weaker, salt kept; gives the account as it is then. A
   * user's in the background, sessions kept: if it fails, it is tried again at a later sign-in. An administrator's
   * before this answers, because its earlier sessions end with it.
   */
  upgradeHash(account: Account, password: string, options?: UpgradeOptions): MaybePromise<Account>
}

export interface Directory extends UserDirectory, AdministratorDirectory, SessionDirectory, AccountDirectory {
  /** Age of what is known of changes made elsewhere. */
  stalenessMs(): number
  /** Whether that is young enough to let anybody in, now or after a short look at the store. */
  isFresh(): Promise<boolean>
  /** Answers when all that was written before, anywhere, holds here. */
  catchUp(): Promise<void>
  /** Follows changes no longer. The store stays open. */
  close(): Promise<void>
}
