import { ANONYMOUS, type Authenticated } from '../directory/identity.ts'
import type { CredentialHandler, CredentialSource, Verdict } from './handler.ts'
import { explainRefusal, type SignInObserver } from './record-sign-ins.ts'

/**
 * Asks the handlers in order. The first that accepts a credential decides the identity. A credential that is present
 * and wrong ends the search: the request never falls back to a weaker credential. If no handler recognises a
 * credential, the request is anonymous.
 *
 * Returns a promise only if a handler has to wait: http/dispatch.ts states the gain.
 *
 * `observer` is left out where a request is authenticated again.
 */
export function authenticate(
  source: CredentialSource,
  handlers: readonly CredentialHandler[],
  observer?: SignInObserver,
): Authenticated | Promise<Authenticated> {
  for (const handler of handlers) {
    const verdict = handler.read(source)
    if (verdict instanceof Promise)
      return continueAfter(verdict, handlers.slice(handlers.indexOf(handler)), { source, observer })
    const authenticated = judge(verdict, handler, { source, observer })
    if (authenticated) return authenticated
  }
  return ANONYMOUS
}

interface Judged {
  readonly source: CredentialSource
  readonly observer: SignInObserver | undefined
}

async function continueAfter(
  reading: Promise<Verdict>,
  [handler, ...others]: readonly CredentialHandler[],
  { source, observer }: Judged,
): Promise<Authenticated> {
  const verdict = await reading
  const authenticated = handler && judge(verdict, handler, { source, observer })
  return authenticated ?? authenticate(source, others, observer)
}

/** Throws if the credential is refused. `undefined`: the next handler is asked. */
function judge(verdict: Verdict, { name }: CredentialHandler, { source, observer }: Judged): Authenticated | undefined {
  if (verdict.kind === 'refused') {
    if (!verdict.isRecorded) observer?.onRefused(explainRefusal(verdict.error), name)
    throw verdict.error
  }
  if (verdict.kind === 'accepted') {
    const authenticated = { ...verdict, by: name }
    observer?.onAccepted(authenticated, source)
    return authenticated
  }
  if (verdict.note !== undefined) observer?.onRefused(verdict.note, name)
  return undefined
}
