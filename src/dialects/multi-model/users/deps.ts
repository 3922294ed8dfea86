import { Refusal } from '../../../base/errors.ts'
import type { AdministratorDirectory } from '../../../directory/account-directory.ts'
import type { User } from '../../../directory/users/user.ts'
import type { UserEditor, UserReader } from '../../../directory/users/user-directory.ts'
import type { RequestContext } from '../../../http/request-context.ts'
import { type AccessSettings, type Databases, isSelfOrManager } from '../access.ts'
import type { ServerMode } from '../mode.ts'

export interface UsersDeps {
  readonly directory: UserReader & UserEditor & AdministratorDirectory
  readonly databases: Databases
  settings(): AccessSettings
  readonly mode: ServerMode
  /** Throws unless the credential of the request has proved the password of its user. */
  requirePassword(context: RequestContext): Promise<void>
  /** Whether this is the password of that user; a failure counts for the lockout. */
  isPassword(name: string, password: string, context: RequestContext): Promise<boolean>
}

// quirk: reference multi-model 7.2: this user cannot be deleted
export const ROOT = 'root'

/** Administrators cannot be changed with this API. */
export function requireChangeable({ directory }: UsersDeps, context: RequestContext, name: string): void {
  if (!isSelfOrManager(context, name)) throw new Refusal('forbidden')
  if (directory.isAdministrator(name)) throw new Refusal('forbidden')
}

export async function requireUser(directory: UserReader, name: string): Promise<User> {
  const user = await directory.findUser(name)
  if (!user) throw new Refusal('user_not_found')
  return user
}

/** Replaces the directory's `not_found` by the error of this API. */
export async function orUserNotFound<T>(work: Promise<T>): Promise<T> {
  try {
    return await work
  } catch (error) {
    if (error instanceof Refusal && error.code === 'not_found') throw new Refusal('user_not_found', { cause: error })
    throw error
  }
}
