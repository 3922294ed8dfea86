import { Refusal } from '../../../base/errors.ts'
import { findTotp, TOTP_MEMBER, type User } from '../../../directory/users/user.ts'
import { type Call, type Operation, type OperationDeps, requireOwnPassword } from '../operation.ts'
import { requireManagedName, toManagedChange } from './delegation.ts'
import { showSignIn } from './last-sign-in.ts'
import { countSessions } from './sessions.ts'
import { findCurrentPassword, type ListedUser, nameOf, showManaged } from './users.ts'

/** A user with its sign-ins. Times are ISO 8601. */
export interface UserDetails extends ListedUser {
  /** Whether the user needs a one-time code. */
  readonly totp: boolean
  /** Live sessions. The store keeps at most 1000 of a name. */
  readonly sessions: number
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
  const signIns = await deps.directory.findLastSignIns([name])
  const limit = await deps.limits.find({ name, salt: saltOf(user) })
  return {
    ...showManaged(deps, call, user),
    totp: hasTotp(user),
    sessions: await countSessions(deps, name),
    lastSignIn: showSignIn(signIns.get(name)),
    isLocked: limit !== undefined,
    lockout: showLockout(limit),
  }
}

const toIso = (ms: number): string => new Date(ms).toISOString()

const saltOf = ({ password }: Pick<User, 'password'>): string => ('salt' in password ? password.salt : '')

const showLockout = (limit: Awaited<ReturnType<OperationDeps['limits']['find']>>): ShownLockout | null =>
  limit ? { addresses: limit.lockedPeers, peers: limit.peers, until: toIso(limit.untilMs) } : null

const hasTotp = (user: User): boolean => findTotp(user) !== undefined

const withoutTotp = (user: User): User => {
  const members = user.document.members.filter(([member]) => member !== TOTP_MEMBER)
  return { ...user, document: { ...user.document, members } }
}
