/**
 * What a user administrator may do with a user: everything, if the user is not an administrator, not the user
 * administrator itself and has no more rights, before the change and after it. Otherwise a user administrator could set
 * the password of a more powerful user, or gain a right through another user.
 */
import { Refusal } from '../../../base/errors.ts'
import { type Caller, withCheck } from '../../../directory/caller.ts'
import { coversGrants } from '../../../directory/grants.ts'
import { ADMIN_ROLE } from '../../../directory/identity.ts'
import type { User } from '../../../directory/users/user.ts'
import { type ManagedCall, nameOf, type OperationDeps, type Requester } from '../operation.ts'

/** Why the caller may not manage the user; `undefined`: it may. */
export function checkManaged(deps: OperationDeps, { requester }: ManagedCall, user: User): string | undefined {
  if (!requester || requester.right === 'administrator') return undefined
  if (requester.right !== 'userAdmin') return 'Only administrators and user administrators manage users.'
  if (deps.directory.isAdministrator(user.name)) return `${user.name} is an administrator.`
  if (requester.name === user.name) return 'Your own account is managed at /account.'
  return checkRights(deps, requester, user)
}

function checkRights({ directory, userAdminRole }: OperationDeps, { identity }: Requester, user: User) {
  const { name, expiresAt } = user
  const { grants } = user.multiModel
  const roles = directory.listRoles(user)
  const foreign = roles.find((role) => role === ADMIN_ROLE || !identity.roles.includes(role))
  if (foreign !== undefined) return `You do not have the role ${foreign}.`
  if (!coversGrants(identity.grants, grants)) return `${name} has, or would have, grants that you do not have.`
  // otherwise a user administrator could outlive its own expiry with the account of another one
  const isUserAdmin = roles.includes(userAdminRole())
  const outlives = identity.expiresAt !== undefined && (expiresAt ?? Number.POSITIVE_INFINITY) > identity.expiresAt
  return isUserAdmin && outlives ? 'A user administrator must not expire later than you.' : undefined
}

/** Throws unless the caller may manage the user. */
export function requireManaged(deps: OperationDeps, call: ManagedCall, user: User): void {
  const reason = checkManaged(deps, call, user)
  if (reason !== undefined) throw new Refusal('forbidden', { reason })
}

/** Requires that the caller manages the stored user of this name. An administrator needs no user of the name. */
export async function requireManagedName(deps: OperationDeps, call: ManagedCall, name: string): Promise<void> {
  if (!call.requester || call.requester.right === 'administrator') return
  requireManaged(deps, call, await requireExistingUser(deps, name))
}

export async function requireExistingUser({ directory }: OperationDeps, name: string): Promise<User> {
  const user = await directory.findUser(name)
  if (!user) throw new Refusal('not_found')
  return user
}

/** The user that the path names. Throws if there is none, or the caller may not manage it. */
export async function requireManagedUser(deps: OperationDeps, call: ManagedCall): Promise<User> {
  const user = await requireExistingUser(deps, nameOf(call))
  requireManaged(deps, call, user)
  return user
}

/** The caller, checked in the transaction of a write: with the user as it is when the change is written, and the result. */
export const toManager = (deps: OperationDeps, call: ManagedCall): Caller =>
  // every caller is a whole one: only the type leaves out what a write needs
  withCheck(call.caller as Caller, (before, after) => {
    requireManaged(deps, call, before)
    if (after) requireManaged(deps, call, after)
  })
