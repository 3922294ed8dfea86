import { Refusal } from '../../base/errors.ts'
import { SYSTEM_DATABASE } from '../../directory/grants.ts'
import { ANONYMOUS, type Identity, isAnonymous } from '../../directory/identity.ts'
import type { RequestContext } from '../../http/request-context.ts'
import { type GateSettings, isExempt, levelOn } from './gate.ts'

/** Who manages this door: an administrator, a superuser token, or a user who may write the system database. */
const isManager = (identity: Identity): boolean => levelOn(identity, SYSTEM_DATABASE) === 'rw'

const identityOf = (context: RequestContext): Identity => (context.authenticated ?? ANONYMOUS).identity

export const isSelf = (context: RequestContext, name: string): boolean => identityOf(context).name === name

/** Somebody vouched for, whoever it is. That no credential is required vouches for nobody. */
export function requireKnown(context: RequestContext): void {
  if (isAnonymous(context.authenticated)) throw new Refusal('forbidden')
}

/** For changes to the directory. That no credential is required authorises nobody to make them. */
export function requireManager(context: RequestContext): void {
  if (!isManager(identityOf(context))) throw new Refusal('forbidden')
}

export const isSelfOrManager = (context: RequestContext, name: string): boolean =>
  isSelf(context, name) || isManager(identityOf(context))

/** What is not everybody's to know: for whoever manages, and for everybody where no credential is required. */
export const mayReadAll = (context: RequestContext, settings: GateSettings): boolean =>
  isExempt(context, settings) || isManager(identityOf(context))

/** What is told of a user: to itself, and to whoever may read of all. */
export function requireReader(context: RequestContext, settings: GateSettings, name?: string): void {
  const isOwn = name !== undefined && isSelf(context, name)
  if (!isOwn && !mayReadAll(context, settings)) throw new Refusal('not_owner')
}

/** For what the server does, not what the directory holds: where no credential is required, anyone may. */
export function requireOperator(context: RequestContext, settings: GateSettings): void {
  if (!mayReadAll(context, settings)) throw new Refusal('forbidden')
}

export function requireSuperuser(context: RequestContext): void {
  if (identityOf(context).isSuperuser) return
  throw new Refusal('forbidden', { about: 'only a superuser token may see or reload the secrets' })
}
