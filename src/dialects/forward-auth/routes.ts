import { requireNoPasswordChange } from '../../auth/password-change.ts'
import { isClientError, Refusal } from '../../base/errors.ts'
import { ANONYMOUS, type Authenticated, isAnonymous } from '../../directory/identity.ts'
import type { HeaderPair, Reply, RequestContext, Route } from '../../http/request-context.ts'

export const WELL_KNOWN = '.well-known'
export const KEYS = 'jwks.json'
export const GATE = '_gate'

const READ_METHODS: readonly string[] = ['GET', 'HEAD']

/** The public keys that verify what Cardea signs for services. */
export const keysRoute = (keys: () => readonly object[]): Route => ({
  path: `/${WELL_KNOWN}/${KEYS}`,
  allow: READ_METHODS,
  methods: {
    GET: ({ authenticated }) => ({
      status: 200,
      headers: [
        ['Content-Type', 'application/jwk-set+json'],
        // where a credential is required, a shared cache must not serve the keys to other clients
        ['Cache-Control', authenticated === undefined ? 'public, max-age=300' : 'private, max-age=300'],
      ],
      body: JSON.stringify({ keys: keys() }),
    }),
  },
})

export interface GateDeps {
  authenticate(context: RequestContext): Authenticated | Promise<Authenticated>
  /** The headers that name the user to an application. */
  toIdentityHeaders(authenticated: Authenticated): readonly HeaderPair[]
}

/**
 * Decides for a proxy, which sends its client's headers, whether a request may pass: 204 with the identity, or 401. With
 * `?role=`, 403 unless the user has one of these roles or is an administrator. Any other parameter is 400: ignoring a
 * misspelt one would let every user pass.
 */
export const gateRoute = (deps: GateDeps): Route => ({
  path: `/${GATE}`,
  allow: READ_METHODS,
  methods: { GET: (context) => decide(context, deps) },
})

async function decide(context: RequestContext, { authenticate, toIdentityHeaders }: GateDeps): Promise<Reply> {
  if (context.rawQuery !== '') checkParameters(context.query)
  const authenticated = await authenticateOrAnonymous(context, authenticate)
  context.authenticated = authenticated
  if (isAnonymous(authenticated)) throw new Refusal('authentication_required')
  requireNoPasswordChange(authenticated.identity)
  const wanted = context.query.getAll(ROLE).flatMap((list) => list.split(','))
  const { roles, isAdmin, isSuperuser } = authenticated.identity
  const isAllowed = wanted.length === 0 || isAdmin || isSuperuser || wanted.some((role) => roles.includes(role))
  if (!isAllowed) throw new Refusal('forbidden')
  return { status: 204, headers: [['Cache-Control', 'no-store'], ...toIdentityHeaders(authenticated)] }
}

const ROLE = 'role'

function checkParameters(query: URLSearchParams): void {
  for (const name of query.keys())
    if (name !== ROLE) throw new Refusal('bad_request', { about: `/${GATE} takes no parameter but ${ROLE}` })
}

/** A proxy expects 2xx, 401 or 5xx: any wrong credential is 401. */
async function authenticateOrAnonymous(
  context: RequestContext,
  authenticate: GateDeps['authenticate'],
): Promise<Authenticated> {
  try {
    return await authenticate(context)
  } catch (error) {
    if (isClientError(error)) return ANONYMOUS
    throw error
  }
}
