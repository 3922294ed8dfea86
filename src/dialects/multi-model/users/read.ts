import { compareBytes } from '../../../base/encoding.ts'
import { FIELD_ROWS } from '../../../directory/users/fields.ts'
import { readField, type User } from '../../../directory/users/user.ts'
import { listUserPages } from '../../../directory/users/user-operations.ts'
import type { MultiModelHandler } from '../deps.ts'
import { toMergedReply, toStreamedReply } from '../reply.ts'
import { requireMultiModelUser } from './input.ts'

/** A user in replies: nothing about its password. */
type UserObject = Readonly<Record<string, unknown>>

const SHOWN = FIELD_ROWS.flatMap(([name, { multiModel: member, empty }]) => (member ? [{ name, member, empty }] : []))

export const toUserObject = (user: User): UserObject =>
  Object.fromEntries(SHOWN.map(({ name, member }) => [member, readField(user, name)]))

/** Administrators have no record in the directory. */
const toAdministratorObject = (name: string): UserObject =>
  Object.fromEntries(SHOWN.map(({ name: field, member, empty }) => [member, field === 'name' ? name : empty]))

export const getUser: MultiModelHandler = async ({ directory }, _context, { user: name = '' }) => {
  if (directory.isAdministrator(name)) return toMergedReply(200, toAdministratorObject(name))
  return toMergedReply(200, toUserObject(await requireMultiModelUser(directory, name)))
}

/** A large directory is streamed page by page. */
export const listUsers: MultiModelHandler = async ({ directory }) => {
  const administrators = directory.listAdministrators().map(({ name }) => name)
  return toStreamedReply(renderUsers(mergeNames(listUserPages(directory), administrators)))
}

/** Administrators and users, each name once, in the order of their bytes. */
async function* mergeNames(pages: AsyncIterable<readonly User[]>, administrators: readonly string[]) {
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
