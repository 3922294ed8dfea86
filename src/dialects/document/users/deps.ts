import type { DoorSignUp } from '../../../auth/door-sign-in.ts'
import type { Clock } from '../../../base/clock.ts'
import type { Directory } from '../../../directory/directory.ts'
import type { RequestContext } from '../../../http/request-context.ts'
import type { UserChanges } from './user-changes.ts'

/** The dependencies of the users database. */
export interface UsersDeps {
  /** Its name in paths. */
  readonly database: string
  /** The part of a document id before the name of the user. */
  readonly prefix: string
  readonly directory: Pick<
    Directory,
    'findRecord' | 'listUsers' | 'countUsers' | 'createUser' | 'changeUser' | 'removeUser'
  >
  readonly changes: UserChanges
  settings(): UsersSettings
  /** Throws unless the credential of the request has proved the password of its user. */
  requirePassword(context: RequestContext): Promise<void>
  /** Calls `onEnd` when the credential of the request ends. Before each piece of a reply, `isValid` must be asked. */
  watchCredential(context: RequestContext, onEnd: () => void): CredentialWatch
  /** Creates a user for a client that is not an administrator, within the limits on sign-ups. */
  readonly signUp: DoorSignUp
  /** Part of every sequence, so that a sequence of another server is recognised. */
  uuid(): string
  readonly clock: Clock
}

export interface CredentialWatch {
  isValid(): Promise<boolean>
  close(): void
}

/** The current options of the users database. */
export interface UsersSettings {
  /** Members of user documents that other users may read, if `isPublic`. */
  readonly publicFields: readonly string[]
  readonly isPublic: boolean
  /** Whether anonymous requests may create a user document. */
  readonly allowsSignUp: boolean
  /** Whether `DELETE` of the database is allowed. */
  readonly isDeletable: boolean
}
