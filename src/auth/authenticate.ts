/**
 * What enters: the credentials of a request. What leaves: who is asking, and which handler vouches for it. A
 * credential that is present and wrong ends the search: it never slides on to a weaker check.
 */
import { andThen, type MaybePromise } from '../base/maybe-promise.ts'
import { ANONYMOUS, type Authenticated } from '../directory/identity.ts'
import type { CredentialHandler, CredentialSource, Verdict } from './handler.ts'
import { explainRefusal, type SignInObserver } from './sign-in-observer.ts'

/** `observer` is left out where the same request is only looked at again. */
export function authenticate(
  source: CredentialSource,
  handlers: readonly CredentialHandler[],
  observer?: SignInObserver,
  from = 0,
): MaybePromise<Authenticated> {
  for (let at = from; ; at += 1) {
    const handler = handlers[at]
    if (handler === undefined) return ANONYMOUS
    const read = handler.read(source)
    if (read instanceof Promise)
      return andThen(
        read,
        (verdict) => accept(verdict, handler, source, observer) ?? authenticate(source, handlers, observer, at + 1),
      )
    const accepted = accept(read, handler, source, observer)
    if (accepted) return accepted
  }
}

/** `undefined`: nothing here, the next is asked. */
function accept(
  verdict: Verdict,
  { name }: CredentialHandler,
  source: CredentialSource,
  observer: SignInObserver | undefined,
): Authenticated | undefined {
  if (verdict.kind === 'refused') {
    if (!verdict.isRecorded) observer?.onRefused(explainRefusal(verdict.error), name)
    throw verdict.error
  }
  if (verdict.kind === 'absent') {
    if (verdict.note !== undefined) observer?.onRefused(verdict.note, name)
    return undefined
  }
  // one by one: taking the rest of an object costs more than all else here
  const { identity, session, origin, bearer, accessToken, hasPassword } = verdict
  const authenticated = { identity, by: name, session, origin, bearer, accessToken, hasPassword }
  observer?.onAccepted(authenticated, source)
  return authenticated
}
