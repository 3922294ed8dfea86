/**
 * Cardea inside Express: sets the user of every request, and protects routes by role.
 *
 * @example
 * app.use('/account', account(cardea))
 * app.use(authenticate(cardea))
 * app.get('/reports', requireRole('reader'), (request, response) => response.json(request.user))
 */
import './require-node.ts'
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { AuthenticatedUser, AuthenticateOptions, Authenticator, Cardea } from './index.ts'
import {
  checkAuthenticateOptions,
  checkRequireUserOptions,
  createRoleCheck,
  type RequireUserOptions,
  requireCardea,
} from './middleware-arguments.ts'

export type { RequireUserOptions } from './middleware-arguments.ts'

declare global {
  namespace Express {
    // by the name that `@types/passport` uses, which a program may have too
    interface User extends AuthenticatedUser {}
    interface Request {
      /** `undefined`: the request is anonymous. */
      user?: User | undefined
    }
  }
}

/** What the middleware puts on a request. */
export interface WithUser {
  user?: AuthenticatedUser | undefined
}

export type Middleware = (
  request: IncomingMessage & WithUser,
  response: ServerResponse,
  next: (error?: unknown) => void,
) => void

/**
 * Sets `request.user`, and renews the session cookie. A request that a page of another origin could have sent with the
 * credentials of a browser is an error with status 403; of others, later middleware decides. Throws a `TypeError` for
 * invalid arguments.
 */
export function authenticate(cardea: Authenticator, options?: AuthenticateOptions): Middleware {
  requireCardea(cardea, 'authenticate takes a Cardea: app.use(authenticate(cardea))')
  checkAuthenticateOptions(options)
  return (request, response, next) => {
    cardea.authenticate(request, { ...options, response }).then((user) => {
      request.user = user
      next()
    }, next)
  }
}

/**
 * Routes for sign-up, sign-in, second factor, password and sign-out, below the path they are mounted at. A body parser
 * may run before them.
 */
export function account(cardea: Pick<Cardea, 'authenticate' | 'handleAccount'>): Middleware {
  requireCardea(cardea, "account takes a Cardea: app.use('/account', account(cardea))")
  return (request, response, next) => {
    cardea.handleAccount(request, response).catch(next)
  }
}

/** 401 for anonymous requests. */
export function requireUser(options: RequireUserOptions = {}): Middleware {
  checkRequireUserOptions(options)
  const { challenge = true } = options
  return (request, response, next) => {
    requireAuthenticated(request)
    if (request.user) next()
    else sendRefusal(response, 401, challenge)
  }
}

/** Without this check, routes before `authenticate` would reject every user. */
function requireAuthenticated(request: WithUser): void {
  if (!('user' in request)) throw new Error('authenticate(cardea) has not run for this request')
}

/**
 * 401 for anonymous requests, 403 for users who have none of these roles and are no administrators. Throws a `TypeError`
 * for an invalid role, and for an empty list.
 */
export function requireRole(...roles: readonly string[]): Middleware {
  const hasRole = createRoleCheck(roles)
  return (request, response, next) => {
    requireAuthenticated(request)
    const { user } = request
    if (!user) sendRefusal(response, 401)
    else if (hasRole(user)) next()
    else sendRefusal(response, 403)
  }
}

const WORDS = { 401: 'unauthorized', 403: 'forbidden' } as const

function sendRefusal(response: ServerResponse, status: keyof typeof WORDS, challenge = true): void {
  const headers = status === 401 && challenge ? { 'WWW-Authenticate': 'Basic realm="Cardea", charset="UTF-8"' } : {}
  response.writeHead(status, { 'Content-Type': 'application/json', ...headers })
  response.end(JSON.stringify({ error: WORDS[status] }))
}
