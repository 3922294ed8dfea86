import { Refusal } from '../../../base/errors.ts'
import { TOTP_MEMBER } from '../../../directory/second-factor/totp.ts'
import type { User } from '../../../directory/users/user.ts'
import { type Call, type Operation, type OperationDeps, requireOwnPassword } from '../operation.ts'
import { requireManagedName, toManagedChange } from './delegation.ts'
import { findCurrentPassword, type ListedUser, nameOf, showListed } from './users.ts'

/** A user with its sign-ins. Times are ISO 8601. */
export interface UserDetails extends ListedUser {
  /** Whether the user needs a one-time code. */
  readonly totp: boolean
  /** Live sessions; at most 10 000 are counted. */
  readonly sessions: number
  /** The last sign-in with the password; `null`: none is known. */
  readonly lastSignIn: { readonly at: string; readonly peer: string } | null
  /** `null`: no client is locked out. */
  readonly lockout: ShownLockout | null
}

export interface ShownLockout {
  /** How many client addresses are locked out. 0: clients of every address have to wait. */
  readonly addresses: number
  /** The first of them. */
  readonly peers: readonly string[]
  readonly until: string
}

export const USER_DETAIL_OPERATIONS = {
  'user.show': {
    method: 'GET',
    path: '/users/{name}',
    allowed: 'userAdmin',
    run: async (deps, call) => showDetails(deps, call, await requireUser(deps, call)),
  },
  'user.unlock': {
    method: 'POST',
    path: '/users/{name}/unlock',
    allowed: 'userAdmin',
    async run(deps, call) {
      const name = nameOf(call)
      await requireManagedName(deps, call, name)
      const account = (await deps.directory.findAccount(name)) ?? (await requireUser(deps, call))
      const before = showLockout(await deps.limits.find({ name, salt: saltOf(account) }))
      await deps.limits.lift({ name, salt: saltOf(account) })
      deps.events.record('limit.lifted', { subject: name })
      return { name, lockout: before }
    },
  },
  'user.reset-totp': {
    method: 'DELETE',
    path: '/users/{name}/totp',
    allowed: 'userAdmin',
    async run(deps, call) {
      await requireManagedName(deps, call, nameOf(call))
      await requireOwnPassword(call, nameOf(call), findCurrentPassword(call))
      const hadTotp = hasTotp(await requireUser(deps, call))
      await deps.directory.changeUser(nameOf(call), toManagedChange(deps, call, withoutTotp))
      await deps.directory.removeTotp(nameOf(call))
      const user = await requireUser(deps, call)
      return { ...(await showDetails(deps, call, user)), hadTotp }
    },
  },
} as const satisfies Record<string, Operation<unknown>>

async function requireUser({ directory }: OperationDeps, call: Call): Promise<User> {
  const user = await directory.findUser(nameOf(call))
  if (!user) throw new Refusal('not_found')
  return user
}

async function showDetails(deps: OperationDeps, call: Call, user: User): Promise<UserDetails> {
  const { name } = user
  const signIn = await deps.directory.findLastSignIn(name)
  const limit = await deps.limits.find({ name, salt: saltOf(user) })
  return {
    ...showListed(deps, call, user),
    totp: hasTotp(user),
    sessions: await countSessions(deps, name),
    lastSignIn: signIn ? { at: toIso(signIn.at * 1000), peer: signIn.peer } : null,
    isLocked: limit !== undefined,
    lockout: showLockout(limit),
  }
}

const toIso = (ms: number): string => new Date(ms).toISOString()

const saltOf = ({ password }: Pick<User, 'password'>): string => ('salt' in password ? password.salt : '')

const showLockout = (limit: Awaited<ReturnType<OperationDeps['limits']['find']>>): ShownLockout | null =>
  limit ? { addresses: limit.lockedPeers, peers: limit.peers, until: toIso(limit.untilMs) } : null

const hasTotp = ({ document }: User): boolean => document.members.some(([member]) => member === TOTP_MEMBER)

const withoutTotp = (user: User): User => {
  const members = user.document.members.filter(([member]) => member !== TOTP_MEMBER)
  return { ...user, document: { ...user.document, members } }
}

const PAGE_SIZE = 1000
const MAX_PAGES = 10

async function countSessions({ directory }: OperationDeps, name: string): Promise<number> {
  let count = 0
  let after: Awaited<ReturnType<typeof directory.listSessions>>['next']
  for (let pages = 0; pages < MAX_PAGES; pages += 1) {
    const page = await directory.listSessions({ name, limit: PAGE_SIZE, ...(after && { after }) })
    count += page.sessions.length
    after = page.next
    if (after === undefined) break
  }
  return count
}
