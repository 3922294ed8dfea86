import { Refusal } from '../../../base/errors.ts'
import { findMember } from '../../../base/json.ts'
import type { Caller } from '../../../directory/directory.ts'
import { checkName, type User } from '../../../directory/user.ts'
import type { Params, Reply, RequestContext } from '../../../http/request-context.ts'
import { readMembers } from '../body.ts'
import { isAddressable } from '../path.ts'
import { isSelf, isSelfOrManager, requireKnown, requireManager } from '../rights.ts'
import { toDoneReply, toMergedReply, toWrappedReply } from '../wire.ts'
import type { UsersDeps } from './deps.ts'
import { readPassword, readUserChange, readUserInput, requireSmall, type UserInput } from './input.ts'
import { merge } from './merge.ts'
import { aboutUser, toUserObject } from './wire.ts'

export async function createUser({ directory }: UsersDeps, context: RequestContext): Promise<Reply> {
  requireManager(context)
  const members = await readMembers(context)
  const name = findMember(members, 'user')
  if (typeof name !== 'string' || !canBeManaged(name)) throw new Refusal('user_name_refused')
  const { passwd = '', active = true, extra = {} } = readUserInput(members)
  const draft = { name, password: { password: passwd }, isActive: active, multiModel: { extra: requireSmall(extra) } }
  try {
    return toMergedReply(201, toUserObject(await directory.createUser(draft, toCaller(context))))
  } catch (error) {
    if (error instanceof Refusal && error.code === 'conflict') throw new Refusal('user_exists', { cause: error })
    throw error
  }
}

/** Whoever is made here must be within reach of the paths of this door. */
export const canBeManaged = (name: string): boolean => checkName(name) === undefined && isAddressable(name)

/**
 * Puts a user like a new one in the place of the old: grants and settings are gone. Access tokens end with the password,
 * so they stay if it is the same.
 */
export async function replaceUser(
  deps: UsersDeps,
  context: RequestContext,
  { user: name = '' }: Params,
): Promise<Reply> {
  requireChangeable(deps, context, name)
  if (isSelf(context, name)) await deps.requirePassword(context)
  await requireThere(deps, name)
  const { passwd = '', active = true, extra = {} } = readUserInput(await readMembers(context))
  requireSmall(extra)
  const change = (user: User): User => ({
    ...user,
    isActive: active,
    multiModel: { grants: new Map(), extra, config: {}, tokens: user.multiModel.tokens },
  })
  return write(deps, context, { name, change, password: passwd })
}

export async function changeUser(
  deps: UsersDeps,
  context: RequestContext,
  { user: name = '' }: Params,
): Promise<Reply> {
  requireChangeable(deps, context, name)
  await requireThere(deps, name)
  const input = readUserChange(await readMembers(context))
  if (needsPassword(input) && isSelf(context, name)) await deps.requirePassword(context)
  return write(deps, context, { name, change: (user) => withChange(user, input), password: input.passwd })
}

/** A deactivation ends as much as a deletion does: every session and every access token. */
const needsPassword = ({ passwd, active }: UserInput): boolean => passwd !== undefined || active === false

const withChange = (user: User, { active, extra }: UserInput): User => ({
  ...user,
  isActive: active ?? user.isActive,
  multiModel: {
    ...user.multiModel,
    extra: extra ? requireSmall(merge(user.multiModel.extra, extra)) : user.multiModel.extra,
  },
})

interface Change {
  readonly name: string
  readonly password: string | undefined
  change(user: User): User
}

const toCaller = ({ signal, client }: RequestContext): Caller => ({ signal, peer: client.address })

async function write({ directory }: UsersDeps, context: RequestContext, { name, password, change }: Change) {
  const options = { ...toCaller(context), ...(password === undefined ? {} : { password: { password } }) }
  return toMergedReply(200, toUserObject(await aboutUser(directory.changeUser(name, 'any', change, options))))
}

/** Before the body is looked at: without one, a user that does not exist is still the first thing that is wrong. */
async function requireThere({ directory }: UsersDeps, name: string): Promise<void> {
  if (!(await directory.findUser(name))) throw new Refusal('user_not_found')
}

/** Administrators are not this API's to change. */
export function requireChangeable({ directory }: UsersDeps, context: RequestContext, name: string): void {
  if (!isSelfOrManager(context, name)) throw new Refusal('forbidden')
  if (directory.isAdministrator(name)) throw new Refusal('forbidden')
}

// quirk: reference multi-model 7.2: this name stays
export const ROOT = 'root'

export async function removeUser(
  deps: UsersDeps,
  context: RequestContext,
  { user: name = '' }: Params,
): Promise<Reply> {
  requireManager(context)
  requireChangeable(deps, context, name)
  if (name === ROOT) throw new Refusal('forbidden')
  if (isSelf(context, name)) await deps.requirePassword(context)
  await aboutUser(deps.directory.removeUser(name, 'any'))
  return toDoneReply(202)
}

/** Whether a password is the right one. It is a sign-in in all but name, and counts as one. */
export async function checkPassword(
  { isPassword }: UsersDeps,
  context: RequestContext,
  { user: name = '' }: Params,
): Promise<Reply> {
  requireKnown(context)
  const password = readPassword(await readMembers(context))
  if (!(await isPassword(name, password, context))) throw new Refusal('user_not_found')
  return toWrappedReply(true)
}
