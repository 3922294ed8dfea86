/**
 * What enters: requests as drivers of the multi-model database spell them. What leaves: answers in that database's
 * words. Nothing here decides who somebody is; it asks.
 */
import type { Dialect, HeaderPair, PendingReply, RequestContext, Route } from '../../http/request-context.ts'
import type { AuthSettings } from './auth.ts'
import { declinesChallenge } from './challenge.ts'
import { corsHeaders, type OriginSettings } from './cors.ts'
import { toMultiModelWords } from './errors.ts'
import type { GateSettings } from './gate.ts'
import { readMultiModelPath } from './path.ts'
import type { StatusSettings } from './status.ts'
import { multiModelSteps, type StepsDeps } from './steps.ts'
import { toJsonReply } from './wire.ts'

/** The options the headers of every reply live by, as they are now. */
export interface HeaderSettings extends OriginSettings {
  readonly returnsQueueTime: boolean
}

/** Everything this dialect lives by. */
export type MultiModelSettings = HeaderSettings & GateSettings & AuthSettings & StatusSettings

export interface MultiModelDialectOptions extends StepsDeps {
  /** The service's own name as clients know it: the realm of challenges. */
  readonly name: string
  settings(): HeaderSettings & GateSettings
  readonly routes: readonly Route[]
  /** A path no route knows. */
  fallback(context: RequestContext): PendingReply
  /** Whether it goes to a database behind this door. */
  hasUpstream?(): boolean
}

export function createMultiModelDialect(options: MultiModelDialectOptions): Dialect {
  const { name, settings, routes, fallback, hasUpstream = () => false } = options
  const challenges: readonly HeaderPair[] = [
    ['Www-Authenticate', `Bearer token_type="JWT", realm="${name}"`],
    ['Www-Authenticate', `Basic realm="${name}"`],
  ]
  const standing: readonly HeaderPair[] = [['Server', name], ...SECURITY_HEADERS]
  const ownHeaders = (context: RequestContext | undefined): readonly HeaderPair[] => [
    ...standing,
    ...(settings().returnsQueueTime ? [QUEUE_TIME] : []),
    ...(context ? [[REQUEST_ID, context.id] as const, ...corsHeaders(context, settings().trustedOrigins)] : []),
  ]

  return {
    name: 'multi-model',
    requestIdHeader: REQUEST_ID,
    readPath: readMultiModelPath,
    steps: multiModelSteps(options),
    routes,
    fallback,
    hasUpstream,
    renderError: (refusal, context) => {
      const { code, ...words } = toMultiModelWords(refusal)
      const isMethod = refusal.code === 'method_not_allowed'
      const status = isMethod && context && CALLS_METHODS_BAD.test(context.target) ? 400 : code
      const isChallenged = status === 401 && !declinesChallenge(context)
      return toJsonReply(status, { error: true, code: status, ...words }, [
        ...(isChallenged ? challenges : []),
        ...(isMethod ? [['Allow', (refusal.about ?? '').replaceAll(',', ', ')] as const] : []),
      ])
    },
    defaultHeaders: (context, reply) => {
      if (reply.isForwarded) return context ? ownCors(context, settings().trustedOrigins) : []
      return ownHeaders(context)
    },
  }
}

/** An answer from behind says itself what other origins may do, unless somebody told Cardea whom to trust. */
const ownCors = (context: RequestContext, trusted: readonly string[]): readonly HeaderPair[] =>
  trusted.length > 0 ? corsHeaders(context, trusted) : []

// quirk: reference multi-model 7.2, 7.4: a method these do not know is a bad request there
const CALLS_METHODS_BAD = /^(?:\/_arango\/(?:v0|experimental))?(?:\/_db\/[^/]+)?\/_api\/(?:user|token)(?:[/?]|$)/

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
