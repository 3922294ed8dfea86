/**
 * Protects routes of anything that turns a web `Request` into a `Response`: Hono, Next.js, Bun, Deno.
 *
 * @example
 * const forReaders = requireRole(cardea, 'reader')
 * app.get('/reports', (context) => forReaders(context.req.raw, (user) => context.json(user)))
 */
import './require-node.ts'
import { type AuthenticatedUser, type AuthenticateOptions, type Authenticator, CardeaError } from './index.ts'
import {
  checkRequireUserOptions,
  createRoleCheck,
  type RequireUserOptions,
  requireCardea,
} from './middleware-arguments.ts'

export type { RequireUserOptions } from './middleware-arguments.ts'

/**
 * Calls `respond` with the user of the request, and renews the session cookie in its response. For other requests it
 * returns 401 or 403, without calling it. `peer` is required for a request with a password.
 */
export type Guard = (
  request: Request,
  respond: (user: AuthenticatedUser) => Response | Promise<Response>,
  options?: Omit<AuthenticateOptions, 'response'>,
) => Promise<Response>

/** 401 for anonymous requests. */
export function requireUser(cardea: Authenticator, options: RequireUserOptions = {}): Guard {
  requireCardea(cardea, 'requireUser takes a Cardea: requireUser(cardea)')
  checkRequireUserOptions(options)
  return createGuard(cardea, () => true, options.challenge)
}

/**
 * 401 for anonymous requests, 403 for users who have none of these roles and are no administrators. Throws a `TypeError`
 * for an invalid role, and for an empty list.
 */
export function requireRole(cardea: Authenticator, ...roles: readonly string[]): Guard {
  requireCardea(cardea, "requireRole takes a Cardea first: requireRole(cardea, 'reader')")
  return createGuard(cardea, createRoleCheck(roles))
}

const createGuard =
  (cardea: Authenticator, isAllowed: (user: AuthenticatedUser) => boolean, hasChallenge = true): Guard =>
  async (request, respond, options = {}) => {
    if (!(request instanceof Request) || typeof respond !== 'function')
      throw new TypeError('a guard takes a Request and a function: (user) => Response.json(user)')
    const renewed = new Headers()
    const user = await cardea.authenticate(request, { ...options, response: renewed }).catch(toErrorResponse)
    if (user instanceof Response) return user
    if (!user) return Response.json({ error: 'unauthorized' }, { status: 401, headers: hasChallenge ? CHALLENGE : {} })
    if (!isAllowed(user)) return Response.json({ error: 'forbidden' }, { status: 403 })
    return withHeaders(await respond(user), renewed)
  }

const CHALLENGE = { 'WWW-Authenticate': 'Basic realm="Cardea", charset="UTF-8"' }

/** A form of another origin, or Cardea cannot decide now. */
function toErrorResponse(error: unknown): Response {
  if (!(error instanceof CardeaError)) throw error
  const { code, message, status, retryAfterSeconds: seconds } = error
  const headers: Record<string, string> = seconds === undefined ? {} : { 'Retry-After': String(seconds) }
  return Response.json({ error: code, reason: message }, { status, headers })
}

/** A copy: the headers of a redirect, or of a response that was fetched, cannot be changed. */
function withHeaders(response: Response, added: Headers): Response {
  // a framework may have a class of its own
  if (!response?.headers) throw new TypeError('the function of a guard must return a Response')
  const headers = [...added]
  if (headers.length === 0) return response
  const copy = new Response(response.body, response)
  for (const [name, value] of headers) copy.headers.append(name, value)
  return copy
}
