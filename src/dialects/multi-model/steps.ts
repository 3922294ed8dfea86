import { isUntrustedSimpleChange } from '../../base/cross-site.ts'
import { isPercentEncodingValid } from '../../base/encoding.ts'
import { Refusal } from '../../base/errors.ts'
import type { MaybePromise } from '../../base/maybe-promise.ts'
import { ANONYMOUS, type Authenticated, isAnonymous } from '../../directory/identity.ts'
import type { Reply, RequestContext, Step } from '../../http/request-context.ts'
import { MULTI_MODEL_BASIC } from './basic.ts'
import { answerOptions, type OriginSettings, trustsEveryOrigin, withoutSlash } from './cors.ts'
import { authorizeRequest, type Databases, type GateSettings } from './gate.ts'

export interface StepsDeps {
  settings(): GateSettings & OriginSettings
  readonly databases: Databases
  /** A wrong credential leaves the request anonymous: the gate answers for it, open paths stay open. */
  authenticate(context: RequestContext): MaybePromise<Authenticated>
  /** Headers no preflight gives leave for, in lower case. */
  readonly reservedHeaders?: readonly string[]
  /** The response of an application that answers CORS preflights itself; `undefined`: it is for Cardea to answer. */
  forwardPreflight?(context: RequestContext): Promise<Reply> | undefined
}

/** The ordered checks of a request. OPTIONS comes first: it is answered whatever else is wrong. */
export const multiModelSteps = ({
  settings,
  databases,
  authenticate,
  reservedHeaders = [],
  forwardPreflight = () => undefined,
}: StepsDeps): readonly Step[] => [
  {
    name: 'options',
    run: (context) => {
      if (context.method !== 'OPTIONS') return undefined
      return forwardPreflight(context) ?? answerOptions(context, reservedHeaders)
    },
  },
  { name: 'path', run: checkPath },
  {
    name: 'authenticate',
    run: async (context) => {
      context.authenticated = await authenticate(context)
      return undefined
    },
  },
  { name: 'cross origin', run: (context) => refuseCrossOrigin(context, settings()) },
  {
    name: 'gate',
    run: async (context) => {
      await authorizeRequest(context, settings(), databases)
      return undefined
    },
  },
  { name: 'encoding', run: (context) => checkEncoding(context, settings()) },
]

export function checkPath(context: RequestContext): undefined {
  if (!isPercentEncodingValid(context.rawQuery)) throw new Refusal('invalid_url_encoding')
  return void context.path
}

/**
 * A browser adds a remembered Basic password to a page's request by itself; a Bearer token it does not. Sign-in never
 * reads a Basic password: its credential is in the body, so it is accepted from every origin.
 */
function refuseCrossOrigin(context: RequestContext, { trustedOrigins }: OriginSettings): undefined {
  if ((context.authenticated ?? ANONYMOUS).by !== MULTI_MODEL_BASIC.name) return
  if (trustsEveryOrigin(trustedOrigins)) return
  const origins = trustedOrigins.map(withoutSlash)
  if (isUntrustedSimpleChange(context, { origins })) throw new Refusal('cross_origin')
}

/**
 * Bodies in pieces or packed are read of those who are known only. What applications under other paths are sent is
 * theirs to judge.
 */
function checkEncoding(context: RequestContext, { authentication }: GateSettings): undefined {
  const isKnown = !isAnonymous(context.authenticated)
  if (!authentication || isKnown || !context.path.segments[0]?.startsWith('_')) return
  if (context.header('content-encoding') === undefined && context.header('transfer-encoding') === undefined) return
  // quirk: reference multi-model 0.3, step 9
  const about = 'support for handling Content-Encoding headers is turned off for unauthenticated requests'
  throw new Refusal('bad_request', { about })
}
