import { Refusal } from '../../base/errors.ts'
import { ANONYMOUS, type Identity } from '../../directory/identity.ts'
import type { Exchange } from '../../http/request-context.ts'
import { type GateSettings, isExempt, levelOn } from './gate.ts'
import { SYSTEM_DATABASE } from './path.ts'

/** Who manages this door: an administrator, a superuser token, or a user who may write the system database. */
export const isManager = (identity: Identity): boolean => levelOn(identity, SYSTEM_DATABASE) === 'rw'

const identityOf = (exchange: Exchange): Identity => (exchange.authenticated ?? ANONYMOUS).identity

export const isSelf = (exchange: Exchange, name: string): boolean => identityOf(exchange).name === name

/** Somebody vouched for, whoever it is. That no credential is required vouches for nobody. */
export function requireKnown(exchange: Exchange): void {
  if ((exchange.authenticated ?? ANONYMOUS).by === null) throw new Refusal('forbidden')
}

/** For changes to the directory. That no credential is required authorises nobody to make them. */
export function requireManager(exchange: Exchange): void {
  if (!isManager(identityOf(exchange))) throw new Refusal('forbidden')
}

export const isSelfOrManager = (exchange: Exchange, name: string): boolean =>
  isSelf(exchange, name) || isManager(identityOf(exchange))

/** What is not everybody's to know: for whoever manages, and for everybody where no credential is required. */
export const mayReadAll = (exchange: Exchange, settings: GateSettings): boolean =>
  isExempt(exchange, settings) || isManager(identityOf(exchange))

/** What is told of a user: to itself, and to whoever may read of all. */
export function requireReader(exchange: Exchange, settings: GateSettings, name?: string): void {
  const isOwn = name !== undefined && isSelf(exchange, name)
  if (!isOwn && !mayReadAll(exchange, settings)) throw new Refusal('somebody_elses')
}

/** For what the server does, not what the directory holds: where no credential is required, anyone may. */
export function requireOperator(exchange: Exchange, settings: GateSettings): void {
  if (!mayReadAll(exchange, settings)) throw new Refusal('forbidden')
}

export function requireSuperuser(exchange: Exchange): void {
  if (identityOf(exchange).isSuperuser) return
  throw new Refusal('forbidden', { about: 'only a superuser token may see or reload the secrets' })
}
