import { ANONYMOUS, type Authenticated } from '../directory/identity.ts'
import type { CredentialHandler, CredentialSource } from './handler.ts'
import { explainRefusal, type SignInObserver } from './record-sign-ins.ts'

/**
 * Asks the handlers in order. The first that accepts a credential decides the identity. A credential that is present
 * and wrong ends the search: the request never falls back to a weaker credential. If no handler recognises a
 * credential, the request is anonymous.
 *
 * `observer` is left out where a request is authenticated again.
 */
export async function authenticate(
  source: CredentialSource,
  handlers: readonly CredentialHandler[],
  observer?: SignInObserver,
): Promise<Authenticated> {
  for (const handler of handlers) {
    const { name } = handler
    const reading = handler.read(source)
    // awaited only where it is a promise: http/dispatch.ts states the gain
    const verdict = reading instanceof Promise ? await reading : reading
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
  }
  return ANONYMOUS
}
