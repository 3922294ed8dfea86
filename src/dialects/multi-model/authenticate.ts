// Which credentials the multi-model door accepts, and what a rejected one means here.

import { authenticate } from '../../auth/authenticate.ts'
import { type AcceptedCredentials, type AcceptedHandlers, selectHandlers } from '../../auth/credential.ts'
import type { CredentialHandler } from '../../auth/handler.ts'
import type { SignInObserver } from '../../auth/record-sign-ins.ts'
import { readBase64 } from '../../base/encoding.ts'
import { isClientError } from '../../base/errors.ts'
import { ANONYMOUS, type Authenticated } from '../../directory/identity.ts'
import type { RequestContext, Step } from '../../http/request-context.ts'
import { authorizeRequest, needsCredentialEverywhere } from './access.ts'
import { type CheckedCredentials, RIGHTS } from './rights.ts'
import type { Databases, MultiModelSettings } from './settings.ts'

/** The scheme in any case, then blanks; padding may be absent. */
export const MULTI_MODEL_BASIC = {
  name: 'basic' as const,
  findCredential: (header: string) => /^basic +(.*)$/i.exec(header)?.[1],
  decode: (encoded: string) => readBase64(encoded, 'lax'),
  isAnonymous: () => false,
}

export interface AuthenticateDeps {
  readonly bearer: CredentialHandler
  readonly basic: CredentialHandler
  /** Left out where clients are not asked for a certificate. */
  readonly certificate?: CredentialHandler | undefined
  /** Whether this server role keeps users; the others accept only tokens. */
  knowsUsers(): boolean
  readonly observer: SignInObserver
}

/** For the door itself, or for a dialect that is mounted at it: `selectCredentials` reads the routes of the door. */
export function createAuthenticate(
  deps: AuthenticateDeps,
  accepted: AcceptedCredentials,
  selectCredentials: (context: RequestContext) => CheckedCredentials = () => 'all',
) {
  const { bearer, basic, certificate, knowsUsers, observer } = deps
  const all = selectHandlers(certificate ? [bearer, basic, certificate] : [bearer, basic], accepted)
  const tokens = selectHandlers([bearer], accepted)
  const none = selectHandlers([], accepted)
  const select = (context: RequestContext): AcceptedHandlers => {
    const checked = selectCredentials(context)
    if (checked === 'none') return none
    return checked === 'all' && knowsUsers() ? all : tokens
  }
  return {
    authenticate: (context: RequestContext) => authenticateOrAnonymous(context, select(context), observer),
    /** The same for a request that was accepted before. Records no sign-in. */
    authenticateAgain: (context: RequestContext) => authenticateOrAnonymous(context, select(context)),
  }
}

// quirk: at this door a rejected credential makes the request anonymous. Errors of the server are still thrown.
async function authenticateOrAnonymous(
  context: RequestContext,
  accepted: AcceptedHandlers,
  observer?: SignInObserver,
): Promise<Authenticated> {
  try {
    return await authenticate(context, accepted, observer)
  } catch (error) {
    if (isClientError(error)) return ANONYMOUS
    throw error
  }
}

/** While the door requires a credential on every path, the open paths of other dialects require one too. */
export const createRequireEntry =
  (
    settings: () => MultiModelSettings,
    databases: Databases,
    authenticate: (context: RequestContext) => Promise<Authenticated>,
  ): Step['run'] =>
  async (context) => {
    if (!needsCredentialEverywhere(context, settings())) return undefined
    context.authenticated = await authenticate(context)
    await authorizeRequest(context, RIGHTS.database, settings(), databases)
    return undefined
  }
