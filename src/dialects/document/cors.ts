import type { HeaderPair, Reply, RequestContext } from '../../http/request-context.ts'

export interface CorsRules {
  readonly isEnabled: boolean
  /** Compared letter by letter; `*` means every origin. */
  readonly origins: readonly string[]
  readonly hasCredentials: boolean
  readonly headers: readonly string[]
  readonly methods: readonly string[]
  readonly exposedHeaders: readonly string[]
  readonly maxAgeSeconds: number
}

/** What this door tells pages of other origins, for the dialects that are mounted at it. */
export const createDoorCors = (settings: () => { readonly cors: CorsRules }) => ({
  origins: () => listTrustedOrigins(settings().cors),
  answerPreflight: (context: RequestContext) => answerPreflight(context, settings().cors),
  headers: (context: RequestContext, reply: Reply) => corsHeaders(context, reply, settings().cors),
})

/** The origins whose pages may use the credential of a browser. */
export const listTrustedOrigins = ({ isEnabled, origins }: CorsRules): readonly string[] => (isEnabled ? origins : [])

/** Headers of Cardea's own, which its clients are to read. */
const OWN_PREFIX = 'x-cardea-'

const SIMPLE_RESPONSE_HEADERS = ['cache-control', 'content-language', 'expires', 'last-modified', 'pragma']

export function findAcceptedOrigin(context: RequestContext, rules: CorsRules): string | undefined {
  if (!rules.isEnabled) return undefined
  const origin = context.header('origin')
  if (origin === undefined) return undefined
  return rules.origins.includes('*') || rules.origins.includes(origin) ? origin : undefined
}

/** Answers a preflight that meets every condition. Any other OPTIONS is handled as an ordinary request. */
export function answerPreflight(context: RequestContext, rules: CorsRules): Reply | undefined {
  if (context.method !== 'OPTIONS') return undefined
  const origin = findAcceptedOrigin(context, rules)
  const method = context.header('access-control-request-method')
  if (origin === undefined || method === undefined || !rules.methods.includes(method)) return undefined
  const requested = context.header('access-control-request-headers') ?? ''
  if (!areHeadersAllowed(requested, rules.headers)) return undefined
  return {
    status: 204,
    headers: [
      ['Access-Control-Allow-Origin', origin],
      ['Access-Control-Max-Age', String(rules.maxAgeSeconds)],
      ['Access-Control-Allow-Methods', rules.methods.join(', ')],
      ...(rules.hasCredentials ? [CREDENTIALS] : []),
      ['Access-Control-Allow-Headers', requested],
    ],
  }
}

const CREDENTIALS: HeaderPair = ['Access-Control-Allow-Credentials', 'true']

function areHeadersAllowed(requested: string, allowed: readonly string[]): boolean {
  const lower = allowed.map((name) => name.toLowerCase())
  return requested === '' || requested.split(/,\s*/).every((name) => lower.includes(name.trim().toLowerCase()))
}

/** The headers of every other reply. `Vary` keeps caches from reusing a reply for another origin. */
export function corsHeaders(context: RequestContext, reply: Reply, rules: CorsRules): readonly HeaderPair[] {
  if (!rules.isEnabled) return []
  const origin = findAcceptedOrigin(context, rules)
  const names = reply.headers.map(([name]) => name.toLowerCase())
  if (origin === undefined || names.includes('access-control-allow-origin')) return [VARY]
  const simple = SIMPLE_RESPONSE_HEADERS.filter((name) => names.includes(name))
  const own = names.filter((name) => name.startsWith(OWN_PREFIX))
  const exposed = ['content-type', ...simple, ...own, ...rules.exposedHeaders]
  return [
    ['Access-Control-Allow-Origin', origin],
    ...(rules.hasCredentials ? [CREDENTIALS] : []),
    ['Access-Control-Expose-Headers', exposed.join(', ')],
    VARY,
  ]
}

const VARY: HeaderPair = ['Vary', 'Origin']
