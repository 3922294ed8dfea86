import { Refusal } from '../../base/errors.ts'
import type { Handler, PendingReply, RequestContext, Route } from '../../http/request-context.ts'
import { type AuthDeps, authRoutes, signInMethods } from './auth.ts'
import { type DatabasesDeps, databasesRoutes } from './databases.ts'
import { requireOperator } from './rights.ts'
import { type Secrets, secretsRoutes } from './secrets.ts'
import { availabilityRoute, type StatusDeps, statusRoutes } from './status.ts'
import { type TokensDeps, tokensRoutes } from './tokens.ts'
import type { UsersDeps } from './users/deps.ts'
import { refuseParts, usersRoutes } from './users/routes.ts'
import { toDoneReply } from './wire.ts'

export interface RoutesDeps {
  readonly auth: AuthDeps
  readonly users: UsersDeps
  readonly tokens: TokensDeps
  readonly secrets: Secrets
}

/** What is Cardea's to answer, whatever stands behind the door. */
export const ownRoutes = ({ auth, users, tokens, secrets }: RoutesDeps): readonly Route[] => [
  ...authRoutes(auth),
  ...usersRoutes(users),
  ...tokensRoutes(tokens),
  ...secretsRoutes(secrets),
  reloadRoute(users),
]

/** What is known of users is never older than a second, so there is nothing to reload. Tools ask for it all the same. */
function reloadRoute({ settings }: UsersDeps): Route {
  const reload: Handler = (context) => {
    requireOperator(context, settings())
    return toDoneReply(200)
  }
  return { path: '/_admin/auth/reload', methods: { GET: reload, POST: reload } }
}

/** What an upstream would answer, where there is none. */
export const standInRoutes = (deps: StatusDeps & DatabasesDeps): readonly Route[] => [
  ...[...statusRoutes(deps), ...databasesRoutes(deps)].map((route) => ({ ...route, isStandIn: true })),
  availabilityRoute(deps),
]

/** What stands below a path that is Cardea's is Cardea's too. Everything else is for whoever stands behind this door. */
export function createFallback(
  auth: AuthDeps,
  forward?: (context: RequestContext) => PendingReply | undefined,
): (context: RequestContext) => PendingReply {
  const methods = signInMethods(auth)
  const below = new Map<string, (context: RequestContext) => PendingReply>([
    // quirk: reference multi-model 1.1: any path below signs in
    ['_open/auth', (context) => answerBy(methods, context)],
    ['_api/user', refuseParts],
    ['_api/token', refuseParts],
  ])
  return (context) => {
    const { segments } = context.path
    const answer = below.get(segments.slice(0, 2).join('/'))
    if (answer) return answer(context)
    if (isNeverForwarded(segments)) throw toNotFound(segments)
    const forwarded = forward?.(context)
    if (forwarded) return forwarded
    throw toNotFound(segments)
  }
}

/** Sign-in is Cardea's alone; and a version that was not stripped is not known to the database either. */
const isNeverForwarded = ([first]: readonly string[]): boolean => first === '_open' || first === '_arango'

/** A batch holds requests of its own, whose paths the database would route without asking Cardea. */
export function refuseBatch([first, second]: readonly string[]): void {
  if (first === '_api' && second === 'batch') throw new Refusal('forbidden', { about: 'batches are not forwarded' })
}

const toNotFound = (segments: readonly string[]): Refusal =>
  new Refusal('not_found', { about: `unknown path '/${segments.join('/')}'` })

function answerBy(methods: Route['methods'], context: RequestContext): PendingReply {
  const handler = Object.hasOwn(methods, context.method) ? methods[context.method] : undefined
  if (handler) return handler(context, {})
  throw new Refusal('method_not_allowed', { about: Object.keys(methods).join(',') })
}
