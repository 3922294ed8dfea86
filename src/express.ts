/**
 * Cardea inside Express: who is asking, on every request, and routes that ask for a role.
 *
 * @example
 * app.use(authenticate(cardea))
 * app.get('/reports', requireRole('reader'), (request, response) => response.json(request.user))
 */
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { AuthenticatedUser, AuthenticateOptions, Authenticator } from './index.ts'
import { createRoleCheck } from './role-check.ts'

declare global {
  namespace Express {
    interface Request {
      /** `undefined`: nobody is signed in. */
      user?: AuthenticatedUser | undefined
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

/** Sets `request.user`. Lets everybody pass: what follows decides. */
export const authenticate =
  (cardea: Authenticator, options?: AuthenticateOptions): Middleware =>
  (request, _response, next) => {
    cardea.authenticate(request, options).then((user) => {
      request.user = user
      next()
    }, next)
  }

/** 401 where nobody is signed in. */
export const requireUser: () => Middleware = () => (request, response, next) =>
  request.user ? next() : refuse(response, 401)

/**
 * 401 where nobody is signed in, 403 for who has none of these roles and is no administrator. Throws a `TypeError` for
 * what is no role, and for none at all.
 */
export function requireRole(...roles: readonly string[]): Middleware {
  const isWelcome = createRoleCheck(roles)
  return ({ user }, response, next) => {
    if (!user) refuse(response, 401)
    else if (isWelcome(user)) next()
    else refuse(response, 403)
  }
}

const WORDS = { 401: 'unauthorized', 403: 'forbidden' } as const

function refuse(response: ServerResponse, status: keyof typeof WORDS): void {
  const headers = status === 401 ? { 'WWW-Authenticate': 'Basic realm="Cardea", charset="UTF-8"' } : {}
  response.writeHead(status, { 'Content-Type': 'application/json', ...headers })
  response.end(JSON.stringify({ error: WORDS[status] }))
}
