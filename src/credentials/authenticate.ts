/**
 * What enters: the credentials of a request. What leaves: who is asking, and which handler vouches for it. A
 * credential that is present and wrong ends the search: it never slides on to a weaker check.
 */
import { andThen, type MaybePromise } from '../base/maybe-promise.ts'
import { ANONYMOUS, type Authenticated } from '../identity/identity.ts'
import type { CredentialHandler, CredentialSource, Verdict } from './handler.ts'

export function authenticate(
  source: CredentialSource,
  handlers: readonly CredentialHandler[],
  from = 0,
): MaybePromise<Authenticated> {
  for (let at = from; ; at += 1) {
    const handler = handlers[at]
    if (handler === undefined) return ANONYMOUS
    const read = handler.read(source)
    if (read instanceof Promise)
      return andThen(read, (verdict) => accept(verdict, handler) ?? authenticate(source, handlers, at + 1))
    const accepted = accept(read, handler)
    if (accepted) return accepted
  }
}

/** `undefined`: nothing here, the next is asked. */
function accept(verdict: Verdict, { name }: CredentialHandler): Authenticated | undefined {
  if (verdict.kind === 'refused') throw verdict.error
  if (verdict.kind === 'absent') return undefined
  // one by one: taking the rest of an object costs more than all else here
  const { identity, session, origin, bearer, accessToken, hasPassword } = verdict
  return { identity, by: name, session, origin, bearer, accessToken, hasPassword }
}
