/**
 * What enters: requests as drivers of the multi-model database spell them. What leaves: answers in that database's
 * words. Nothing here decides who somebody is; it asks.
 */
import { Refusal } from '../../base/errors.ts'
import type { Dialect, Exchange, HeaderPair } from '../../door/exchange.ts'
import type { Authenticated } from '../../identity/identity.ts'
import { corsHeaders } from './cors.ts'
import { toMultiModelWords } from './errors.ts'
import type { GateSettings } from './gate.ts'
import { readMultiModelPath } from './path.ts'
import { multiModelRoutes } from './routes.ts'
import { multiModelSteps } from './steps.ts'
import { toJsonReply } from './wire.ts'

/** The options this dialect lives by, as they are now. */
export interface MultiModelSettings extends GateSettings {
  readonly trustedOrigins: readonly string[]
  readonly returnsQueueTime: boolean
}

export interface MultiModelDialectOptions {
  /** The service's own name as clients know it: the realm of challenges. */
  readonly name: string
  /** The version of the interface told to clients. */
  readonly version: string
  readonly product: { readonly name: string; readonly version: string }
  settings(): MultiModelSettings
  authenticate(exchange: Exchange): Promise<Authenticated>
}

export function createMultiModelDialect(options: MultiModelDialectOptions): Dialect {
  const { name, settings } = options
  const challenges: readonly HeaderPair[] = [
    ['Www-Authenticate', `Bearer token_type="JWT", realm="${name}"`],
    ['Www-Authenticate', `Basic realm="${name}"`],
  ]
  const standing: readonly HeaderPair[] = [['Server', name], ...SECURITY_HEADERS]

  return {
    name: 'multi-model',
    requestIdHeader: REQUEST_ID,
    readPath: readMultiModelPath,
    steps: multiModelSteps(options),
    routes: multiModelRoutes(options),
    otherwise: (exchange) => {
      throw new Refusal('not_found', { about: `unknown path '/${exchange.path.segments.join('/')}'` })
    },
    spell: (refusal, exchange) => {
      const words = toMultiModelWords(refusal)
      const isChallenged = words.code === 401 && exchange?.header('x-omit-www-authenticate') === undefined
      return toJsonReply(words.code, { error: true, ...words }, [
        ...(isChallenged ? challenges : []),
        ...(refusal.code === 'method_not_allowed'
          ? [['Allow', (refusal.about ?? '').replaceAll(',', ', ')] as const]
          : []),
      ])
    },
    standingHeaders: (exchange) => [
      ...standing,
      ...(settings().returnsQueueTime ? [QUEUE_TIME] : []),
      ...(exchange ? [[REQUEST_ID, exchange.id] as const, ...corsHeaders(exchange, settings().trustedOrigins)] : []),
    ],
  }
}

const REQUEST_ID = 'X-Request-Id'
const QUEUE_TIME: HeaderPair = ['X-Arango-Queue-Time-Seconds', '0.000000']

const SECURITY_HEADERS: readonly HeaderPair[] = [
  ['X-Content-Type-Options', 'nosniff'],
  ['Cache-Control', 'no-cache, no-store, must-revalidate, pre-check=0, post-check=0, max-age=0, s-maxage=0'],
  ['Pragma', 'no-cache'],
  ['Expires', '0'],
  ['Content-Security-Policy', "frame-ancestors 'self'; form-action 'self';"],
  // The blank before the semicolon is what clients of the real server see.
  ['Strict-Transport-Security', 'max-age=31536000 ; includeSubDomains'],
]
