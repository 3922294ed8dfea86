import type { CacheCounts } from '../base/caches.ts'
import type { SharedClock } from '../base/clock.ts'
import type { Log } from '../base/log.ts'
import type { Siblings } from '../base/siblings.ts'
import type { SecurityEvents } from '../observe/security-events.ts'
import type { Hasher } from '../passwords/hasher.ts'
import type { PasswordRules } from '../passwords/password-rules.ts'
import type { HashParameters } from '../passwords/schemes/scheme.ts'
import type { AdministratorAccount } from './administrators.ts'
import type { KeptSession } from './session-epoch.ts'
import type { Change, Position } from './store-port/changes.ts'
import type { Store } from './store-port/store.ts'
import type { Json, Passkey, RoleIssuers, User } from './users/user.ts'

/** Another server that has the users. Those in the store are a copy. */
export interface UserSource {
  /** Whether the copy is incomplete or too old. Then users cannot sign in, as if the store did not respond. */
  isStale(): boolean
  /** Whether a weaker stored form of a password that was verified may be replaced there. */
  upgradesHashes(): boolean
  /** How new passwords are hashed so that the source can verify them. */
  toHashParameters(configured: HashParameters): Promise<HashParameters>
  /** The store, through which writes of users reach the source first. */
  wrap(store: Store): Store
}

export interface DirectoryDeps {
  readonly store: Store
  /** Left out: the users are those of the store. */
  readonly source?: UserSource | undefined
  readonly hasher: Hasher
  readonly administration: Administration
  /** The current options; called for each use. */
  settings(): DirectorySettings
  /** Follows the changes of the store. */
  follow(options: FollowOptions): Follower
  readonly clock: SharedClock
  readonly siblings: Siblings
  /** Counts the uses of the cached users. */
  readonly cacheCounts?: CacheCounts
  /** Cardea's own key, shared by the nodes of a store and unknown to other servers. */
  ownKey(): Uint8Array
  readonly events: SecurityEvents
  /** Records changes of fields that modules know. */
  readonly recordFurther: RecordUserChange
  readonly log: Log
}

/** Compares a user before and after a write. */
export type RecordUserChange = (events: SecurityEvents, before: User | undefined, after: User) => void

/** The options that the directory reads, by section, under their own names, and what is computed from several. */
export interface DirectorySettings {
  readonly chttpd_auth: {
    /** The most iterations of an administrator's password that is set in a stored form. */
    readonly max_iterations: number
    /** Whether a password with a weaker stored form is hashed again at the next sign-in. */
    readonly upgrade_hash_on_auth: boolean
    /** How many users are cached. */
    readonly auth_cache_size: number
    /** How many sessions one name can have at a time; 0: any number. */
    readonly max_sessions: number
  }
  /** How long cached data is used while the store does not respond, in milliseconds. */
  readonly store: { readonly 'max-staleness': number }
  /** Accounts with one of these roles need a second factor; administrators have the role `_admin`. */
  readonly admin: { readonly 'second-factor-roles': readonly string[] }
  /** `folded`: new names must differ from all others in more than case and compatibility forms. */
  readonly auth: { readonly names: 'exact' | 'folded' }
  /** How new passwords are hashed. */
  readonly parameters: HashParameters
  readonly rules: PasswordRules
  /** From now on, how long a cookie or token of any session can be accepted at most, renewals of running requests included. */
  readonly maxSessionSeconds: number
  /** Only users that a token of another issuer asserts have names that begin so. In small letters. */
  readonly reservedPrefixes: readonly string[]
  /** Whether a verified address signs in, too. Then no name may be the address of another user. */
  readonly addressesSignIn: boolean
  /** The issuers of external accounts that give roles. Other roles that issuers gave earlier are stored and have no effect. Never changes. */
  readonly roleIssuers: RoleIssuers
  /** In how many ways the user can sign in without a password, as this server is configured now. */
  countWaysIn(user: Pick<User, 'passkeys' | 'links'>): number
}

/** A pure function: it may be called again if another change was faster. */
export type ChangePasskeys = (passkeys: readonly Passkey[]) => readonly Passkey[]

/** The current administrators. They are part of the configuration. */
export interface Administration {
  accounts(): ReadonlyMap<string, AdministratorAccount>
  /** When the administrator was last created, changed or deleted at run time, in seconds; `undefined`: never. */
  changedAt(name: string): number | undefined
  /** Up to which change administrators and settings are known. */
  position(): Position
  /** Replaces a stored form by another one of the same password, unless it has changed. Revokes all sessions. */
  replaceHash(name: string, from: string, to: string): Promise<void>
  /** Raises the session epoch of an administrator on every node. Its password stays, and so does the kept session. */
  endSessions(name: string, kept?: KeptSession): Promise<void>
  /** Sets or removes the second factor of an administrator, on every node. Its sessions stay. */
  setTotp(name: string, totp: Json | undefined): Promise<void>
  /**
   * Changes the passkeys of an administrator, on every node. One that is removed ends all its sessions; with `ending` a
   * change ends all but the kept one. Returns whether it did.
   */
  setPasskeys(
    name: string,
    change: ChangePasskeys,
    ending?: { readonly kept: KeptSession | undefined },
  ): Promise<boolean>
  /** Reads the run-time layer again. Throws only if the store cannot be reached. */
  refresh(): Promise<void>
}

export interface FollowOptions {
  /** Up to which change everything is known already. */
  readonly from: Position
  /** Up to which change more was read than was followed: it must be in the history of the store too. */
  alsoRead(): Position
  /** If it fails, the same changes are delivered again, with later ones. */
  readonly onChange: (changes: readonly Change[]) => Promise<void> | void
  /** The store has another history, as after a failover that lost writes: everything known is invalid. */
  readonly onReset: () => Promise<void> | void
  /** A poll failed; `ageMs`: time since the last successful one. Must not throw. */
  readonly onStale: (failure: { readonly error: unknown; readonly ageMs: number }) => void
  /** The first successful poll after a failed one. Must not throw. */
  readonly onRecovered: () => void
}

export interface Follower {
  /** All changes up to this sequence are delivered. 0 while everything known is invalid. */
  sequence(): number
  /** Time since the start of the last successful poll. Also grows while the store does not respond. */
  stalenessMs(): number
  /** Resolves when every change written before this call has been delivered. Throws what prevented that. */
  catchUp(): Promise<void>
  stop(): Promise<void>
}

/**
 * `session`: with a `successor`, a sign-in of its user has replaced it, and its streams go on under that session.
 * `account`: every credential of the name must be checked again. `everything`: of every name.
 */
export type Revocation =
  | { readonly kind: 'session'; readonly id: string; readonly name: string; readonly successor?: string }
  | { readonly kind: 'account'; readonly name: string }
  | { readonly kind: 'everything' }
