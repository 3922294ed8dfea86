import { isClientError } from '../base/errors.ts'
import { ANONYMOUS, type Authenticated, isAnonymous } from '../directory/identity.ts'
import { type AcceptedHandlers, checkAccepted } from './credential.ts'
import type { CredentialHandler, CredentialSource, Verdict } from './handler.ts'
import { explainRefusal, type SignInObserver } from './record-sign-ins.ts'

/**
 * Asks the handlers in order, from the one at `first` on. The first that accepts a credential decides the identity. A
 * credential that is present and wrong ends the search: the request never falls back to a weaker credential. If no
 * handler recognises a credential, or the listener does not accept the one it has, the request is anonymous.
 *
 * Returns a promise only if a handler has to wait: http/dispatch.ts states the gain.
 *
 * `observer` is left out where a request is authenticated again.
 */
export function authenticate(
  source: CredentialSource,
  accepted: AcceptedHandlers,
  observer?: SignInObserver,
  first = 0,
): Authenticated | Promise<Authenticated> {
  const { handlers } = accepted
  for (let index = first; index < handlers.length; index += 1) {
    const handler = handlers[index] as CredentialHandler
    const verdict = handler.read(source)
    if (verdict instanceof Promise)
      return verdict.then((later) => {
        const authenticated = recordAccepted(judge(later, handler, accepted, observer), source, observer)
        return authenticated ?? authenticate(source, accepted, observer, index + 1)
      })
    const authenticated = recordAccepted(judge(verdict, handler, accepted, observer), source, observer)
    if (authenticated) return authenticated
  }
  return ANONYMOUS
}

/** Throws if the credential is refused. `undefined`: the next handler is asked. */
function judge(
  verdict: Verdict,
  { name }: CredentialHandler,
  accepted: AcceptedHandlers,
  observer: SignInObserver | undefined,
): Authenticated | undefined {
  if (verdict.kind === 'refused') {
    if (!verdict.isRecorded) observer?.onRefused(explainRefusal(verdict.error), name)
    throw verdict.error
  }
  const problem = verdict.kind === 'accepted' ? checkAccepted(verdict.credential, accepted) : verdict.note
  if (problem !== undefined) observer?.onRefused(problem, name)
  if (verdict.kind === 'absent') return undefined
  return problem === undefined ? verdict : ANONYMOUS
}

function recordAccepted(
  found: Authenticated | undefined,
  source: CredentialSource,
  observer: SignInObserver | undefined,
): Authenticated | undefined {
  if (observer && !isAnonymous(found)) observer.onAccepted(found, source)
  return found
}

/** The same where a wrong credential leaves the request anonymous. Errors of the server are still thrown. */
async function authenticateOrAnonymous(
  source: CredentialSource,
  accepted: AcceptedHandlers,
  observer?: SignInObserver,
): Promise<Authenticated> {
  try {
    return await authenticate(source, accepted, observer)
  } catch (error) {
    if (isClientError(error)) return ANONYMOUS
    throw error
  }
}

interface AuthenticatorOptions<S extends CredentialSource> {
  /** What is accepted of this request. */
  select(source: S): AcceptedHandlers
  /** Left out where the handlers record what they accept. */
  readonly observer?: SignInObserver
  /** Whether a request with a wrong credential is anonymous. Otherwise it is rejected. */
  readonly isLenient?: boolean
}

/** How a listener, or a dialect that is mounted at it, reads the credentials of requests. */
export type Authenticator<S extends CredentialSource = CredentialSource> = ReturnType<typeof createAuthenticator<S>>

export function createAuthenticator<S extends CredentialSource>(options: AuthenticatorOptions<S>) {
  const { select, observer, isLenient } = options
  const read = isLenient ? authenticateOrAnonymous : authenticate
  const selectOne = (source: S, handler: string): AcceptedHandlers => {
    const accepted = select(source)
    return { ...accepted, handlers: accepted.handlers.filter(({ name }) => name === handler) }
  }
  return {
    authenticate: (source: S) => read(source, select(source), observer),
    /** Whether credentials that this handler reads are accepted now. */
    asks: (source: S, handler: string): boolean => selectOne(source, handler).handlers.length > 0,
    /** Asks only this handler, for a request that it accepted before. Records no sign-in. */
    authenticateAgain: (source: S, handler: string) => read(source, selectOne(source, handler)),
  }
}
