import { requireNoAction } from '../../../auth/required-actions.ts'
import { Refusal } from '../../../base/errors.ts'
import { findMember, isJsonObject } from '../../../base/json.ts'
import { identityOf } from '../../../directory/identity.ts'
import { type Json, type JsonObject, type User, withField } from '../../../directory/users/user.ts'
import type { RequestIdentity } from '../../../http/request-context.ts'
import { isSelf } from '../access.ts'
import { readMembers } from '../body.ts'
import type { MultiModelDeps, MultiModelHandler } from '../deps.ts'
import { toDoneReply, toMergedReply, toWrappedReply } from '../reply.ts'
import {
  orUserNotFound,
  ROOT,
  readName,
  readPassword,
  readUserChange,
  readUserInput,
  requireMultiModelUser,
  requireSmall,
  type UserInput,
} from './input.ts'
import { toUserObject } from './read.ts'

export const createUser: MultiModelHandler = async ({ directory }, context) => {
  const members = await readMembers(context)
  const name = readName(findMember(members, 'user'))
  const { passwd = '', active = true, extra = {} } = readUserInput(members)
  const draft = { name, password: { password: passwd }, isActive: active, multiModel: { extra: requireSmall(extra) } }
  try {
    return toMergedReply(201, toUserObject(await directory.createUser(draft, context)))
  } catch (error) {
    if (error instanceof Refusal && error.code === 'conflict') throw new Refusal('user_exists', { cause: error })
    throw error
  }
}

/**
 * Replaces everything about a user: its grants and settings are removed. Access tokens stay if the password stays the
 * same; a new password ends them.
 */
export const replaceUser: MultiModelHandler = async (deps, context, { user: name = '' }) => {
  if (isSelf(context, name)) await deps.requirePassword(context)
  // an unknown user is reported before an invalid body
  await requireMultiModelUser(deps.directory, name)
  const { passwd = '', active = true, extra = {} } = readUserInput(await readMembers(context))
  requireSmall(extra)
  const change = (user: User): User => ({
    ...user,
    isActive: active,
    multiModel: { grants: new Map(), extra, config: {}, tokens: user.multiModel.tokens },
  })
  return write(deps, context, { name, change, password: passwd })
}

export const changeUser: MultiModelHandler = async (deps, context, { user: name = '' }) => {
  await requireMultiModelUser(deps.directory, name)
  const input = readUserChange(await readMembers(context))
  if (input.passwd === undefined) requireNoAction(identityOf(context))
  // like a deletion, a deactivation ends every session and every access token
  const needsPassword = input.passwd !== undefined || input.active === false
  if (needsPassword && isSelf(context, name)) await deps.requirePassword(context)
  return write(deps, context, { name, change: (user) => withChange(user, input), password: input.passwd })
}

const withChange = (user: User, { active = user.isActive, extra }: UserInput): User => {
  const changed = { ...user, isActive: active }
  return extra ? withField(changed, 'extra', requireSmall(mergeObjects(user.multiModel.extra, extra))) : changed
}

interface Change {
  readonly name: string
  readonly password: string | undefined
  change(user: User): User
}

async function write({ directory }: MultiModelDeps, context: RequestIdentity, { name, password, change }: Change) {
  const options = password === undefined ? {} : { password: { password } }
  return toMergedReply(200, toUserObject(await orUserNotFound(directory.changeUser(name, context, change, options))))
}

export const removeUser: MultiModelHandler = async (deps, context, { user: name = '' }) => {
  if (name === ROOT) throw new Refusal('forbidden')
  if (isSelf(context, name)) await deps.requirePassword(context)
  await orUserNotFound(deps.directory.removeUser(name, context, 'any'))
  return toDoneReply(202)
}

/** Whether a password is right. A wrong one counts as a failed sign-in. */
export const tryPassword: MultiModelHandler = async ({ signIns }, context, { user: name = '' }) => {
  const password = readPassword(await readMembers(context))
  if (!(await signIns.isPassword(name, password, context))) throw new Refusal('user_not_found')
  return toWrappedReply(true)
}

const isObject = (value: Json | undefined): value is JsonObject => isJsonObject(value)

/** The members of both objects. Where both have one, the second wins, and objects are merged in turn. */
export function mergeObjects(first: JsonObject, second: JsonObject): JsonObject {
  const members = new Map<string, Json>(Object.entries(first))
  for (const [name, value] of Object.entries(second)) {
    const before = members.get(name)
    members.set(name, isObject(before) && isObject(value) ? mergeObjects(before, value) : value)
  }
  // unlike an assignment, this makes `__proto__` an ordinary member
  return Object.fromEntries(members)
}
