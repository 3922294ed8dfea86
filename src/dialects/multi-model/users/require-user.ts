import { Refusal } from '../../../base/errors.ts'
import type { Directory } from '../../../directory/directory.ts'
import type { User } from '../../../directory/users/user.ts'

// quirk: reference multi-model 7.2: this user cannot be deleted
export const ROOT = 'root'

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
