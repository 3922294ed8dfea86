import { Refusal } from '../../../base/errors.ts'
import type { Directory } from '../../../directory/directory.ts'
import type { User } from '../../../directory/users/user.ts'
import type { RequestContext } from '../../../http/request-context.ts'
import { isSelfOrManager } from '../access.ts'
import type { MultiModelDeps } from '../deps.ts'

// quirk: reference multi-model 7.2: this user cannot be deleted
export const ROOT = 'root'

/** Administrators cannot be changed with this API. */
export function requireChangeable({ directory }: MultiModelDeps, context: RequestContext, name: string): void {
  if (!isSelfOrManager(context, name)) throw new Refusal('forbidden')
  if (directory.isAdministrator(name)) throw new Refusal('forbidden')
}

export async function requireUser(directory: Pick<Directory, 'findUser'>, name: string): Promise<User> {
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
