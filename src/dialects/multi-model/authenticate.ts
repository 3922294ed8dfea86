// Which credentials the multi-model door accepts, and what a rejected one means here.
import { createAuthenticator, type DoorAuthenticator } from '../../auth/authenticate.ts'
import { type AcceptedCredentials, MULTI_MODEL_TOKENS, selectHandlers } from '../../auth/credential.ts'
import type { CredentialHandler } from '../../auth/handler.ts'
import type { SignInObserver } from '../../auth/record-sign-ins.ts'
import type { RequestContext, Step } from '../../http/request-context.ts'
import { authorizeRequest, needsCredentialEverywhere } from './access.ts'
import { type CheckedCredentials, MULTI_MODEL_RIGHTS } from './rights.ts'
import type { Databases, MultiModelSettings } from './settings.ts'

export interface AuthenticateDeps {
  readonly handlers: readonly CredentialHandler[]
  /** Whether this server role keeps users; the others accept only tokens. */
  knowsUsers(): boolean
  readonly observer: SignInObserver
}

/** For the door itself, or for a dialect that is mounted at it: `selectCredentials` reads the routes of the door. */
export function createDoorAuthenticator(
  { handlers, knowsUsers, observer }: AuthenticateDeps,
  accepted: AcceptedCredentials,
  selectCredentials: (context: RequestContext) => CheckedCredentials = () => 'all',
): DoorAuthenticator<RequestContext> {
  const all = selectHandlers(handlers, accepted)
  const kinds = accepted.kinds.filter((kind) => MULTI_MODEL_TOKENS.includes(kind))
  const tokens = selectHandlers(handlers, { ...accepted, kinds })
  const none = selectHandlers([], accepted)
  return createAuthenticator({
    select(context: RequestContext) {
      const checked = selectCredentials(context)
      if (checked === 'none') return none
      return checked === 'all' && knowsUsers() ? all : tokens
    },
    observer,
    // quirk: at this door a rejected credential makes the request anonymous
    isLenient: true,
  })
}

/** While the door requires a credential on every path, the open paths of other dialects require one too. */
export const createMultiModelEntry =
  (
    settings: () => MultiModelSettings,
    databases: Databases,
    { authenticate }: DoorAuthenticator<RequestContext>,
  ): Step['run'] =>
  async (context) => {
    if (!needsCredentialEverywhere(context, settings())) return undefined
    context.authenticated = await authenticate(context)
    await authorizeRequest(context, MULTI_MODEL_RIGHTS.database, settings(), databases)
    return undefined
  }
