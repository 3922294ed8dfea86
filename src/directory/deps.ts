import type { Clock } from '../base/clock.ts'
import type { Log } from '../base/log.ts'
import type { SecurityEvents } from '../observe/security-events.ts'
import type { Hasher } from '../passwords/hasher.ts'
import type { PasswordRules } from '../passwords/password-rules.ts'
import type { HashParameters } from '../passwords/schemes/scheme.ts'
import type { AdministratorAccount } from './administrators.ts'
import type { Change, Store } from './store-port.ts'

/** What the directory is built from. */
export interface DirectoryDeps {
  readonly store: Store
  readonly hasher: Hasher
  readonly administration: Administration
  /** The options in force; asked each time. */
  settings(): DirectorySettings
  /** Follows the changes of the store. */
  follow(options: FollowDeps): Follower
  readonly clock: Clock
  /** Cardea's own key, shared by the nodes of a store and known to no other server. */
  ownKey(): Uint8Array
  readonly events: SecurityEvents
  readonly log: Log
}

export interface DirectorySettings {
  /** How new passwords are hashed. */
  readonly parameters: HashParameters
  /** The most a stored form of an administrator's password may have when it is set. */
  readonly maxIterations: number
  readonly rules: PasswordRules
  /** Whether a password stored otherwise is hashed anew when it is next seen. */
  readonly upgradesHashes: boolean
  /** How many users are remembered. */
  readonly cacheSize: number
  /** How long what is known counts while the store is silent. */
  readonly maxStalenessMs: number
}

/** The administrators in force, which belong to the configuration. */
export interface Administration {
  accounts(): ReadonlyMap<string, AdministratorAccount>
  /** When a name was last made, changed or deleted as an administrator, in seconds; `undefined`: never at run time. */
  changedAt(name: string): number | undefined
  /** The change up to which all this, and every setting, is known. */
  sequence(): number
  /** Puts another stored form of the same password in the place of one, unless that has changed. It ends all sessions. */
  replaceHash(name: string, from: string, to: string): Promise<void>
  /** Raises the session epoch of an administrator, on every node. Its password stays. */
  endSessions(name: string): Promise<void>
  /** Reads the run-time layer anew. Throws only where the store cannot be reached. */
  refresh(): Promise<void>
}

export interface FollowDeps {
  readonly from: number
  readonly onChange: (changes: readonly Change[]) => Promise<void>
  readonly onReset: () => Promise<void>
  readonly onStale: (failure: { readonly error: unknown; readonly ageMs: number }) => void
  readonly onRecovered: () => void
}

export interface Follower {
  stalenessMs(): number
  catchUp(): Promise<void>
  stop(): Promise<void>
}
