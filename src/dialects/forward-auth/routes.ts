// Plain HTTP for other programs, beside a door's own paths: the key set, and the endpoint that a proxy asks before it
// forwards a request.
import { ACCEPTED, isAccepted } from '../../auth/credential.ts'
import { explainMissing } from '../../auth/door-sign-in.ts'
import { requireNoAction } from '../../auth/required-actions.ts'
import type { Clock } from '../../base/clock.ts'
import { badRequest, ERRORS, Refusal } from '../../base/errors.ts'
import { toPairs } from '../../base/header-pairs.ts'
import { GATE, KEY_SET } from '../../base/own-paths.ts'
import { type Authenticated, expiryOf, hasAllRights, isAnonymous } from '../../directory/identity.ts'
import { type Mount, READ_METHODS } from '../../http/dispatch.ts'
import { isOwnPath } from '../../http/form.ts'
import { REQUEST_ID_HEADER } from '../../http/reply.ts'
import type {
  Dialect,
  HeaderPair,
  Path,
  Reply,
  RequestContext,
  RequestHead,
  RequestIdentity,
  Step,
} from '../../http/request-context.ts'
import { toSignInPage, wantsPage } from '../sign-in-redirect.ts'

export interface ForwardAuthDeps {
  /** The public keys that verify what Cardea signs for services. */
  keys(): readonly object[]
  /** A proxy expects 2xx, 401 or 5xx: a request with a wrong credential is anonymous. */
  authenticate(context: RequestContext): Authenticated | Promise<Authenticated>
  /** The headers that name the user to an application: names and values in turn. */
  toIdentityHeaders(authenticated: Authenticated): { readonly headers: readonly string[] }
  /** Throws where the rules of the door require a credential on every path. */
  readonly requireEntry: Step['run']
  /** The headers that carry on the session of a request. Left out where the door has no session cookie. */
  readonly renewalHeaders?: (context: RequestContext, reply: Reply) => readonly HeaderPair[]
  /** Whether browsers without a session are sent to the sign-in page. Left out where its session is not accepted. */
  sendsToSignIn?(): boolean
  /** How long a proxy may use a decision again; 0: never. */
  cacheSeconds(): number
  readonly clock: Clock
}

export const mountForwardAuth = (deps: ForwardAuthDeps): readonly Mount[] => [
  mountKeySet(deps, [{ name: 'entry', run: deps.requireEntry }]),
  mountGate(deps),
]

/** Mounts only `jwks.json`: other paths under `.well-known` belong to the upstream. */
export const mountKeySet = ({ keys }: Pick<ForwardAuthDeps, 'keys'>, steps: readonly Step[] = []): Mount => ({
  segment: KEY_SET,
  dialect: {
    ...FORWARD_AUTH_BASE,
    name: 'keys',
    steps,
    routes: [
      {
        path: `/${KEY_SET}`,
        allow: READ_METHODS,
        methods: { GET: (context) => show(context, keys()) },
        recordsNothing: true,
      },
    ],
  },
})

const show = ({ authenticated }: RequestIdentity, keys: readonly object[]): Reply => ({
  status: 200,
  headers: [
    ['Content-Type', 'application/jwk-set+json'],
    // where a credential is required, a shared cache must not serve the keys to other clients
    ['Cache-Control', authenticated === undefined ? 'public, max-age=300' : 'private, max-age=300'],
  ],
  body: JSON.stringify({ keys }),
})

/**
 * Decides for a proxy, which sends its client's headers, whether a request may pass: 204 with the identity, or 401. With
 * `?role=`, 403 unless the user has one of these roles or is an administrator. Any other parameter is 400: ignoring a
 * misspelt one would let every user pass.
 */
const mountGate = (deps: ForwardAuthDeps): Mount => ({
  segment: GATE,
  dialect: {
    ...FORWARD_AUTH_BASE,
    name: 'gate',
    routes: [
      {
        path: `/${GATE}`,
        allow: READ_METHODS,
        methods: { GET: (context) => decide(context, deps) },
        recordsNothing: true,
      },
    ],
    defaultHeaders: (context, reply) => {
      const headers = FORWARD_AUTH_BASE.defaultHeaders(context, reply)
      if (!context) return headers
      const renewed = deps.renewalHeaders?.(context, reply) ?? []
      return [...headers, ...renewed, ...(renewed.length === 0 ? cacheHeaders(context, reply, deps) : NOT_CACHED)]
    },
    // the proxy copies its client's headers; an override among them is meant for the application
    ignoresMethodOverride: true,
  },
})

