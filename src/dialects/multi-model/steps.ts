import { isUntrustedSimpleChange } from '../../base/cross-site.ts'
import { isPercentEncodingValid } from '../../base/encoding.ts'
import { Refusal } from '../../base/errors.ts'
import type { MaybePromise } from '../../base/maybe-promise.ts'
import { ANONYMOUS, type Authenticated } from '../../directory/identity.ts'
import type { Exchange, Reply, Step } from '../../http/request-context.ts'
import { MULTI_MODEL_BASIC } from './basic.ts'
import { answerOptions, type OriginSettings, trustsEveryOrigin, withoutSlash } from './cors.ts'
import { type Databases, type GateSettings, passGate } from './gate.ts'

export interface StepsNeeds {
  settings(): GateSettings & OriginSettings
  readonly databases: Databases
  /** A wrong credential leaves the request anonymous: the gate answers for it, open paths stay open. */
  authenticate(exchange: Exchange): MaybePromise<Authenticated>
  /** Headers no preflight gives leave for, in lower case. */
  readonly reservedHeaders?: readonly string[]
  /** The response of an application that answers CORS preflights itself; `undefined`: it is for Cardea to answer. */
  forwardPreflight?(exchange: Exchange): Promise<Reply> | undefined
}

/** The ordered checks of a request. OPTIONS comes first: it is answered whatever else is wrong. */
export const multiModelSteps = ({
  settings,
  databases,
  authenticate,
  reservedHeaders = [],
  forwardPreflight = () => undefined,
}: StepsNeeds): readonly Step[] => [
  {
    name: 'options',
    run: (exchange) => {
      if (exchange.method !== 'OPTIONS') return undefined
      return forwardPreflight(exchange) ?? answerOptions(exchange, reservedHeaders)
    },
  },
  { name: 'path', run: checkPath },
  {
    name: 'authenticate',
    run: async (exchange) => {
      exchange.authenticated = await authenticate(exchange)
      return undefined
    },
  },
  { name: 'cross origin', run: (exchange) => refuseCrossOrigin(exchange, settings()) },
  {
    name: 'gate',
    run: async (exchange) => {
      await passGate(exchange, settings(), databases)
      return undefined
    },
  },
  { name: 'encoding', run: (exchange) => checkEncoding(exchange, settings()) },
]

export function checkPath(exchange: Exchange): undefined {
  if (!isPercentEncodingValid(exchange.rawQuery)) throw new Refusal('invalid_url_encoding')
  return void exchange.path
}

/**
 * A browser adds a remembered Basic password to a page's request by itself; a Bearer token it does not. Sign-in never
 * reads a Basic password: its credential is in the body, so it is accepted from every origin.
 */
function refuseCrossOrigin(exchange: Exchange, { trustedOrigins }: OriginSettings): undefined {
  if ((exchange.authenticated ?? ANONYMOUS).by !== MULTI_MODEL_BASIC.name) return
  if (trustsEveryOrigin(trustedOrigins)) return
  const origins = trustedOrigins.map(withoutSlash)
  if (isUntrustedSimpleChange(exchange, { origins })) throw new Refusal('cross_origin')
}

/**
 * Bodies in pieces or packed are read of those who are known only. What applications under other paths are sent is
 * theirs to judge.
 */
function checkEncoding(exchange: Exchange, { authentication }: GateSettings): undefined {
  const isKnown = (exchange.authenticated ?? ANONYMOUS).by !== null
  if (!authentication || isKnown || !exchange.path.segments[0]?.startsWith('_')) return
  if (exchange.header('content-encoding') === undefined && exchange.header('transfer-encoding') === undefined) return
  // quirk: reference multi-model 0.3, step 9
  const about = 'support for handling Content-Encoding headers is turned off for unauthenticated requests'
  throw new Refusal('bad_request', { about })
}
