import { Refusal } from '../../../base/errors.ts'
import { listUserPages } from '../../../directory/list-user-pages.ts'
import type { User } from '../../../directory/user.ts'
import type { Params, Reply, RequestContext } from '../../../http/request-context.ts'
import { gather } from '../gather.ts'
import { requireReader } from '../rights.ts'
import { toMergedReply } from '../wire.ts'
import type { UsersDeps } from './deps.ts'
import { toAdministratorObject, toUserObject, type UserObject } from './wire.ts'

export async function getUser(deps: UsersDeps, context: RequestContext, { user: name = '' }: Params): Promise<Reply> {
  requireReader(context, deps.settings(), name)
  if (deps.directory.isAdministrator(name)) return toMergedReply(200, toAdministratorObject(name))
  const user = await deps.directory.findUser(name)
  if (!user) throw new Refusal('user_not_found')
  return toMergedReply(200, toUserObject(user))
}

/** All of them, piece by piece where they are many: a directory may be larger than what fits into memory. */
export async function listUsers({ directory, settings }: UsersDeps, context: RequestContext): Promise<Reply> {
  requireReader(context, settings())
  const administrators = directory.listAdministrators().map(({ name }) => name)
  const users = renderUsers(mergeNames(listUserPages(directory), administrators))
  return { status: 200, headers: [['Content-Type', 'application/json']], body: await gather(users) }
}

/** Administrators among the users, each name once, in the order of their bytes. */
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
