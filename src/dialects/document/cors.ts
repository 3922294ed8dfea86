import type { HeaderPair, Reply, RequestHead } from '../../http/request-context.ts'

/** The options about CORS, by section, under their own names. */
export interface CorsSettings {
  readonly chttpd: { readonly enable_cors: boolean }
  readonly cors: {
    /** Compared letter by letter; `*` means every origin. */
    readonly origins: readonly string[]
    readonly credentials: boolean
    readonly headers: readonly string[]
    readonly methods: readonly string[]
    readonly exposed_headers: readonly string[]
    /** Seconds. */
    readonly max_age: number
  }
}

/** What this door tells pages of other origins, for the dialects that are mounted at it. */
export const createDocumentCors = (settings: () => CorsSettings) => ({
  origins: () => listTrustedOrigins(settings()),
  answerPreflight: (context: RequestHead) => answerPreflight(context, settings()),
  headers: (context: RequestHead, reply: Reply) => toDocumentCorsHeaders(context, reply, settings()),
})

/** The origins whose pages may use the credential of a browser. */
export const listTrustedOrigins = ({ chttpd, cors }: CorsSettings): readonly string[] =>
  chttpd.enable_cors ? cors.origins : []

/** Headers of Cardea's own, which its clients are to read. */
const OWN_PREFIX = 'x-cardea-'

const SIMPLE_RESPONSE_HEADERS = ['cache-control', 'content-language', 'expires', 'last-modified', 'pragma']

export function findAcceptedOrigin(context: RequestHead, settings: CorsSettings): string | undefined {
  const origin = context.header('origin')
  if (origin === undefined) return undefined
  const origins = listTrustedOrigins(settings)
  return origins.includes('*') || origins.includes(origin) ? origin : undefined
}

/** Answers a preflight that meets every condition. Any other OPTIONS is handled as an ordinary request. */
export function answerPreflight(context: RequestHead, settings: CorsSettings): Reply | undefined {
  if (context.method !== 'OPTIONS') return undefined
  const { cors } = settings
  const origin = findAcceptedOrigin(context, settings)
  const method = context.header('access-control-request-method')
  if (origin === undefined || method === undefined || !cors.methods.includes(method)) return undefined
  const requested = context.header('access-control-request-headers') ?? ''
  if (!areHeadersAllowed(requested, cors.headers)) return undefined
  return {
    status: 204,
    headers: [
      ['Access-Control-Allow-Origin', origin],
      ['Access-Control-Max-Age', String(cors.max_age)],
      ['Access-Control-Allow-Methods', cors.methods.join(', ')],
      ...(cors.credentials ? [CREDENTIALS] : []),
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
export function toDocumentCorsHeaders(
  context: RequestHead,
  reply: Reply,
  settings: CorsSettings,
): readonly HeaderPair[] {
  const { chttpd, cors } = settings
  if (!chttpd.enable_cors) return []
  const origin = findAcceptedOrigin(context, settings)
  const names = reply.headers.map(([name]) => name.toLowerCase())
  if (origin === undefined || names.includes('access-control-allow-origin')) return [VARY]
  const simple = SIMPLE_RESPONSE_HEADERS.filter((name) => names.includes(name))
  const own = names.filter((name) => name.startsWith(OWN_PREFIX))
  const exposed = ['content-type', ...simple, ...own, ...cors.exposed_headers]
  return [
    ['Access-Control-Allow-Origin', origin],
    ...(cors.credentials ? [CREDENTIALS] : []),
    ['Access-Control-Expose-Headers', exposed.join(', ')],
    VARY,
  ]
}

const VARY: HeaderPair = ['Vary', 'Origin']
