import type { Clock } from '../../../base/clock.ts'
import type { Directory } from '../../../directory/directory.ts'
import type { RequestContext } from '../../../http/request-context.ts'

/** The options the database of users lives by, as they are now. */
export interface UsersSettings {
  /** Members of user documents that others may read, where `isPublic`. */
  readonly publicFields: readonly string[]
  readonly isPublic: boolean
  /** Whether anybody may create a user document for a name not yet taken. */
  readonly allowsSignUp: boolean
  /** Whether `DELETE` of the database is allowed. */
  readonly isDeletable: boolean
}

/** A user that was written or deleted, and the change that did it. */
export interface UserChange {
  readonly sequence: number
  readonly name: string
}

export interface ChangePage {
  readonly changes: readonly UserChange[]
  /** All changes up to this one have been told, those that are not about users included. */
  readonly position: number
  /** Whether there was nothing more at the time. */
  readonly isEnd: boolean
}

/** What changed among the users, in order. Of several changes of one user only the last is told. */
export interface UserChanges {
  sequence(): Promise<number>
  since(sequence: number, limit: number): Promise<ChangePage>
  /** Calls when there may be something new; not to be relied on. Returns the end of it. */
  onWake(listener: () => void): () => void
}

export type UsersDirectory = Pick<
  Directory,
  'findRecord' | 'listUsers' | 'countUsers' | 'createUser' | 'changeUser' | 'removeUser' | 'onRevoked'
>

/** What the database of users needs of the rest of Cardea. */
export interface UsersDeps {
  /** Its name, as paths have it. */
  readonly database: string
  /** What stands before the name in the id of a user document. */
  readonly prefix: string
  readonly directory: UsersDirectory
  readonly changes: UserChanges
  settings(): UsersSettings
  /** Throws unless the credential of the request has proved the password of its user. */
  requirePassword(context: RequestContext): Promise<void>
  /** Marks sequences, so that one of another server is recognised. */
  uuid(): string
  readonly clock: Clock
}

/** `org.<name of the service>.user:` */
export const toIdPrefix = (serviceName: string): string => `org.${serviceName.toLowerCase()}.user:`
