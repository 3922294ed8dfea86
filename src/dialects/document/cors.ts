import type { Exchange, HeaderPair, Reply } from '../../door/exchange.ts'

export interface CorsRules {
  readonly isEnabled: boolean
  /** `*` accepts every origin; otherwise compared letter by letter. */
  readonly origins: readonly string[]
  readonly hasCredentials: boolean
  /** Empty: the built-in list. */
  readonly headers: readonly string[]
  readonly methods: readonly string[]
  readonly exposedHeaders: readonly string[]
  readonly maxAgeSeconds: number
}

const METHODS = ['CONNECT', 'COPY', 'DELETE', 'GET', 'HEAD', 'OPTIONS', 'POST', 'PUT', 'TRACE']
const HEADERS = [
  'accept',
  'accept-language',
  'authorization',
  'content-length',
  'content-range',
  'content-type',
  'destination',
  'expires',
  'if-match',
  'last-modified',
  'origin',
  'pragma',
  'x-couch-full-commit',
  'x-couch-id',
  'x-couch-persist',
  'x-couchdb-www-authenticate',
  'x-http-method-override',
  'x-requested-with',
  'x-couchdb-vhost-path',
]
const EXPOSED = [
  'accept-ranges',
  'etag',
  'server',
  'x-couch-request-id',
  'x-couch-update-newrev',
  'x-couchdb-body-time',
]
const SIMPLE_RESPONSE_HEADERS = ['cache-control', 'content-language', 'expires', 'last-modified', 'pragma']

const orBuiltIn = (list: readonly string[], builtIn: readonly string[]) => (list.length > 0 ? list : builtIn)

function findAcceptedOrigin(exchange: Exchange, rules: CorsRules): string | undefined {
  if (!rules.isEnabled) return undefined
  const origin = exchange.header('origin')
  if (origin === undefined) return undefined
  return rules.origins.includes('*') || rules.origins.includes(origin) ? origin : undefined
}

/** A preflight that meets every condition is answered without a credential; any other OPTIONS is an ordinary request. */
export function answerPreflight(exchange: Exchange, rules: CorsRules): Reply | undefined {
  const origin = exchange.method === 'OPTIONS' ? findAcceptedOrigin(exchange, rules) : undefined
  const method = exchange.header('access-control-request-method')
  const methods = orBuiltIn(rules.methods, METHODS)
  if (origin === undefined || method === undefined || !methods.includes(method)) return undefined
  const asked = exchange.header('access-control-request-headers') ?? ''
  if (!areHeadersAllowed(asked, orBuiltIn(rules.headers, HEADERS))) return undefined
  return {
    status: 204,
    headers: [
      ['Access-Control-Allow-Origin', origin],
      ['Access-Control-Max-Age', String(rules.maxAgeSeconds)],
      ['Access-Control-Allow-Methods', methods.join(', ')],
      ...(rules.hasCredentials ? [CREDENTIALS] : []),
      ['Access-Control-Allow-Headers', asked],
    ],
  }
}

const CREDENTIALS: HeaderPair = ['Access-Control-Allow-Credentials', 'true']

function areHeadersAllowed(asked: string, allowed: readonly string[]): boolean {
  const lower = allowed.map((name) => name.toLowerCase())
  return asked === '' || asked.split(/,\s*/).every((name) => lower.includes(name.trim().toLowerCase()))
}

/** What every other reply carries for an accepted origin. `Vary` keeps one origin's answer out of another's cache. */
export function corsHeaders(exchange: Exchange, reply: Reply, rules: CorsRules): readonly HeaderPair[] {
  const origin = findAcceptedOrigin(exchange, rules)
  const names = reply.headers.map(([name]) => name.toLowerCase())
  if (origin === undefined || names.includes('access-control-allow-origin')) return rules.isEnabled ? [VARY] : []
  const simple = SIMPLE_RESPONSE_HEADERS.filter((name) => names.includes(name))
  const exposed = ['content-type', ...simple, ...orBuiltIn(rules.exposedHeaders, EXPOSED)]
  return [
    ['Access-Control-Allow-Origin', origin],
    ...(rules.hasCredentials ? [CREDENTIALS] : []),
    ['Access-Control-Expose-Headers', exposed.join(', ')],
    VARY,
  ]
}

const VARY: HeaderPair = ['Vary', 'Origin']
