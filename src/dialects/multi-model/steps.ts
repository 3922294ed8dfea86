import { isUntrustedSimpleChange } from '../../base/cross-site.ts'
import { badRequest, Refusal } from '../../base/errors.ts'
import { isAnonymous } from '../../directory/identity.ts'
import type { RequestContext, RequestHead, RequestIdentity, Step } from '../../http/request-context.ts'
import { createActionsStep, createEpochStep, forwardPreflight, type MountedService } from '../services.ts'
import { authorizeRequest, requireScope } from './access.ts'
import { answerOptions, trustsEveryOrigin, withoutSlash } from './cors.ts'
import type { CheckDeps } from './deps.ts'
import { checkPath } from './path.ts'
import { multiModelRightOf } from './rights.ts'
import type { MultiModelSettings } from './settings.ts'

/** The ordered checks of a request. OPTIONS comes first: it is answered whatever else is wrong. */
export const multiModelSteps = ({ settings, databases, authenticate, ...deps }: CheckDeps): readonly Step[] => [
  {
    name: 'options',
    run: (context) => {
      if (context.method !== 'OPTIONS') return undefined
      return forwardPreflight(context, findService(context)) ?? answerOptions(context, deps.reservedHeaders)
    },
  },
  { name: 'path', run: checkPath },
  createEpochStep(deps.streams),
  {
    name: 'authenticate',
    authenticates: true,
    run: async (context) => {
      context.authenticated = await authenticate(context)
      return undefined
    },
  },
  { name: 'token scope', run: requireScope },
  { name: 'cross origin', run: (context) => rejectCrossOrigin(context, settings()) },
  createActionsStep(multiModelRightOf),
  {
    name: 'authorize',
    checksRights: true,
    run: async (context) => {
      await authorizeRequest(context, multiModelRightOf(context), settings(), databases)
      return undefined
    },
  },
  { name: 'encoding', run: (context) => rejectEncodedBody(context, settings()) },
]

/** OPTIONS is answered for any path, but an invalid path is not forwarded. */
function findService(context: RequestHead): MountedService | undefined {
  try {
    checkPath(context)
    return multiModelRightOf(context).service
  } catch (error) {
    if (error instanceof Refusal) return undefined
    throw error
  }
}

/**
 * A browser adds a remembered Basic password or its certificate to the requests of any page, but never a Bearer token.
 * Sign-in is accepted from every origin: its credential is in the body, and it ignores Basic.
 */
function rejectCrossOrigin(context: RequestHead & RequestIdentity, { http }: MultiModelSettings): undefined {
  const sent = context.authenticated?.credential?.kind.sentByBrowser
  if (sent === undefined) return
  const hasCertificate = sent === 'connection'
  if (!hasCertificate && trustsEveryOrigin(http['trusted-origin'])) return
  const origins = http['trusted-origin'].map(withoutSlash)
  if (isUntrustedSimpleChange(context, { origins, hasCertificate })) throw new Refusal('cross_origin')
}

/**
 * Chunked and compressed bodies are read only from authenticated clients. Requests to the paths of applications are
 * forwarded: there the application decides.
 */
function rejectEncodedBody(context: RequestContext, { server }: MultiModelSettings): undefined {
  if (!server.authentication || !isAnonymous(context.authenticated)) return
  if (!context.path.segments[0]?.startsWith('_')) return
  if (context.header('content-encoding') === undefined && !context.isChunked) return
  // quirk: reference multi-model 0.3, step 9
  const reason = 'support for handling Content-Encoding headers is turned off for unauthenticated requests'
  throw badRequest(reason)
}
