/**
 * The directory: users, administrators and their sessions, for both doors and the command line. Every operation is
 * atomic. When it resolves, this process no longer accepts the previous data; other nodes follow within a second.
 *
 * Operations throw a `Refusal`: `not_found` for an unknown name, `conflict` for an outdated revision or a taken name,
 * `bad_request` for an invalid name or role, `password_refused` for a new password that breaks a rule, `overloaded` if
 * too many passwords wait to be hashed, `store_unavailable` if the store cannot be reached.
 */
import type { AccountDirectory, AdministratorDirectory, SignInLog, TokenUses } from './account-directory.ts'
import type { RevocationFeed } from './revocation.ts'
import type { SecondFactors } from './second-factor/second-factor.ts'
import type { SessionDirectory, SessionList } from './sessions/session-directory.ts'
import type { UserEditor, UserImporter, UserReader, UserSearch } from './users/user-directory.ts'

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
    RevocationFeed {
  /** How old this node's view of the store is. */
  stalenessMs(): number
  /** Whether the view is recent enough to authenticate, now or after a short query of the store. */
  isFresh(): Promise<boolean>
  /** Resolves when every earlier write of any node is visible here. */
  catchUp(): Promise<void>
  /** Writes the uses of sessions noted so far, and stops following changes. The store stays open. */
  close(): Promise<void>
}
