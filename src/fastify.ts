/**
 * Cardea inside Fastify: who is asking, on every request, and routes that ask for a role.
 *
 * @example
 * await fastify.register(registerCardea, cardea)
 * fastify.get('/reports', { preHandler: requireRole('reader') }, (request) => request.user)
 */
import type { IncomingMessage } from 'node:http'
// so that the module below is found where nothing else names it
import type {} from 'fastify'
import type { AuthenticatedUser, AuthenticateOptions, Authenticator } from './index.ts'
import { createRoleCheck } from './role-check.ts'

declare module 'fastify' {
  interface FastifyRequest {
    /** `null`: nobody is signed in. */
    user: AuthenticatedUser | null
  }
}

/** What of Fastify is needed, so that its package is not. */
export interface FastifyLike {
  decorateRequest(name: string, value: null): unknown
  addHook(name: 'onRequest', hook: (request: FastifyRequestLike) => Promise<void>): unknown
}

export interface FastifyRequestLike {
  readonly raw: IncomingMessage
  user?: AuthenticatedUser | null | undefined
}

export interface FastifyReplyLike {
  code(status: number): FastifyReplyLike
  header(name: string, value: string): FastifyReplyLike
  send(body: unknown): unknown
}

/**
 * Sets `request.user` before anything else looks at a request; `null`: nobody is signed in. Lets everybody pass. A
 * plug-in for `fastify.register`, or called by itself, which is how the other door is chosen.
 */
export async function registerCardea(
  fastify: FastifyLike,
  cardea: Authenticator,
  // as a plug-in it is given a function here, and Fastify wants no third parameter it could count
  options: AuthenticateOptions = {},
): Promise<void> {
  if (typeof cardea?.authenticate !== 'function')
    throw new TypeError('registerCardea takes a Cardea: fastify.register(registerCardea, cardea)')
  fastify.decorateRequest('user', null)
  fastify.addHook('onRequest', async (request) => {
    request.user = (await cardea.authenticate(request.raw, options)) ?? null
  })
}

// so that the routes beside it have it too, not only those within
Object.defineProperty(registerCardea, Symbol.for('skip-override'), { value: true })

export type PreHandler = (request: FastifyRequestLike, reply: FastifyReplyLike) => Promise<unknown>

/**
 * 401 where nobody is signed in, 403 for who has none of these roles and is no administrator. Throws a `TypeError` for
 * what is no role, and for none at all.
 */
export function requireRole(...roles: readonly string[]): PreHandler {
  const isWelcome = createRoleCheck(roles)
  return async ({ user }, reply) => {
    if (!user) return refuse(reply)
    return isWelcome(user) ? undefined : reply.code(403).send({ error: 'forbidden' })
  }
}

/** 401 where nobody is signed in. */
export const requireUser = (): PreHandler => async (request, reply) => (request.user ? undefined : refuse(reply))

const refuse = (reply: FastifyReplyLike) =>
  reply.code(401).header('WWW-Authenticate', 'Basic realm="Cardea", charset="UTF-8"').send({ error: 'unauthorized' })
