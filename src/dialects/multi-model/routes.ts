import { Refusal } from '../../base/errors.ts'
import { isMounted } from '../../base/own-paths.ts'
import type { PendingReply, RequestContext } from '../../http/request-context.ts'
import { type MountedService, toServiceRoutes } from '../services.ts'
import { authRoutes } from './auth.ts'
import { createDatabase, databasesRoutes, isDatabaseCreation } from './databases.ts'
import type { MultiModelDeps, StandInDeps } from './deps.ts'
import { namesDatabase } from './path.ts'
import {
  type MultiModelRight,
  type MultiModelRoute,
  multiModelRightOf,
  OTHER_ROUTES,
  rejectUnknownMultiModelPath,
} from './rights.ts'
import { availabilityRoute, reloadUsersRoute, secretsRoute, statusRoutes } from './server.ts'
import { tokensRoutes } from './tokens.ts'
import { createMultiModelUsersRoutes } from './users/routes.ts'

/** All paths of this door. Those without a handler are forwarded. */
export const createRoutes = (deps: MultiModelDeps) => ({
  routes: [...ownRoutes(deps), ...standInRoutes(deps), ...toServiceRoutes(deps.services, toServiceRight)],
  fallback: (context: RequestContext): PendingReply => forward(deps, context) ?? rejectUnknownMultiModelPath(context),
})

const toServiceRight = (service: MountedService): MultiModelRight => ({
  service,
  ...(service.clients === 'user' && { isForUsers: true }),
})

/** What Cardea answers itself, with or without an upstream. */
const ownRoutes = (deps: MultiModelDeps): readonly MultiModelRoute[] => [
  ...authRoutes(deps),
  ...createMultiModelUsersRoutes(deps),
  ...tokensRoutes(deps),
  secretsRoute(deps.ring),
  reloadUsersRoute(deps),
  ...OTHER_ROUTES,
]

/** What Cardea answers in place of an upstream. */
export const standInRoutes = (deps: StandInDeps): readonly MultiModelRoute[] => [
  ...[...statusRoutes(deps), ...databasesRoutes(deps)].map((route) => ({ ...route, isStandIn: true })),
  availabilityRoute(deps),
]

/** To a service or to the database; `undefined`: there is neither for this path. */
function forward(deps: MultiModelDeps, context: RequestContext): PendingReply | undefined {
  const { upstream } = deps
  const { segments } = context.path
  // Cardea's own paths have no API version: nothing with such a name is forwarded
  if (isMounted(segments) && !namesDatabase(context.path)) throw new Refusal('invalid_target')
  const { service } = multiModelRightOf(context)
  if (service) return service.forward(context)
  if (!upstream.isSet()) return undefined
  // A batch contains requests of its own, which the database would route without Cardea's checks.
  if (segments[0] === '_api' && segments[1] === 'batch')
    throw new Refusal('forbidden', { reason: 'batches are not forwarded' })
  return isDatabaseCreation(context) ? createDatabase(deps, context) : upstream.forward(context)
}
