import type { HashWork } from '../passwords/hash-work.ts'
import type { Account } from './account.ts'
import type { LastSignIn } from './store-port/sign-ins.ts'
import type { Caller } from './users/user-directory.ts'

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

export interface UpgradeOptions {
  /** Whether the password opens a session and was not sent with a single request. `true` by default. */
  readonly opensSession?: boolean
}

/** When accounts last signed in with their password. */
export interface SignInLog {
  /** Never waits: written in batches, for each name at most once a minute. */
  noteSignIn(name: string, peer: string): void
  /** By name. Names without a sign-in are missing. */
  findLastSignIns(names: readonly string[]): Promise<ReadonlyMap<string, LastSignIn>>
}

/** When access tokens were used last. */
export interface TokenUses {
  /** Never waits: uses are written in batches, those of one token once a minute. `mark` is that of the token. */
  noteTokenUse(name: string, mark: string): void
  /** Seconds since the epoch, exact to the minute, by the mark of the token. */
  listTokenUses(name: string): Promise<ReadonlyMap<string, number>>
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

export interface SetAdministratorOptions extends Caller {
  /** `new`: throws `conflict` if there is an administrator of the name. `existing`: `not_found` if there is none. */
  readonly expected?: 'new' | 'existing'
}

/**
 * Administrators are kept in the run-time layer of the configuration. Every change of one revokes all its sessions;
 * setting its current password again changes nothing.
 */
export interface AdministratorDirectory {
  listAdministrators(): readonly Administrator[]
  isAdministrator(name: string): boolean
  /** Creates or changes one. Returns the stored form. */
  setAdministrator(name: string, password: NewAdministratorPassword, options?: SetAdministratorOptions): Promise<string>
  /** Returns the removed stored form. The last administrator cannot be removed: `forbidden`. */
  removeAdministrator(name: string): Promise<string>
}
