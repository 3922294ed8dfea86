import type { Match, Route } from './request-context.ts'

/** The methods of a path that can only be read. */
export const READ_METHODS: readonly string[] = ['GET', 'HEAD']

export type Router = (segments: readonly string[]) => Match | undefined

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
export function createRouter(routes: readonly Route[]): Router {
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
