import { isClientError, Refusal } from '../base/errors.ts'
import { type Account, isAccount, needsSecondStep } from '../directory/account.ts'
import type { Directory } from '../directory/directory.ts'
import {
  ANONYMOUS,
  type Authenticated,
  type AuthenticatedRequest,
  type Credential,
  hasSameRights,
  isAnonymous,
} from '../directory/identity.ts'
import { keepOrigin } from '../observe/origin.ts'
import type { IterationLimits } from '../passwords/hash-policy.ts'
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
export function authenticateSource(
  source: CredentialSource,
  accepted: AcceptedHandlers,
  observer?: SignInObserver,
  first = 0,
): Authenticated | Promise<Authenticated> {
  const { handlers } = accepted
  for (let index = first; index < handlers.length; index += 1) {
    const handler = handlers[index] as CredentialHandler
    const verdict = handler.read(source)
    if (typeof verdict === 'function')
      return keepOrigin(() =>
        verdict().then((later) => {
          const authenticated = recordAccepted(judge(later, handler, accepted, observer), source, observer)
          return authenticated ?? authenticateSource(source, accepted, observer, index + 1)
        }),
      )
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

/** Reads a credential where a wrong one leaves the request anonymous. Errors of the server are still thrown. */
async function authenticateOrAnonymous(
  source: CredentialSource,
  accepted: AcceptedHandlers,
  observer?: SignInObserver,
): Promise<Authenticated> {
  try {
    return await authenticateSource(source, accepted, observer)
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
export type DoorAuthenticator<S extends CredentialSource = CredentialSource> = ReturnType<typeof createAuthenticator<S>>

export function createAuthenticator<S extends CredentialSource>(options: AuthenticatorOptions<S>) {
  const { select, observer, isLenient } = options
  const read = isLenient ? authenticateOrAnonymous : authenticateSource
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

/** A request that was authenticated and whose response is still being sent. */
export interface RunningRequest extends CredentialSource {
  readonly authenticated: Authenticated | undefined
  /** `undefined`: the request was never authenticated. */
  readonly streamEpoch: number | undefined
  /** Determines the client again on next use: the trusted proxies may have changed. */
  forgetClient(): void
  /** Throws where the identity may not make this request. */
  checkRights(): Promise<void>
}

export interface RevalidateDeps {
  readonly directory: Pick<Directory, 'findAccount' | 'catchUp'>
  iterationLimits(): IterationLimits
}

/** How the credential of a running request is checked again. One of `authenticators` has accepted it. */
export const createRevalidation = <R extends RunningRequest>(
  authenticators: readonly DoorAuthenticator<R>[],
  deps: RevalidateDeps,
) => ({
  /**
   * Whether a running request would still be accepted, with the same rights. Throws where the door would now reject
   * it. Called while a response is streamed, after users, sessions or the configuration changed.
   */
  async revalidate(request: R): Promise<boolean> {
    const before = request.authenticated
    // a preflight is accepted from every client
    if (before === undefined || request.streamEpoch === undefined) return true
    if (!isAnonymous(before) && !(await isStillAccepted(request, before, authenticators, deps))) return false
    await request.checkRights()
    return true
  },
  /**
   * Confirms the credential of a request that is about to change something: first everything that other nodes have
   * stored until now is read. Anonymous requests have nothing to confirm.
   */
  async confirmCredential(request: R): Promise<Authenticated | undefined> {
    const before = request.authenticated
    if (isAnonymous(before)) return undefined
    await deps.directory.catchUp()
    if (!(await isStillAccepted(request, before, authenticators, deps)))
      throw new Refusal('authentication_required', { detail: 'the credential was revoked meanwhile' })
    await request.checkRights()
    return before
  },
})

async function isStillAccepted<R extends RunningRequest>(
  request: R,
  { identity, credential }: AuthenticatedRequest,
  authenticators: readonly DoorAuthenticator<R>[],
  deps: RevalidateDeps,
): Promise<boolean> {
  const { kind, handler } = credential
  const authenticator = authenticators.find((each) => each.asks(request, handler))
  if (!authenticator) return false
  if (kind.isStillAccepted && isAccount(identity)) return isSameAccount(identity, credential, deps)
  request.forgetClient()
  const now = await authenticator.authenticateAgain(request, handler)
  return !isAnonymous(now) && hasSameRights(now.identity, identity)
}

/** Whether the account is the same, and still accepts the credential. */
async function isSameAccount(before: Account, credential: Credential, deps: RevalidateDeps): Promise<boolean> {
  const now = await deps.directory.findAccount(before.name)
  if (!now || now.sessionEpoch.generation !== before.sessionEpoch.generation) return false
  // Basic has no place for a one-time code
  if (!hasSameRights(now, before) || needsSecondStep(now)) return false
  return credential.kind.isStillAccepted?.(now, credential, deps.iterationLimits()) ?? false
}