async function decide(context: RequestContext, { authenticate, toIdentityHeaders, sendsToSignIn }: ForwardAuthDeps) {
  if (context.rawQuery !== '') checkParameters(context.query)
  const authenticated = await authenticate(context)
  context.authenticated = authenticated
  if (isAnonymous(authenticated)) return toRefusalReply(context, sendsToSignIn?.() ?? false)
  requireNoAction(authenticated.identity)
  const wanted = context.query.getAll(ROLE).flatMap((list) => list.split(','))
  const { identity } = authenticated
  const isAllowed =
    wanted.length === 0 || hasAllRights(identity) || wanted.some((role) => identity.roles.includes(role))
  if (!isAllowed) throw new Refusal('forbidden')
  return { status: 204, headers: toPairs(toIdentityHeaders(authenticated).headers) }
}

/**
 * A page that a browser wants to show leads to the sign-in page, and back afterwards. Caddy and Traefik name it in
 * `X-Forwarded-Uri`, and hand a redirect to the client. nginx accepts no redirect from the gate: its configuration names
 * the page in `X-Original-URI`, and reads `Location`.
 */
function toRefusalReply(context: RequestHead, sendsToSignIn: boolean): Reply {
  const forwarded = context.header('x-forwarded-uri')
  const page = forwarded ?? context.header('x-original-uri') ?? ''
  const isPage = wantsPage(context, context.header('x-forwarded-method') ?? 'GET')
  if (!sendsToSignIn || !isOwnPath(page) || !isPage) throw new Refusal('authentication_required')
  const location = toSignInPage(page)
  if (forwarded === undefined) throw new Refusal('authentication_required', { headers: [location] })
  return { status: 302, headers: [location] }
}

/** A refusal is never cached, nor a credential that does not outlive the cache. */
function cacheHeaders(
  { authenticated }: RequestIdentity,
  { status }: Reply,
  { cacheSeconds, clock }: ForwardAuthDeps,
): readonly HeaderPair[] {
  const seconds = cacheSeconds()
  if (seconds === 0 || status !== 204 || isAnonymous(authenticated)) return NOT_CACHED
  const isLasting = expiryOf(authenticated) > clock.nowMs() / 1000 + seconds
  if (!isLasting || !isAccepted(authenticated, ACCEPTED.cachedForwardAuth)) return NOT_CACHED
  // `must-revalidate` allows shared caches to keep the response to a request with `Authorization` (RFC 9111 3.5)
  return [
    ['Cache-Control', `max-age=${seconds}, must-revalidate`],
    ['Vary', 'Authorization, Cookie'],
  ]
}

const NOT_CACHED: readonly HeaderPair[] = [['Cache-Control', 'no-store']]

const ROLE = 'role'

function checkParameters(query: URLSearchParams): void {
  for (const name of query.keys()) if (name !== ROLE) throw badRequest(`/${GATE} takes no parameter but ${ROLE}`)
}

export const FORWARD_AUTH_BASE: Omit<Dialect, 'name' | 'routes'> = {
  requestIdHeader: REQUEST_ID_HEADER.toLowerCase(),
  readPath: readPlainPath,
  steps: [],
  fallback: () => {
    throw new Refusal('not_found')
  },
  renderError: ({ code, reason, value }, context) => {
    const { status, text } = ERRORS[code]
    const missing = status === 401 ? explainMissing(context) : undefined
    const extra: HeaderPair[] = []
    if (status === 401) extra.push(CHALLENGE)
    if (code === 'method_not_allowed') extra.push(['Allow', (value ?? '').replaceAll(',', ', ')])
    return {
      status,
      headers: [['Content-Type', 'application/json'], ...extra],
      body: JSON.stringify({ error: code, reason: (code === 'bad_request' ? reason : undefined) ?? text, ...missing }),
    }
  },
  defaultHeaders: (context) => [NO_SNIFFING, ...(context ? [[REQUEST_ID_HEADER, context.id] as const] : [])],
}

const NO_SNIFFING: HeaderPair = ['X-Content-Type-Options', 'nosniff']
const CHALLENGE: HeaderPair = ['WWW-Authenticate', 'Basic realm="Cardea", charset="UTF-8"']

/** No path here needs percent-encoding, so an encoded one is not found. A slash at the end is ignored. */
function readPlainPath(raw: string): Path {
  const segments = raw.split('/').slice(1)
  if (segments.at(-1) === '') segments.pop()
  if (!segments.every((segment) => PLAIN.test(segment))) throw new Refusal('not_found')
  return { raw, segments }
}

const PLAIN = /^[A-Za-z0-9_-]+(?:\.[A-Za-z0-9]+)*$|^\.well-known$/
