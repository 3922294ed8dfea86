/**
 * Cardea inside Fastify: sets the user of every request, and protects routes by role.
 *
 * @example
 * await fastify.register(registerCardea, cardea)
 * fastify.get('/reports', { preHandler: requireRole('reader') }, (request) => request.user)
 */
import './require-node.ts'
import type { IncomingMessage, ServerResponse } from 'node:http'
// makes TypeScript find the module that is extended below
import type {} from 'fastify'
import type { AuthenticatedUser, AuthenticateOptions, Authenticator, Cardea } from './index.ts'
import {
  checkAuthenticateOptions,
  checkRequireUserOptions,
  createRoleCheck,
  type RequireUserOptions,
  requireCardea,
} from './middleware-arguments.ts'

export type { RequireUserOptions } from './middleware-arguments.ts'

declare module 'fastify' {
  interface FastifyRequest {
    /** `null`: the request is anonymous. */
    user: AuthenticatedUser | null
  }
}

/** The part of Fastify that is used, declared here so that its package is not required. */
export interface FastifyLike {
  decorateRequest(name: string, value: null): unknown
  addHook(
    name: 'onRequest',
    hook: (request: FastifyRequestLike, reply: Pick<FastifyReplyLike, 'header'>) => Promise<void>,
  ): unknown
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
 * Sets `request.user` before other hooks (`null`: the request is anonymous), and renews the session cookie. A request
 * that a page of another origin could have sent with the credentials of a browser is an error with status 403; no other
 * request is rejected. A plug-in for `fastify.register`; call it directly to give options.
 */
export async function registerCardea(
  fastify: FastifyLike,
  cardea: Authenticator,
  // optional, because Fastify treats an async plug-in with three required parameters as an error
  options: AuthenticateOptions = {},
): Promise<void> {
  requireCardea(cardea, 'registerCardea takes a Cardea: fastify.register(registerCardea, cardea)')
  if (typeof options !== 'function') checkAuthenticateOptions(options)
  fastify.decorateRequest('user', null)
  fastify.addHook('onRequest', async (request, reply) => {
    // Fastify keeps the values of a repeated Set-Cookie header
    const response = { appendHeader: (name: string, value: string) => reply.header(name, value) }
    request.user = (await cardea.authenticate(request.raw, { ...options, response })) ?? null
  })
}

// makes the hook apply to the routes outside the plug-in, too
Object.defineProperty(registerCardea, Symbol.for('skip-override'), { value: true })

/** The part of Fastify that `registerAccount` uses. */
export interface FastifyWithRoutes {
  readonly prefix: string
  removeAllContentTypeParsers(): unknown
  addContentTypeParser(
    type: string,
    parse: (request: unknown, body: unknown, done: (error: null) => void) => void,
  ): unknown
  all(path: string, handle: (request: AccountRequest, reply: HijackedReply) => Promise<void>): unknown
}

export interface AccountRequest {
  readonly raw: IncomingMessage
  readonly log?: { error(error: unknown): void }
}

export interface HijackedReply {
  readonly raw: ServerResponse
  hijack(): unknown
}

export interface RegisterAccountOptions {
  readonly cardea: Pick<Cardea, 'authenticate' | 'handleAccount'>
}

/**
 * Routes for sign-up, sign-in, second factor, password and sign-out:
 * `fastify.register(registerAccount, { prefix: '/account', cardea })`.
 */
export async function registerAccount(fastify: FastifyWithRoutes, { cardea }: RegisterAccountOptions): Promise<void> {
  requireCardea(cardea, "registerAccount takes a Cardea: { prefix: '/account', cardea }")
  // Cardea reads the body itself
  fastify.removeAllContentTypeParsers()
  fastify.addContentTypeParser('*', (_request, _body, done) => done(null))
  // counted in segments: a parameter in the prefix, as in `/:tenant/account`, has another length in each request
  const segments = fastify.prefix.split('/').filter(Boolean).length
  const mounted = new RegExp(`^(?:/+[^/?]*){${segments}}`)
  for (const path of ['/', '/*'])
    fastify.all(path, async ({ raw, log }, reply) => {
      reply.hijack()
      raw.url = raw.url?.replace(mounted, '')
      await cardea.handleAccount(raw, reply.raw).catch((error: unknown) => {
        // for the program alone: the text may have names of files, or data
        log?.error(error)
        if (reply.raw.headersSent) return void reply.raw.destroy()
        reply.raw.writeHead(500, { 'Content-Type': 'application/json' })
        reply.raw.end(JSON.stringify({ error: 'internal' }))
      })
    })
}

export type PreHandler = (request: FastifyRequestLike, reply: FastifyReplyLike) => Promise<unknown>

/**
 * 401 for anonymous requests, 403 for users who have none of these roles and are no administrators. Throws a `TypeError`
 * for an invalid role, and for an empty list.
 */
export function requireRole(...roles: readonly string[]): PreHandler {
  const hasRole = createRoleCheck(roles)
  return async (request, reply) => {
    requireAuthenticated(request)
    const { user } = request
    if (!user) return sendRefusal(reply)
    return hasRole(user) ? undefined : reply.code(403).send({ error: 'forbidden' })
  }
}

/** 401 for anonymous requests. */
export function requireUser(options: RequireUserOptions = {}): PreHandler {
  checkRequireUserOptions(options)
  const { challenge = true } = options
  return async (request, reply) => {
    requireAuthenticated(request)
    return request.user ? undefined : sendRefusal(reply, challenge)
  }
}

/** Without this check, routes without the plug-in would reject every user. */
function requireAuthenticated({ user }: FastifyRequestLike): void {
  if (user === undefined) throw new Error('registerCardea has not run for this request')
}

function sendRefusal(reply: FastifyReplyLike, challenge = true): unknown {
  if (challenge) reply.header('WWW-Authenticate', 'Basic realm="Cardea", charset="UTF-8"')
  return reply.code(401).send({ error: 'unauthorized' })
}
