import { Refusal } from '../../base/errors.ts'
import type { Methods, PendingReply, RequestContext, Route } from '../../http/request-context.ts'
import { authRoutes, signInMethods } from './auth.ts'
import { createDatabase, databasesRoutes, isDatabaseCreation } from './databases.ts'
import type { MultiModelDeps, StandInDeps } from './deps.ts'
import { namesDatabase } from './path.ts'
import { availabilityRoute, reloadUsersRoute, secretsRoute, statusRoutes } from './server.ts'
import { tokensRoutes } from './tokens.ts'
import { rejectParts, usersRoutes } from './users/routes.ts'

/** What Cardea answers itself, with or without an upstream. */
export const ownRoutes = (deps: MultiModelDeps): readonly Route[] => [
  ...authRoutes(deps),
  ...usersRoutes(deps),
  ...tokensRoutes(deps),
  secretsRoute(deps.ring),
  reloadUsersRoute(deps),
]

/** What Cardea answers in place of an upstream. */
export const standInRoutes = (deps: StandInDeps): readonly Route[] => [
  ...[...statusRoutes(deps), ...databasesRoutes(deps)].map((route) => ({ ...route, isStandIn: true })),
  availabilityRoute(deps),
]

/** Paths without a route. Below Cardea's own paths Cardea answers; everything else is forwarded. */
export function createFallback(deps: MultiModelDeps): (context: RequestContext) => PendingReply {
  const methods = signInMethods(deps)
  const below = new Map<string, (context: RequestContext) => PendingReply>([
    // quirk: reference multi-model 1.1: any path below signs in
    ['_open/auth', (context) => handleMethod(methods, context)],
    ['_api/user', rejectParts],
    ['_api/token', rejectParts],
  ])
  return (context) => {
    const { segments } = context.path
    const handler = below.get(segments.slice(0, 2).join('/'))
    if (handler) return handler(context)
    const reply = isNeverForwarded(segments) ? undefined : forward(deps, context)
    if (reply === undefined) throw new Refusal('not_found', { about: `unknown path '/${segments.join('/')}'` })
    return reply
  }
}

/** To a service or to the database; `undefined`: there is neither for this path. */
function forward(deps: MultiModelDeps, context: RequestContext): PendingReply | undefined {
  const { upstream, services, isMounted } = deps
  const { segments } = context.path
  // Cardea's own paths have no API version: nothing with such a name is forwarded
  if (isMounted(segments) && !namesDatabase(context.path)) throw new Refusal('invalid_target')
  const response = services.forward(context)
  if (response !== undefined || !upstream.isSet()) return response
  if (isBatch(segments)) throw new Refusal('forbidden', { about: 'batches are not forwarded' })
  return isDatabaseCreation(context) ? createDatabase(deps, context) : upstream.forward(context)
}

/** Only Cardea handles sign-in; and the database does not know an API version that was not stripped. */
const isNeverForwarded = ([first]: readonly string[]): boolean => first === '_open' || first === '_arango'

/** A batch contains requests of its own, which the database would route without Cardea's checks. */
const isBatch = ([first, second]: readonly string[]): boolean => first === '_api' && second === 'batch'

function handleMethod(methods: Methods, context: RequestContext): PendingReply {
  const handler = Object.hasOwn(methods, context.method) ? methods[context.method] : undefined
  if (handler) return handler(context, {})
  throw new Refusal('method_not_allowed', { about: Object.keys(methods).join(',') })
}
