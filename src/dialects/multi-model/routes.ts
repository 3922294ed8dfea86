import { Refusal } from '../../base/errors.ts'
import type { PendingReply, Reply, RequestContext, Route } from '../../http/request-context.ts'
import type { LiveRing } from '../../keys/live-ring.ts'
import { type AuthDeps, authRoutes, signInMethods } from './auth.ts'
import {
  type CreateDatabaseDeps,
  createDatabase,
  type DatabasesDeps,
  databasesRoutes,
  isDatabaseCreation,
} from './databases.ts'
import { namesDatabase } from './path.ts'
import { availabilityRoute, reloadUsersRoute, type StatusDeps, secretsRoute, statusRoutes } from './server.ts'
import type { Services } from './services.ts'
import { type TokensDeps, tokensRoutes } from './tokens.ts'
import type { UsersDeps } from './users/deps.ts'
import { refuseParts, usersRoutes } from './users/routes.ts'

export interface OwnRoutesDeps {
  readonly auth: AuthDeps
  readonly users: UsersDeps
  readonly tokens: TokensDeps
  readonly ring: LiveRing
}

/** What Cardea answers itself, with or without an upstream. */
export const ownRoutes = ({ auth, users, tokens, ring }: OwnRoutesDeps): readonly Route[] => [
  ...authRoutes(auth),
  ...usersRoutes(users),
  ...tokensRoutes(tokens),
  secretsRoute(ring),
  reloadUsersRoute(users),
]

/** What Cardea answers in place of an upstream. */
export const standInRoutes = (deps: StatusDeps & DatabasesDeps): readonly Route[] => [
  ...[...statusRoutes(deps), ...databasesRoutes(deps)].map((route) => ({ ...route, isStandIn: true })),
  availabilityRoute(deps),
]

/** The database behind this door. */
export interface MultiModelUpstream {
  isSet(): boolean
  forward(context: RequestContext): Promise<Reply>
  /** Forwards `body` instead of the request's own, and reads the whole response. */
  forwardWhole(context: RequestContext, maxBytes: number, body: Buffer): Promise<Reply>
}

export interface FallbackDeps extends Omit<CreateDatabaseDeps, 'forwardWith'> {
  readonly auth: AuthDeps
  readonly upstream: MultiModelUpstream
  readonly services: Pick<Services, 'forward'>
  /** Throws if the credential of the request is no longer accepted. */
  confirmCredential(context: RequestContext): Promise<unknown>
  /** Whether a path belongs to another dialect at this door but is spelled so that its router does not match it. */
  isElsewhere(segments: readonly string[]): boolean
}

/** Paths without a route. Below Cardea's own paths Cardea answers; everything else is forwarded. */
export function createFallback(deps: FallbackDeps): (context: RequestContext) => PendingReply {
  const signIn = signInMethods(deps.auth)
  const below = new Map<string, (context: RequestContext) => PendingReply>([
    // quirk: reference multi-model 1.1: any path below signs in
    ['_open/auth', (context) => handleMethod(signIn, context)],
    ['_api/user', refuseParts],
    ['_api/token', refuseParts],
  ])
  return (context) => {
    const { segments } = context.path
    const handler = below.get(segments.slice(0, 2).join('/'))
    if (handler) return handler(context)
    return (isNeverForwarded(segments) ? undefined : forward(deps, context)) ?? refuseUnknown(segments)
  }
}

/** To a service or to the database; `undefined`: there is neither for this path. */
function forward(deps: FallbackDeps, context: RequestContext): PendingReply | undefined {
  const { upstream, services, isElsewhere } = deps
  const { segments } = context.path
  // Cardea's own paths have no API version: nothing with such a name is forwarded
  if (isElsewhere(segments) && !namesDatabase(context.path)) throw new Refusal('invalid_target')
  const response = services.forward(context)
  if (response !== undefined || !upstream.isSet()) return response
  refuseBatch(segments)
  return isDatabaseCreation(context) ? createDatabase(withUpstream(deps), context) : upstream.forward(context)
}

/** The response to the creation of a database is one line. */
const MAX_CREATION_BYTES = 1_048_576

const withUpstream = ({ upstream, confirmCredential, ...deps }: FallbackDeps): CreateDatabaseDeps => ({
  ...deps,
  // before the database exists: afterwards its users and grants are stored in any case
  async forwardWith(context, body) {
    await confirmCredential(context)
    return upstream.forwardWhole(context, MAX_CREATION_BYTES, body)
  },
})

/** Only Cardea handles sign-in; and the database does not know an API version that was not stripped. */
const isNeverForwarded = ([first]: readonly string[]): boolean => first === '_open' || first === '_arango'

/** A batch contains requests of its own, which the database would route without Cardea's checks. */
function refuseBatch([first, second]: readonly string[]): void {
  if (first === '_api' && second === 'batch') throw new Refusal('forbidden', { about: 'batches are not forwarded' })
}

function refuseUnknown(segments: readonly string[]): never {
  throw new Refusal('not_found', { about: `unknown path '/${segments.join('/')}'` })
}

function handleMethod(methods: Route['methods'], context: RequestContext): PendingReply {
  const handler = Object.hasOwn(methods, context.method) ? methods[context.method] : undefined
  if (handler) return handler(context, {})
  throw new Refusal('method_not_allowed', { about: Object.keys(methods).join(',') })
}
