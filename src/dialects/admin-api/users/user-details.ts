import { nowSeconds } from '../../../base/clock.ts'
import { badRequest } from '../../../base/errors.ts'
import type { AccessRule, Account } from '../../../directory/account.ts'
import { SYSTEM_DATABASE } from '../../../directory/grants.ts'
import { checkWord } from '../../../directory/users/names.ts'
import { findTotp, isExpired, type User } from '../../../directory/users/user.ts'
import { saltOf } from '../../../passwords/schemes.ts'
import { type ManagedCall, nameOf, type OperationDeps, operation, PROOF, requireOwnPassword } from '../operation.ts'
import { flag, object, text } from '../schemas/schema.ts'
import {
  ACCESS_REPORT,
  DETAIL_MEMBERS,
  LOCKOUT,
  type LockoutView,
  USER_DETAILS,
  type UserDetailsView,
} from '../schemas/users.ts'
import { requireExistingUser, requireManagedName, toManager } from './delegation.ts'
import { countSessions } from './sessions.ts'
import { showManaged, showSignIn } from './users.ts'

export const USER_DETAIL_OPERATIONS = {
  'user.show': operation('GET /users/{name}', 'userAdmin', {
    summary: 'Show a user with its sign-ins',
    reply: USER_DETAILS,
    run: async (deps, call) => showDetails(deps, call, await requireExistingUser(deps, nameOf(call))),
  }),
  'user.unlock': operation('POST /users/{name}/unlock', 'userAdmin', {
    summary: 'Forget the failed sign-ins of an account',
    reply: object({ name: text(), lockout: LOCKOUT }),
    async run(deps, call) {
      const name = nameOf(call)
      await requireManagedName(deps, call, name)
      const account = (await deps.directory.findAccount(name)) ?? (await requireExistingUser(deps, nameOf(call)))
      const before = showLockout(await deps.limits.find({ name, salt: saltOf(account) }))
      await deps.limits.lift({ name, salt: saltOf(account) }, toManager(deps, call))
      deps.events.record('limit.lifted', { subject: name })
      return { name, lockout: before }
    },
  }),
  'user.reset-totp': operation('DELETE /users/{name}/totp', 'userAdmin', {
    summary: 'Remove the second factor of a user',
    ...PROOF,
    reply: object({ ...DETAIL_MEMBERS, hadTotp: flag() }),
    async run(deps, call) {
      await requireManagedName(deps, call, nameOf(call))
      await requireOwnPassword(call, nameOf(call), call.body.current_password)
      const hadTotp = findTotp(await requireExistingUser(deps, nameOf(call))) !== undefined
      const user = await deps.directory.removeUserTotp(nameOf(call), toManager(deps, call))
      return { ...(await showDetails(deps, call, user)), hadTotp }
    },
  }),
}

async function showDetails(deps: OperationDeps, call: ManagedCall, user: User): Promise<UserDetailsView> {
  const { name } = user
  const signIns = await deps.directory.findLastSignIns([name])
  const limit = await deps.limits.find({ name, salt: saltOf(user) })
  return {
    ...showManaged(deps, call, user),
    sessions: await countSessions(deps, name),
    lastSignIn: showSignIn(signIns.get(name)),
    isLocked: limit !== undefined,
    lockout: showLockout(limit),
  }
}

const showLockout = (limit: Awaited<ReturnType<OperationDeps['limits']['find']>>): LockoutView | null =>
  limit ? { addresses: limit.lockedPeers, peers: limit.peers, until: new Date(limit.untilMs).toISOString() } : null

export const USER_ACCESS_OPERATIONS = {
  'user.access': operation('GET /users/{name}/access', 'userAdmin', {
    summary: 'Show what a user may reach at each door, and why',
    query: object({ 'database?': text(`${SYSTEM_DATABASE} if it is left out.`) }),
    reply: ACCESS_REPORT,
    async run(deps, call) {
      const name = nameOf(call)
      await requireManagedName(deps, call, name)
      const database = call.query.database || SYSTEM_DATABASE
      if (checkWord(database)) throw badRequest('database is not a valid name.')
      const account = await deps.directory.findAccount(name)
      const signIn = await explainSignIn(deps, name, account)
      return { name, signIn, doors: account ? deps.explainAccess(account, database) : [] }
    },
  }),
}

async function explainSignIn(deps: OperationDeps, name: string, account: Account | undefined): Promise<AccessRule> {
  const what = 'sign in'
  if (account?.mustSetUpFactor)
    return { what, isAllowed: true, because: 'Only to set up a second factor: everything else is rejected until then.' }
  if (account?.isAdmin) return { what, isAllowed: true, because: 'The account is an administrator.' }
  if (account?.mustChangePassword)
    return { what, isAllowed: true, because: 'Only to change the password: everything else is rejected until then.' }
  if (account) return { what, isAllowed: true, because: 'The user is active.' }
  const user = await requireExistingUser(deps, name)
  const hasExpired = isExpired(user, nowSeconds(deps.clock))
  return {
    what,
    isAllowed: false,
    because: user.isActive && hasExpired ? 'The user has expired.' : 'The user is disabled.',
  }
}
