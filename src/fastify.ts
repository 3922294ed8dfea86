/**
 * Cardea inside Fastify: who is asking, on every request, and routes that ask for a role.
 *
 * @example
 * registerCardea(fastify, cardea)
 * fastify.get('/reports', { preHandler: requireRole('reader') }, (request) => request.user)
 */
import type { IncomingMessage } from 'node:http'
// so that the module below is found where nothing else names it
import type {} from 'fastify'
import type { AuthenticatedUser, AuthenticateOptions, Authenticator } from './index.ts'

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

/** Sets `request.user` before anything else looks at a request; `null`: nobody is signed in. Lets everybody pass. */
export function registerCardea(fastify: FastifyLike, cardea: Authenticator, options?: AuthenticateOptions): void {
  fastify.decorateRequest('user', null)
  fastify.addHook('onRequest', async (request) => {
    request.user = (await cardea.authenticate(request.raw, options)) ?? null
  })
}

export type PreHandler = (request: FastifyRequestLike, reply: FastifyReplyLike) => Promise<unknown>

/** 401 where nobody is signed in, 403 for who has none of these roles and is no administrator. */
export const requireRole =
  (...roles: readonly string[]): PreHandler =>
  async ({ user }, reply) => {
    if (!user) return refuse(reply)
    if (user.isAdmin || roles.some((role) => user.roles.includes(role))) return undefined
    return reply.code(403).send({ error: 'forbidden' })
  }

/** 401 where nobody is signed in. */
export const requireUser = (): PreHandler => async (request, reply) => (request.user ? undefined : refuse(reply))

const refuse = (reply: FastifyReplyLike) =>
  reply.code(401).header('WWW-Authenticate', 'Basic realm="Cardea", charset="UTF-8"').send({ error: 'unauthorized' })
