/**
 * What a user administrator may do with a user: everything, if the user is not an administrator, not the user
 * administrator itself and has no more rights, before the change and after it. Otherwise a user administrator could set
 * the password of a more powerful user, or gain a right through another user.
 */
import { Refusal } from '../../../base/errors.ts'
import { coversGrants } from '../../../directory/grants.ts'
import { ADMIN_ROLE } from '../../../directory/identity.ts'
import type { User } from '../../../directory/users/user.ts'
import type { CheckWrite } from '../../../directory/users/user-operations.ts'
import { type Call, type Caller, nameOf, type OperationDeps } from '../operation.ts'

/** Why the caller may not manage the user; `undefined`: it may. */
export function checkManaged(deps: OperationDeps, { caller }: Call, user: User): string | undefined {
  if (!caller || caller.right === 'administrator') return undefined
  if (caller.right !== 'userAdmin') return 'Only administrators and user administrators manage users.'
  if (deps.directory.isAdministrator(user.name)) return `${user.name} is an administrator.`
  if (caller.name === user.name) return 'Your own account is managed at /account.'
  return checkRights(deps, caller, user)
}

function checkRights({ directory, userAdminRole }: OperationDeps, { identity }: Caller, user: User) {
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
export function requireManaged(deps: OperationDeps, call: Call, user: User): void {
  const reason = checkManaged(deps, call, user)
  if (reason !== undefined) throw new Refusal('forbidden', { reason })
}

/** The same for the stored user of this name. An administrator needs no user of the name. */
export async function requireManagedName(deps: OperationDeps, call: Call, name: string): Promise<void> {
  if (!call.caller || call.caller.right === 'administrator') return
  requireManaged(deps, call, await requireUser(deps, name))
}

export async function requireUser({ directory }: OperationDeps, name: string): Promise<User> {
  const user = await directory.findUser(name)
  if (!user) throw new Refusal('not_found')
  return user
}

/** The user that the path names. Throws if there is none, or the caller may not manage it. */
export async function requireManagedUser(deps: OperationDeps, call: Call): Promise<User> {
  const user = await requireUser(deps, nameOf(call))
  requireManaged(deps, call, user)
  return user
}

/** Checks the caller in the transaction of a write: with the user as it is when the change is written, and the result. */
export const toCheck =
  (deps: OperationDeps, call: Call): CheckWrite =>
  (before, after) => {
    requireManaged(deps, call, before)
    if (after) requireManaged(deps, call, after)
  }
