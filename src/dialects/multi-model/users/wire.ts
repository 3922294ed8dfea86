import { Refusal } from '../../../base/errors.ts'
import type { JsonObject, User } from '../../../directory/user.ts'

/** A user as everybody may see it who may see it at all: never anything about its password. */
export interface UserObject {
  readonly user: string
  readonly active: boolean
  readonly extra: JsonObject
}

export const toUserObject = ({ name, isActive, multiModel }: User): UserObject => ({
  user: name,
  active: isActive,
  extra: multiModel.extra,
})

/** Administrators have no record of their own here. */
export const toAdministratorObject = (name: string): UserObject => ({ user: name, active: true, extra: {} })

/** What the directory says of somebody who is not there, in this API's words. */
export async function aboutUser<T>(work: Promise<T>): Promise<T> {
  try {
    return await work
  } catch (error) {
    if (error instanceof Refusal && error.code === 'not_found') throw new Refusal('user_not_found', { cause: error })
    throw error
  }
}
