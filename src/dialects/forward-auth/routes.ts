import { isClientError, Refusal } from '../../base/errors.ts'
import type { MaybePromise } from '../../base/maybe-promise.ts'
import { ANONYMOUS, type Authenticated, isAnonymous } from '../../directory/identity.ts'
import type { HeaderPair, Reply, RequestContext, Route } from '../../http/request-context.ts'

export const WELL_KNOWN = '.well-known'
export const KEYS = 'jwks.json'
export const GATE = '_gate'

const READING: readonly string[] = ['GET', 'HEAD']

/** The public halves of the keys that sign for services. */
export const keysRoute = (keys: () => readonly object[]): Route => ({
  path: `/${WELL_KNOWN}/${KEYS}`,
  allow: READING,
  methods: {
    GET: ({ authenticated }) => ({
      status: 200,
      headers: [
        ['Content-Type', 'application/jwk-set+json'],
        // where a credential was needed, no shared cache serves the keys to others
        ['Cache-Control', authenticated === undefined ? 'public, max-age=300' : 'private, max-age=300'],
      ],
      body: JSON.stringify({ keys: keys() }),
    }),
  },
})

export interface GateDeps {
  authenticate(context: RequestContext): MaybePromise<Authenticated>
  /** The headers that tell an application who is asking. */
  introduce(authenticated: Authenticated): readonly HeaderPair[]
}

/**
 * Whether a request may pass, for a proxy that asks with its client's headers: 204 and who it is, or 401. With
 * `?role=` only who has one of these roles, or is an administrator; else 403. Any other parameter is 400: one that is
 * misspelt would let everybody pass.
 */
export const gateRoute = (deps: GateDeps): Route => ({
  path: `/${GATE}`,
  allow: READING,
  methods: { GET: (context) => answerGate(context, deps) },
})

async function answerGate(context: RequestContext, { authenticate, introduce }: GateDeps): Promise<Reply> {
  if (context.rawQuery !== '') checkParameters(context.query)
  const authenticated = await identify(context, authenticate)
  context.authenticated = authenticated
  if (isAnonymous(authenticated)) throw new Refusal('authentication_required')
  const wanted = context.query.getAll(ROLE).flatMap((list) => list.split(','))
  const { roles, isAdmin, isSuperuser } = authenticated.identity
  const isWelcome = wanted.length === 0 || isAdmin || isSuperuser || wanted.some((role) => roles.includes(role))
  if (!isWelcome) throw new Refusal('forbidden')
  return { status: 204, headers: [['Cache-Control', 'no-store'], ...introduce(authenticated)] }
}

const ROLE = 'role'

function checkParameters(query: URLSearchParams): void {
  for (const name of query.keys())
    if (name !== ROLE) throw new Refusal('bad_request', { about: `/${GATE} takes no parameter but ${ROLE}` })
}

/** A proxy knows yes, no and broken: a credential that is wrong in whatever way is no. */
async function identify(context: RequestContext, authenticate: GateDeps['authenticate']): Promise<Authenticated> {
  try {
    return await authenticate(context)
  } catch (error) {
    if (isClientError(error)) return ANONYMOUS
    throw error
  }
}
