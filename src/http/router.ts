import type { Params, Route } from './request-context.ts'

export interface Match {
  readonly route: Route
  readonly params: Params
}

export type Router = (segments: readonly string[]) => Match | undefined

interface Branch {
  readonly literals: Map<string, Branch>
  parameter?: { readonly name: string; readonly branch: Branch }
  route?: Route
}

const createBranch = (): Branch => ({ literals: new Map() })

/** Builds a tree of routes over decoded segments. A literal wins over a parameter, without backtracking. */
export function createRouter(routes: readonly Route[]): Router {
  const root = createBranch()
  for (const route of routes) addRoute(root, route)
  return (segments) => findRoute(root, segments)
}

function addRoute(root: Branch, route: Route): void {
  let branch = root
  for (const part of route.path.split('/').filter((text) => text !== '')) branch = addSegment(branch, part, route.path)
  if (branch.route) throw new TypeError(`two routes for ${route.path}`)
  branch.route = route
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
  for (const segment of segments) {
    const literal = branch.literals.get(segment)
    if (!literal && branch.parameter) params[branch.parameter.name] = segment
    const next = literal ?? branch.parameter?.branch
    if (!next) return undefined
    branch = next
  }
  return branch.route && { route: branch.route, params }
}
