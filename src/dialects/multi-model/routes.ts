import { Refusal } from '../../base/errors.ts'
import type { Answer, Exchange, Handler, Route } from '../../http/request-context.ts'
import { type AuthNeeds, authRoutes, signInMethods } from './auth.ts'
import { type DatabasesNeeds, databasesRoutes } from './databases.ts'
import { requireOperator } from './rights.ts'
import { type Secrets, secretsRoutes } from './secrets.ts'
import { availabilityRoute, type StatusNeeds, statusRoutes } from './status.ts'
import { type TokensNeeds, tokensRoutes } from './tokens.ts'
import { refuseParts, type UsersNeeds, usersRoutes } from './users/routes.ts'
import { toDoneReply } from './wire.ts'

export interface RoutesNeeds {
  readonly auth: AuthNeeds
  readonly users: UsersNeeds
  readonly tokens: TokensNeeds
  readonly secrets: Secrets
}

/** What is Cardea's to answer, whatever stands behind the door. */
export const ownRoutes = ({ auth, users, tokens, secrets }: RoutesNeeds): readonly Route[] => [
  ...authRoutes(auth),
  ...usersRoutes(users),
  ...tokensRoutes(tokens),
  ...secretsRoutes(secrets),
  reloadRoute(users),
]

/** What is known of users is never older than a second, so there is nothing to reload. Tools ask for it all the same. */
function reloadRoute({ settings }: UsersNeeds): Route {
  const reload: Handler = (exchange) => {
    requireOperator(exchange, settings())
    return toDoneReply(200)
  }
  return { path: '/_admin/auth/reload', methods: { GET: reload, POST: reload } }
}

/** What an upstream would answer, where there is none. */
export const standInRoutes = (needs: StatusNeeds & DatabasesNeeds): readonly Route[] => [
  ...[...statusRoutes(needs), ...databasesRoutes(needs)].map((route) => ({ ...route, isStandIn: true })),
  availabilityRoute(needs),
]

/** What stands below a path that is Cardea's is Cardea's too. Everything else is for whoever stands behind this door. */
export function createOtherwise(
  auth: AuthNeeds,
  forward?: (exchange: Exchange) => Answer | undefined,
): (exchange: Exchange) => Answer {
  const methods = signInMethods(auth)
  const below = new Map<string, (exchange: Exchange) => Answer>([
    // quirk: reference multi-model 1.1: any path below signs in
    ['_open/auth', (exchange) => answerBy(methods, exchange)],
    ['_api/user', refuseParts],
    ['_api/token', refuseParts],
  ])
  return (exchange) => {
    const { segments } = exchange.path
    const answer = below.get(segments.slice(0, 2).join('/'))
    if (answer) return answer(exchange)
    if (isNeverForwarded(segments)) throw toNotFound(segments)
    const forwarded = forward?.(exchange)
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

function answerBy(methods: Route['methods'], exchange: Exchange): Answer {
  const handler = Object.hasOwn(methods, exchange.method) ? methods[exchange.method] : undefined
  if (handler) return handler(exchange, {})
  throw new Refusal('method_not_allowed', { about: Object.keys(methods).join(',') })
}
