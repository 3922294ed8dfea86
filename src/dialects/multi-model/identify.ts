// Which credentials the multi-model door accepts, and what a rejected one means here.
import { authenticate } from '../../auth/authenticate.ts'
import type { CredentialHandler } from '../../auth/handler.ts'
import type { SignInObserver } from '../../auth/record-sign-ins.ts'
import { isClientError } from '../../base/errors.ts'
import type { MaybePromise } from '../../base/maybe-promise.ts'
import { ANONYMOUS, type Authenticated } from '../../directory/identity.ts'
import type { RequestContext, Step } from '../../http/request-context.ts'
import { areAllPathsClosed, authorizeRequest, type Databases, examinedOn, type GateSettings, isExempt } from './gate.ts'

export interface IdentifyDeps {
  readonly bearer: CredentialHandler
  readonly basic: CredentialHandler
  /** Whether this server role keeps users; the others know only tokens. */
  knowsUsers(): boolean
  readonly observer: SignInObserver
}

export interface MultiModelIdentify {
  identify(context: RequestContext): Promise<Authenticated>
  /** The same for a request that was accepted before. Records no sign-in. */
  identifyAgain(context: RequestContext): Promise<Authenticated>
}

export function createIdentify({ bearer, basic, knowsUsers, observer }: IdentifyDeps): MultiModelIdentify {
  const handlersOf = (context: RequestContext): readonly CredentialHandler[] => {
    const examined = examinedOn(context)
    if (examined === 'none') return []
    return examined === 'all' && knowsUsers() ? [bearer, basic] : [bearer]
  }
  return {
    identify: (context) => authenticateOrAnonymous(context, handlersOf(context), observer),
    identifyAgain: (context) => authenticateOrAnonymous(context, handlersOf(context)),
  }
}

/** quirk: at this door a rejected credential makes the request anonymous. Errors of the server are still thrown. */
async function authenticateOrAnonymous(
  context: RequestContext,
  handlers: readonly CredentialHandler[],
  observer?: SignInObserver,
): Promise<Authenticated> {
  try {
    return await authenticate(context, handlers, observer)
  } catch (error) {
    if (isClientError(error)) return ANONYMOUS
    throw error
  }
}

/** A token limited to some paths is not accepted on the paths of other dialects. */
export const withoutPathTokens = (authenticated: Authenticated): Authenticated =>
  authenticated.bearer?.allowedPaths === undefined ? authenticated : ANONYMOUS

export interface RequireEntryDeps {
  settings(): GateSettings
  readonly databases: Databases
  identify(context: RequestContext): MaybePromise<Authenticated>
}

/** While the door requires a credential on every path, the open paths of other dialects require one too. */
export function createRequireEntry({ settings, databases, identify }: RequireEntryDeps): Step['run'] {
  return async (context) => {
    if (!areAllPathsClosed(settings()) || isExempt(context, settings())) return undefined
    context.authenticated = await identify(context)
    await authorizeRequest(context, settings(), databases)
    return undefined
  }
}
