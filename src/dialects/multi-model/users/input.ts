import { badRequest, Refusal } from '../../../base/errors.ts'
import { findMember, isJsonObject, type Members } from '../../../base/json.ts'
import type { Directory } from '../../../directory/directory.ts'
import { GRANT_LEVELS } from '../../../directory/users/fields.ts'
import { checkName } from '../../../directory/users/names.ts'
import type { GrantLevel, JsonObject, User } from '../../../directory/users/user.ts'
import { isAddressable } from '../../plain-segment.ts'

/** A user as a request describes it. A member that is missing or `null` is `undefined`. */
export interface UserInput {
  readonly passwd: string | undefined
  readonly active: boolean | undefined
  readonly extra: JsonObject | undefined
}

export const readUserInput = (members: Members): UserInput => readTyped(members, true)

// quirk: reference multi-model 7.2: members of the wrong type are ignored in a change
export const readUserChange = (members: Members): UserInput => readTyped(members, false)

const readTyped = (members: Members, isStrict: boolean): UserInput => ({
  passwd: findTyped(members, 'passwd', STRING, isStrict),
  active: findTyped(members, 'active', BOOLEAN, isStrict),
  extra: findTyped(members, 'extra', OBJECT, isStrict),
})

/** The name of a new user. A path of this door must be able to contain it. */
export function readName(value: unknown): string {
  if (typeof value === 'string' && checkName(value) === undefined && isAddressable(value)) return value
  throw new Refusal('user_name_refused')
}

export function readPassword(members: Members): string {
  const passwd = findMember(members, 'passwd')
  if (STRING.is(passwd)) return passwd
  throw badRequest("'passwd' must be a string")
}

export function readGrant(members: Members): GrantLevel {
  const given = findMember(members, 'grant')
  const level = GRANT_LEVELS.find((each) => each === (given === '' ? 'none' : given))
  if (level) return level
  throw badRequest("expecting access type 'rw', 'ro' or 'none'")
}

function findTyped<T>(members: Members, name: string, { title, is }: Type<T>, isStrict: boolean): T | undefined {
  const value = findMember(members, name) ?? undefined
  if (value === undefined || is(value)) return value
  if (isStrict) throw badRequest(`'${name}' must be ${title}`)
  return undefined
}

/** It is part of the user's record in memory, and users may set it themselves. */
const MAX_DATA_BYTES = 65_536

export function requireSmall(data: JsonObject): JsonObject {
  if (Buffer.byteLength(JSON.stringify(data)) <= MAX_DATA_BYTES) return data
  throw badRequest(`the data of a user must not exceed ${MAX_DATA_BYTES} bytes`)
}

interface Type<T> {
  readonly title: string
  is(value: unknown): value is T
}

const STRING: Type<string> = { title: 'a string', is: (value) => typeof value === 'string' }
const BOOLEAN: Type<boolean> = { title: 'true or false', is: (value) => typeof value === 'boolean' }
// the members came from JSON too
const OBJECT: Type<JsonObject> = { title: 'an object', is: (value): value is JsonObject => isJsonObject(value) }

// quirk: reference multi-model 7.2: this user cannot be deleted
export const ROOT = 'root'

export async function requireMultiModelUser(directory: Pick<Directory, 'findUser'>, name: string): Promise<User> {
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
