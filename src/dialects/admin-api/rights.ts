/**
 * Who may call which operation. Every row of the table of operations names one of these rights; a caller with a higher
 * one may call it too.
 */
import { requireNoAction } from '../../auth/required-actions.ts'
import { Refusal } from '../../base/errors.ts'
import { hasAllRights, type Identity, isAnonymous, withoutFactorSetup } from '../../directory/identity.ts'
import type { RequestIdentity, Route } from '../../http/request-context.ts'
import type { RightsView } from './schemas/account.ts'

/**
 * `anonymous`: every client. `self`: a signed-in user, for the user's own account. `userAdmin`: a user with the role that
 * `admin.user-admin-role` names, for users who have no more rights than that user. `administrator`: everything.
 */
export type Right = 'anonymous' | 'self' | 'userAdmin' | 'administrator'

const ORDER: readonly Right[] = ['anonymous', 'self', 'userAdmin', 'administrator']

/** How a route is used. A row that names none is one of the API, for the right of its operations. */
export interface Access {
  /** The lowest right of its methods. `anonymous`: the handlers check what else they need. */
  readonly right: Right
  /** Which credentials are checked: the session of a browser too, those of a program only, or none. */
  readonly credentials: 'all' | 'program' | 'none'
  /** Reading it, and signing in, need no page token. */
  readonly isSession?: true
}

export type AdminRoute = Route<Access>

export const ACCESS = {
  /** The page, its files, and whether the process runs. */
  open: { right: 'anonymous', credentials: 'none' },
  /** The reply depends on the identity of a program. */
  program: { right: 'anonymous', credentials: 'program' },
  session: { right: 'anonymous', credentials: 'all', isSession: true },
  /** An operation for every client. */
  anonymous: { right: 'anonymous', credentials: 'all' },
} as const satisfies Readonly<Record<string, Access>>

/** What an identity may do. `role` is that of user administrators; empty: there are none. */
export function findRight(identity: Identity, role: string): Right {
  if (hasAllRights(identity)) return 'administrator'
  if (identity.name === null) return 'anonymous'
  return role !== '' && identity.roles.includes(role) ? 'userAdmin' : 'self'
}

/** What the console calls the rights of a signed-in user. */
export function showRights(identity: Identity, role: string): RightsView {
  const right = findRight(identity, role)
  return right === 'administrator' || right === 'userAdmin' ? right : 'user'
}

export interface Guarded {
  /** Who may call it. */
  readonly allowed: Right
  /** What a caller without the right can do instead, in a sentence. */
  readonly instead?: string
  /** Whether a user may call it before the required actions, such as a change of the password, are done. */
  readonly isBeforeRequiredActions?: true
  /** Whether a user who must set up a second factor may call it before that. */
  readonly setsUpFactor?: true
}

/** Throws unless the request has the right that the operation needs. */
export function requireRight({ authenticated }: RequestIdentity, operation: Guarded, role: string): void {
  const { allowed, instead, isBeforeRequiredActions = false, setsUpFactor = false } = operation
  if (allowed === 'anonymous') return
  if (isAnonymous(authenticated)) throw new Refusal('authentication_required')
  const { identity } = authenticated
  if (ORDER.indexOf(findRight(identity, role)) < ORDER.indexOf(allowed))
    throw new Refusal('admin_required', instead === undefined ? {} : { reason: instead })
  if (!isBeforeRequiredActions) requireNoAction(setsUpFactor ? withoutFactorSetup(identity) : identity)
}

/** The lowest of these rights; `administrator` if the list is empty. */
export const findLowest = (rights: readonly Right[]): Right =>
  ORDER.find((right) => rights.includes(right)) ?? 'administrator'
