import { isAccount } from '../../directory/account.ts'
import { type Identity, identityOf } from '../../directory/identity.ts'
import type { RequestContext, Step } from '../../http/request-context.ts'
import type { DocumentDoorCore } from '../module.ts'

type Run = (holder: Identity) => ReturnType<Step['run']>

/** Runs for the user whose rules hold: also if a JWT or a proxy asserts the name of one. */
export function withHolder(
  context: RequestContext,
  directory: DocumentDoorCore['directory'],
  run: Run,
): ReturnType<Step['run']> {
  const identity = identityOf(context)
  const { name, isAdmin } = identity
  if (name === null || isAdmin || isAccount(identity)) return run(identity)
  // an administrator of the name has no grants, and a JWT without its role has none of its rights
  const runFor = (account: Identity | undefined) => run(account && !account.isAdmin ? account : identity)
  const known = directory.peekAccount(name)
  return known ? runFor(known) : directory.findAccount(name).then(runFor)
}
