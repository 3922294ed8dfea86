import { Refusal } from '../base/errors.ts'
import { RelayNeeded } from '../base/relay-needed.ts'
import { runConfirmed } from '../directory/confirm-change.ts'
import { isAnonymous } from '../directory/identity.ts'
import type { IncomingRequestOptions } from './incoming-request.ts'
import type { Relay } from './relay.ts'
import type { Dialect, Handler, Methods, PendingReply, Reply, RequestContext, Route } from './request-context.ts'
import { createRouter, type Router } from './router.ts'

/** Requests whose path begins with this segment, not percent-encoded, are handled by another dialect. */
export interface Mount {
  readonly segment: string
  readonly dialect: Dialect
  /** A method that the dialect of the door handles here instead. */
  readonly methodOfDoor?: string
}

export interface RoutedDialect extends IncomingRequestOptions {
  readonly findRoute: Router
}

export type ChooseDialect = (target: string, method: string | undefined) => RoutedDialect

/** The choice uses the raw target, so that no decoding or stripping by a dialect leads past a mount or into one. */
export function createDialectChooser(
  dialect: Dialect,
  mounts: readonly Mount[],
  rules: Pick<IncomingRequestOptions, 'limits' | 'trust'>,
): ChooseDialect {
  const toRouted = (each: Dialect) => ({ dialect: each, findRoute: createRouter(each.routes), ...rules })
  const own = toRouted(dialect)
  const mounted = mounts.map((mount) => ({ ...mount, prefix: `/${mount.segment}`, routed: toRouted(mount.dialect) }))
  return (target, method) => {
    const mount = mounted.find(({ prefix }) => isUnder(target, prefix))
    if (!mount || (mount.methodOfDoor !== undefined && mount.methodOfDoor === method)) return own
    return mount.routed
  }
}

const isUnder = (target: string, prefix: string): boolean =>
  target.startsWith(prefix) && SEGMENT_ENDS.has(target.charAt(prefix.length))

const SEGMENT_ENDS: ReadonlySet<string> = new Set(['', '/', '?'])

/** Runs the steps of the dialect in order, then the handler of the route. The first reply wins. */
export const dispatch = (context: RequestContext, dialect: Dialect): PendingReply =>
  runSteps(context, dialect, runHandler, 0)

/** How a worker thread leaves requests to the main thread. */
export interface RelayRules {
  /** How many changes this thread has applied; `undefined`: there are more of them. */
  countApplied(): number | undefined
  /** The reply of the main thread. `why`: what this thread has thrown. */
  readonly relay: Relay
}

/**
 * The same in a worker thread. It serves only what it is sure of: requests to the upstream, and the rows that can be read
 * anywhere, of clients that it accepts. Whatever it would refuse, the main thread decides.
 */
export function dispatchOrRelay(context: RequestContext, dialect: Dialect, rules: RelayRules): PendingReply {
  const applied = rules.countApplied()
  /** Forwarded or relayed: an error is that of the request. */
  let isPassedOn = false
  const relay = (why?: unknown): Promise<Reply> => {
    if (isPassedOn && !(why instanceof RelayNeeded)) throw why
    isPassedOn = true
    return rules.relay(context, why)
  }
  const isSure = () => rules.countApplied() === applied && !hasUnknownCredential(context)
  const serve = (): PendingReply => {
    const route = context.match?.route
    const isOwn = isHandledHere(route, dialect)
    if (isOwn ? !isReadAnywhere(route, context) : !isSure()) return relay()
    isPassedOn = !isOwn
    return runHandler(context, dialect)
  }
  const check = (reply: Reply): PendingReply => (isPassedOn || (reply.status < 300 && isSure()) ? reply : relay())
  try {
    const reply = applied === undefined ? relay() : runSteps(context, dialect, serve, 0)
    return reply instanceof Promise ? reply.then(check).catch(relay) : check(reply)
  } catch (error) {
    return relay(error)
  }
}

/** A credential that this thread does not accept may be one that the main thread knows, for example of a former secret. */
const hasUnknownCredential = (context: RequestContext): boolean =>
  isAnonymous(context.authenticated) &&
  (context.header('authorization') !== undefined || context.header('cookie') !== undefined)

const isHandledHere = (route: Route | undefined, dialect: Dialect): boolean =>
  route !== undefined && !(route.isStandIn && dialect.hasUpstream?.()) && Boolean(route.methods ?? route.handle)

const isReadAnywhere = (route: Route | undefined, { method }: RequestContext): boolean =>
  route?.isReadAnywhere === true && READING_METHODS.has(method)

/**
 * Runs the steps from the index `firstIndex` on. Most return at once, and nothing waits for them. If this and
 * `authenticate` (auth/authenticate.ts) are `async` functions, a forwarded request takes 0.5 µs more (`npm run bench --
 * gateway-handler`).
 */
function runSteps(
  context: RequestContext,
  dialect: Dialect,
  serve: typeof runHandler,
  firstIndex: number,
): PendingReply {
  const { steps } = dialect
  for (let index = firstIndex; index < steps.length; index += 1) {
    const result = steps[index]?.run(context)
    if (result instanceof Promise) return result.then((reply) => reply ?? runSteps(context, dialect, serve, index + 1))
    if (result) return result
  }
  return serve(context, dialect)
}

/** Runs the handler of the route. */
function runHandler(context: RequestContext, dialect: Dialect): PendingReply {
  const { match } = context
  const handler = match && findHandler(match.route, context, dialect)
  if (!handler) return dialect.fallback(context)
  const { confirmCredential } = dialect
  if (confirmCredential === undefined || READING_METHODS.has(context.method)) return handler(context, match.params)
  return runConfirmed(
    () => confirmCredential(context),
    () => handler(context, match.params),
  )
}

/** `undefined`: the fallback of the dialect handles the request. */
function findHandler(route: Route, context: RequestContext, dialect: Dialect): Handler | undefined {
  const { methods, handle, isStandIn } = route
  if (!methods || (isStandIn && dialect.hasUpstream?.())) return handle
  context.route = route.path
  return requireHandler(methods, context.method, route.allow)
}

/** Requests with these methods change nothing. */
const READING_METHODS: ReadonlySet<string> = new Set(['GET', 'HEAD', 'OPTIONS'])

function requireHandler(methods: Methods, method: string, allow: readonly string[] = Object.keys(methods)): Handler {
  const handler = Object.hasOwn(methods, method) ? methods[method] : method === 'HEAD' ? methods['GET'] : undefined
  if (!handler) throw new Refusal('method_not_allowed', { value: allow.join(',') })
  return handler
}
