/**
 * The ArangoDB-compatible dialect: its steps, routes, headers and errors. It does not authenticate requests itself; it
 * is given a function that does.
 */
import { REQUEST_ID_HEADER } from '../../http/reply.ts'
import type {
  Dialect,
  HeaderPair,
  PendingReply,
  Reply,
  RequestContext,
  RequestHead,
  Route,
} from '../../http/request-context.ts'
import type { DoorUpstream } from '../services.ts'
import { toMultiModelCorsHeaders } from './cors.ts'
import type { CheckDeps } from './deps.ts'
import { toMultiModelError } from './errors.ts'
import { readMultiModelPath } from './path.ts'
import { toAskedFormat, toMultiModelReply } from './reply.ts'
import type { MultiModelSettings } from './settings.ts'
import { multiModelSteps } from './steps.ts'

export interface MultiModelDialectOptions extends CheckDeps {
  readonly routes: readonly Route[]
  /** Handles a path that has no route. */
  fallback(context: RequestContext): PendingReply
  readonly upstream: Pick<DoorUpstream, 'isSet'>
}

export function createMultiModelDialect(options: MultiModelDialectOptions): Dialect {
  const { name, settings, routes, fallback, upstream, confirmCredential } = options
  const challenges: readonly HeaderPair[] = [
    ['Www-Authenticate', `Bearer token_type="JWT", realm="${name}"`],
    ['Www-Authenticate', `Basic realm="${name}"`],
  ]
  const fixedHeaders: readonly HeaderPair[] = [['Server', name], ...SECURITY_HEADERS]
  return {
    name: 'multi-model',
    requestIdHeader: REQUEST_ID_HEADER.toLowerCase(),
    methods: 'DELETE,GET,HEAD,OPTIONS,PATCH,POST,PUT',
    readPath: readMultiModelPath,
    steps: multiModelSteps(options),
    routes,
    fallback,
    confirmCredential,
    hasUpstream: upstream.isSet,
    renderError: (refusal, context) => {
      const { code, ...body } = toMultiModelError(refusal)
      const isMethod = refusal.code === 'method_not_allowed'
      const status = isMethod && context && CALLS_METHODS_BAD.test(context.target) ? 400 : code
      const isChallenged = status === 401 && !declinesChallenge(context)
      const reply = toMultiModelReply(status, { error: true, code: status, ...body }, [
        ...(isChallenged ? challenges : []),
        ...(isMethod ? [['Allow', (refusal.value ?? '').replaceAll(',', ', ')] as const] : []),
      ])
      return toAskedFormat(reply, context)
    },
    defaultHeaders: (context, reply) => {
      if (reply.isForwarded) return context ? forwardedCorsHeaders(context, reply, settings()) : []
      return [
        ...fixedHeaders,
        ...(settings().http['return-queue-time-header'] ? [QUEUE_TIME] : []),
        ...(context
          ? [[REQUEST_ID_HEADER, context.id] as const, ...toMultiModelCorsHeaders(context, reply, settings())]
          : []),
      ]
    },
  }
}

/** An upstream sets its own CORS headers, unless trusted origins are configured here. */
const forwardedCorsHeaders = (
  context: RequestHead,
  reply: Reply,
  settings: MultiModelSettings,
): readonly HeaderPair[] =>
  settings.http['trusted-origin'].length > 0 ? toMultiModelCorsHeaders(context, reply, settings) : []

/** The header counts with any value, even an empty one. */
const declinesChallenge = (context: RequestHead | undefined): boolean =>
  context?.header('x-omit-www-authenticate') !== undefined

/** Another dialect mounted at this door: without challenges where the client declines them. */
export const withDeclinedChallenges = (dialect: Dialect): Dialect => ({
  ...dialect,
  renderError: (refusal, context) => {
    const reply = dialect.renderError(refusal, context)
    if (!declinesChallenge(context)) return reply
    return { ...reply, headers: reply.headers.filter(([name]) => name.toLowerCase() !== 'www-authenticate') }
  },
})

// quirk: reference multi-model 7.2, 7.4: an unsupported method on these paths is a bad request there
const CALLS_METHODS_BAD = /^(?:\/_arango\/(?:v0|experimental))?(?:\/_db\/[^/]+)?\/_api\/(?:user|token)(?:[/?]|$)/

const QUEUE_TIME: HeaderPair = ['X-Arango-Queue-Time-Seconds', '0.000000']

const SECURITY_HEADERS: readonly HeaderPair[] = [
  ['X-Content-Type-Options', 'nosniff'],
  ['Cache-Control', 'no-cache, no-store, must-revalidate, pre-check=0, post-check=0, max-age=0, s-maxage=0'],
  ['Pragma', 'no-cache'],
  ['Expires', '0'],
  ['Content-Security-Policy', "frame-ancestors 'self'; form-action 'self';"],
  // the real server sends the blank before the semicolon
  ['Strict-Transport-Security', 'max-age=31536000 ; includeSubDomains'],
]
