import { Refusal } from '../base/errors.ts'
import { keepOrigin } from '../observe/origin.ts'
import type { IncomingRequestOptions } from './incoming-request.ts'
import type {
  Dialect,
  Handler,
  Match,
  Methods,
  PendingReply,
  Place,
  PlaceFinder,
  ReplyControl,
  RequestContext,
  RequestHead,
  Route,
  RouteFinder,
} from './request-context.ts'

/** Requests whose path begins with this segment, not percent-encoded, are handled by another dialect. */
export interface Mount {
  readonly segment: string
  readonly dialect: Dialect
  /** A method that the dialect of the door handles here instead. */
  readonly methodOfDoor?: string
}

export interface RoutedDialect extends IncomingRequestOptions {
  readonly findPlace: PlaceFinder
}

export type ChooseDialect = (target: string, method: string | undefined) => RoutedDialect

/** The choice uses the raw target, so that no decoding or stripping by a dialect leads past a mount or into one. */
export function createDialectChooser(
  dialect: Dialect,
  mounts: readonly Mount[],
  rules: Pick<IncomingRequestOptions, 'door' | 'limits' | 'trust'>,
): ChooseDialect {
  const toRouted = (each: Dialect) => ({ dialect: each, findPlace: createPlaceFinder(each), ...rules })
  const own = toRouted(dialect)
  const mounted = mounts.map((mount) => ({ ...mount, prefix: `/${mount.segment}`, routed: toRouted(mount.dialect) }))
  return (target, method) => {
    const mount = mounted.find(({ prefix }) => isUnder(target, prefix))
    if (!mount || (mount.methodOfDoor !== undefined && mount.methodOfDoor === method)) return own
    return mount.routed
  }
}

/** Paths that a row names whole, such as `/_session`, are read once: such a request takes 2.5 % less CPU time. */
function createPlaceFinder({ readPath, routes }: Dialect): PlaceFinder {
  const findRoute = createRouter(routes)
  const named = new Map<string, Place>()
  return (rawPath) => {
    const known = named.get(rawPath)
    if (known) return known
    const path = readPath(rawPath)
    const place: Place = { path, match: findRoute(path.segments) }
    if (place.match?.route.path === rawPath) named.set(rawPath, place)
    return place
  }
}

const isUnder = (target: string, prefix: string): boolean =>
  target.startsWith(prefix) && SEGMENT_ENDS.has(target.charAt(prefix.length))

const SEGMENT_ENDS: ReadonlySet<string> = new Set(['', '/', '?'])

/** Runs the steps of the dialect in order, then the handler of the route. The first reply wins. */
export const dispatch = (context: RequestContext, dialect: Dialect): PendingReply => runSteps(context, dialect, 0)

/**
 * Runs the steps from the index `firstIndex` on. Most return at once, and nothing waits for them. If this and
 * `authenticate` (auth/authenticate.ts) are `async` functions, a forwarded request takes 0.5 µs more (`npm run bench --
 * gateway-handler`).
 */
function runSteps(context: RequestContext, dialect: Dialect, firstIndex: number): PendingReply {
  const { steps } = dialect
  for (let index = firstIndex; index < steps.length; index += 1) {
    const result = steps[index]?.run(context)
    if (result instanceof Promise)
      return keepOrigin(() => result.then((reply) => reply ?? runSteps(context, dialect, index + 1)))
    if (result) return result
  }
  return runHandler(context, dialect)
}

/** Runs the handler of the route. */
function runHandler(context: RequestContext, dialect: Dialect): PendingReply {
  const { match } = context
  const handler = match && findHandler(match.route, context, dialect)
  const handle = () => (handler ? handler(context, match.params) : dialect.fallback(context))
  const isRead = READING_METHODS.has(context.method)
  // what is read from the upstream records no event of the request
  if (isRead && (!handler || match.route.recordsNothing)) return handle()
  return keepOrigin(handle)
}

/** `undefined`: the fallback of the dialect handles the request. */
function findHandler(route: Route, context: RequestHead & ReplyControl, dialect: Dialect): Handler | undefined {
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

/** The methods of a path that can only be read. */
export const READ_METHODS: readonly string[] = ['GET', 'HEAD']

interface Branch {
  readonly literals: Map<string, Branch>
  parameter?: { readonly name: string; readonly branch: Branch }
  route?: Route
  /** The row whose path ends with `{...}` here. */
  rest?: Route
}

const createBranch = (): Branch => ({ literals: new Map() })

/**
 * Builds a tree of routes over decoded segments. A literal wins over a parameter, without backtracking. A path without
 * a row of its own belongs to the nearest `{...}` on the way to it.
 */
export function createRouter(routes: readonly Route[]): RouteFinder {
  const root = createBranch()
  for (const route of routes) addRoute(root, route)
  return (segments) => findRoute(root, segments)
}

const REST = '{...}'

function addRoute(root: Branch, route: Route): void {
  const parts = route.path.split('/').filter((text) => text !== '')
  const key = parts.at(-1) === REST ? 'rest' : 'route'
  let branch = root
  for (const part of parts) if (part !== REST) branch = addSegment(branch, part, route.path)
  if (branch[key]) throw new TypeError(`two routes for ${route.path}`)
  branch[key] = route
}

function addSegment(branch: Branch, part: string, path: string): Branch {
  const name = /^\{(\w+)\}$/.exec(part)?.[1]
  if (name === undefined) {
    const next = branch.literals.get(part) ?? createBranch()
    branch.literals.set(part, next)
    return next
  }
  branch.parameter ??= { name, branch: createBranch() }
  if (branch.parameter.name !== name)
    throw new TypeError(`${path}: this segment is already called {${branch.parameter.name}}`)
  return branch.parameter.branch
}

function findRoute(root: Branch, segments: readonly string[]): Match | undefined {
  const params: Record<string, string> = {}
  let branch = root
  let { rest } = root
  for (const segment of segments) {
    const literal = branch.literals.get(segment)
    if (!literal && branch.parameter) params[branch.parameter.name] = segment
    const next = literal ?? branch.parameter?.branch
    if (!next) return rest && { route: rest, params }
    branch = next
    rest = next.rest ?? rest
  }
  const route = branch.route ?? rest
  return route && { route, params }
}
