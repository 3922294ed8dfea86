import { requireNoAction } from '../../../auth/required-actions.ts'
import { Refusal } from '../../../base/errors.ts'
import { findMember, isJsonObject } from '../../../base/json.ts'
import { identityOf } from '../../../directory/identity.ts'
import { FIELD_ROWS } from '../../../directory/users/fields.ts'
import { listUserPages } from '../../../directory/users/list-user-pages.ts'
import type { Caller } from '../../../directory/users/new-passwords.ts'
import { type Json, type JsonObject, readField, type User, withField } from '../../../directory/users/user.ts'
import type { Params, Reply, RequestContext } from '../../../http/request-context.ts'
import { isSelf } from '../access.ts'
import { readMembers } from '../body.ts'
import type { MultiModelDeps } from '../deps.ts'
import { toDoneReply, toMergedReply, toStreamedReply, toWrappedReply } from '../reply.ts'
import { readName, readPassword, readUserChange, readUserInput, requireSmall, type UserInput } from './input.ts'
import { orUserNotFound, ROOT, requireUser } from './require-user.ts'

export async function createUser({ directory }: MultiModelDeps, context: RequestContext): Promise<Reply> {
  const members = await readMembers(context)
  const name = readName(findMember(members, 'user'))
  const { passwd = '', active = true, extra = {} } = readUserInput(members)
  const draft = { name, password: { password: passwd }, isActive: active, multiModel: { extra: requireSmall(extra) } }
  try {
    return toMergedReply(201, toUserObject(await directory.createUser(draft, toCaller(context))))
  } catch (error) {
    if (error instanceof Refusal && error.code === 'conflict') throw new Refusal('user_exists', { cause: error })
    throw error
  }
}

/**
 * Replaces everything about a user: its grants and settings are removed. Access tokens stay if the password stays the
 * same; a new password ends them.
 */
export async function replaceUser(
  deps: MultiModelDeps,
  context: RequestContext,
  { user: name = '' }: Params,
): Promise<Reply> {
  if (isSelf(context, name)) await deps.requirePassword(context)
  // an unknown user is reported before an invalid body
  await requireUser(deps.directory, name)
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
  deps: MultiModelDeps,
  context: RequestContext,
  { user: name = '' }: Params,
): Promise<Reply> {
  await requireUser(deps.directory, name)
  const input = readUserChange(await readMembers(context))
  if (input.passwd === undefined) requireNoAction(identityOf(context))
  if (needsPassword(input) && isSelf(context, name)) await deps.requirePassword(context)
  return write(deps, context, { name, change: (user) => withChange(user, input), password: input.passwd })
}

/** Like a deletion, a deactivation ends every session and every access token. */
const needsPassword = ({ passwd, active }: UserInput): boolean => passwd !== undefined || active === false

const withChange = (user: User, { active = user.isActive, extra }: UserInput): User => {
  const changed = { ...user, isActive: active }
  return extra ? withField(changed, 'extra', requireSmall(mergeObjects(user.multiModel.extra, extra))) : changed
}

interface Change {
  readonly name: string
  readonly password: string | undefined
  change(user: User): User
}

const toCaller = ({ signal, client }: RequestContext): Caller => ({ signal, peer: client.address })

async function write({ directory }: MultiModelDeps, context: RequestContext, { name, password, change }: Change) {
  const options = { ...toCaller(context), ...(password === undefined ? {} : { password: { password } }) }
  return toMergedReply(200, toUserObject(await orUserNotFound(directory.changeUser(name, change, options))))
}

export async function removeUser(
  deps: MultiModelDeps,
  context: RequestContext,
  { user: name = '' }: Params,
): Promise<Reply> {
  if (name === ROOT) throw new Refusal('forbidden')
  if (isSelf(context, name)) await deps.requirePassword(context)
  await orUserNotFound(deps.directory.removeUser(name, 'any'))
  return toDoneReply(202)
}

/** Whether a password is right. A wrong one counts as a failed sign-in. */
export async function checkPassword(
  { signIns }: MultiModelDeps,
  context: RequestContext,
  { user: name = '' }: Params,
): Promise<Reply> {
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

/** A user in replies: nothing about its password. */
type UserObject = Readonly<Record<string, unknown>>

const SHOWN = FIELD_ROWS.flatMap(([name, { multiModel: member, empty }]) => (member ? [{ name, member, empty }] : []))

const toUserObject = (user: User): UserObject =>
  Object.fromEntries(SHOWN.map(({ name, member }) => [member, readField(user, name)]))

/** Administrators have no record in the directory. */
const toAdministratorObject = (name: string): UserObject =>
  Object.fromEntries(SHOWN.map(({ name: field, member, empty }) => [member, field === 'name' ? name : empty]))

export async function getUser(
  deps: MultiModelDeps,
  _context: RequestContext,
  { user: name = '' }: Params,
): Promise<Reply> {
  if (deps.directory.isAdministrator(name)) return toMergedReply(200, toAdministratorObject(name))
  return toMergedReply(200, toUserObject(await requireUser(deps.directory, name)))
}

/** A large directory is streamed page by page. */
export async function listUsers({ directory }: MultiModelDeps): Promise<Reply> {
  const administrators = directory.listAdministrators().map(({ name }) => name)
  return toStreamedReply(renderUsers(mergeNames(listUserPages(directory), administrators)))
}

/** Administrators and users, each name once, in the order of their bytes. */
async function* mergeNames(
  pages: AsyncIterable<readonly User[]>,
  administrators: readonly string[],
): AsyncGenerator<readonly UserObject[]> {
  const waiting = administrators.toSorted(compareBytes)
  for await (const page of pages) {
    const objects: UserObject[] = []
    for (const user of page) {
      while (waiting[0] !== undefined && compareBytes(waiting[0], user.name) < 0) objects.push(shift(waiting))
      objects.push(waiting[0] === user.name ? shift(waiting) : toUserObject(user))
    }
    yield objects
  }
  yield waiting.map(toAdministratorObject)
}

const shift = (names: string[]): UserObject => toAdministratorObject(names.shift() ?? '')

const compareBytes = (a: string, b: string): number => Buffer.compare(Buffer.from(a), Buffer.from(b))

async function* renderUsers(pages: AsyncIterable<readonly UserObject[]>): AsyncGenerator<string> {
  yield '{"error":false,"code":200,"result":['
  let separator = ''
  for await (const objects of pages) {
    if (objects.length === 0) continue
    yield separator + objects.map((object) => JSON.stringify(object)).join(',')
    separator = ','
  }
  yield ']}'
}
