import { ANONYMOUS, type Authenticated } from '../directory/identity.ts'
import { type AcceptedHandlers, findUnenforcedLimit } from './accepted-credentials.ts'
import type { CredentialHandler, CredentialSource, Verdict } from './handler.ts'
import { explainRefusal, type SignInObserver } from './record-sign-ins.ts'

/**
 * Asks the handlers in order. The first that accepts a credential decides the identity. A credential that is present
 * and wrong ends the search: the request never falls back to a weaker credential. If no handler recognises a
 * credential, or the listener does not enforce the limits of the one it has, the request is anonymous.
 *
 * Returns a promise only if a handler has to wait: http/dispatch.ts states the gain.
 *
 * `observer` is left out where a request is authenticated again.
 */
export function authenticate(
  source: CredentialSource,
  accepted: AcceptedHandlers,
  observer?: SignInObserver,
): Authenticated | Promise<Authenticated> {
  const { handlers } = accepted
  for (const handler of handlers) {
    const verdict = handler.read(source)
    const context = { source, accepted, observer }
    if (verdict instanceof Promise) return continueAfter(verdict, handlers.slice(handlers.indexOf(handler)), context)
    const authenticated = judge(verdict, handler, context)
    if (authenticated) return authenticated
  }
  return ANONYMOUS
}

/** What the verdict of every handler is judged by. */
interface JudgeContext {
  readonly source: CredentialSource
  readonly accepted: AcceptedHandlers
  readonly observer: SignInObserver | undefined
}

async function continueAfter(
  reading: Promise<Verdict>,
  [handler, ...others]: readonly CredentialHandler[],
  context: JudgeContext,
): Promise<Authenticated> {
  const verdict = await reading
  const authenticated = handler && judge(verdict, handler, context)
  return authenticated ?? authenticate(context.source, { ...context.accepted, handlers: others }, context.observer)
}

/** Throws if the credential is refused. `undefined`: the next handler is asked. */
function judge(verdict: Verdict, { name }: CredentialHandler, context: JudgeContext): Authenticated | undefined {
  const { source, accepted, observer } = context
  if (verdict.kind === 'refused') {
    if (!verdict.isRecorded) observer?.onRefused(explainRefusal(verdict.error), name)
    throw verdict.error
  }
  if (verdict.kind === 'accepted') {
    const limit = findUnenforcedLimit(verdict, accepted)
    if (limit !== undefined) {
      observer?.onRefused(`a credential with limits (${limit}) is not accepted here`, name)
      return ANONYMOUS
    }
    const authenticated = { ...verdict, by: name }
    observer?.onAccepted(authenticated, source)
    return authenticated
  }
  if (verdict.note !== undefined) observer?.onRefused(verdict.note, name)
  return undefined
}
