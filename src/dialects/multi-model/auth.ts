/**
 * Signing in with a password, renewing the token got for it, and ending it. What enters: a body or a token; what
 * leaves: a token, or nothing. Where users are not known, nobody signs in.
 */
import { Refusal } from '../../base/errors.ts'
import { findMember } from '../../base/json.ts'
import { type BearerToken, isAnonymous } from '../../directory/identity.ts'
import type { Session } from '../../directory/session.ts'
import type { Reply, RequestContext, Route } from '../../http/request-context.ts'
import { type Members, readBody } from './body.ts'
import { toDoneReply, toJsonReply } from './wire.ts'

export interface AuthSettings {
  readonly authentication: boolean
  /** A server of this role knows superuser tokens only. */
  readonly role: 'single' | 'dbserver' | 'agent'
  readonly sessionTimeoutSeconds: number
  readonly minimalExpirySeconds: number
  readonly maximalExpirySeconds: number
}

export interface Attempt {
  readonly name: string
  readonly password: string
  /** A code of the second factor; empty where none was sent. */
  readonly code: string
}

/** A token of a session that began here. */
export interface IssuedBearer extends BearerToken {
  readonly session: Session
}

export interface SignIns {
  /** A token that lives so long; `undefined` where these credentials are nobody's. */
  signIn(attempt: Attempt, lifetimeSeconds: number, context: RequestContext): Promise<string | undefined>
  /** A token for the same session that lives so long from now. */
  renew(name: string, bearer: BearerToken, lifetimeSeconds: number): Promise<string>
  /** Ends a session, whatever tokens carry it. */
  end(issued: IssuedBearer): Promise<void>
}

export interface AuthDeps {
  readonly signIns: SignIns
  settings(): AuthSettings
  nowSeconds(): number
}

export function authRoutes(deps: AuthDeps): readonly Route[] {
  const methods = { ...signInMethods(deps), DELETE: (context: RequestContext) => end(deps, context) }
  return [
    { path: '/_open/auth', methods },
    { path: '/_open/auth/renew', methods: { POST: (context) => renew(deps, context) } },
  ]
}

/** What is done under any path below the endpoint that is not `renew`. */
export const signInMethods = (deps: AuthDeps): Route['methods'] => ({
  POST: (context) => signIn(deps, context),
})

function requireUsers(context: RequestContext, { authentication, role }: AuthSettings): void {
  if (!authentication) throw new Refusal('not_found', { about: `unknown path '/${context.path.segments.join('/')}'` })
  if (role !== 'single') throw new Refusal('users_unsupported')
}

async function signIn({ signIns, settings }: AuthDeps, context: RequestContext): Promise<Reply> {
  requireUsers(context, settings())
  const members = await readSignInBody(context)
  const attempt = readAttempt(members)
  const lifetimeSeconds = readLifetime(members, settings())
  const jwt = await signIns.signIn(attempt, lifetimeSeconds, context)
  if (jwt === undefined) throw new Refusal('sign_in_refused')
  return toJsonReply(200, { jwt })
}

/** A sign-in is small, whatever other bodies may be: it is read before the client is known. */
const MAX_SIGN_IN_BYTES = 16_384

async function readSignInBody(context: RequestContext): Promise<Members> {
  const body = await readBody(context, MAX_SIGN_IN_BYTES)
  if (body.kind === 'object') return body.members
  throw body.kind === 'not json' ? new Refusal('invalid_json', { about: body.reason }) : INVALID
}

const INVALID = new Refusal('bad_parameter', { about: 'invalid JSON' })

function readAttempt(members: Members): Attempt {
  const name = findMember(members, 'username')
  const password = findMember(members, 'password')
  const code = findMember(members, 'token') ?? ''
  if (typeof password !== 'string' || typeof name !== 'string') throw INVALID
  if (typeof code !== 'string') throw new Refusal('bad_parameter', { about: 'token must be a string' })
  return { name, password, code }
}

function readLifetime(members: Members, settings: AuthSettings): number {
  if (!Object.hasOwn(members, 'expiryTime')) return Math.trunc(settings.sessionTimeoutSeconds)
  const asked = findMember(members, 'expiryTime')
  if (typeof asked !== 'number') throw new Refusal('bad_parameter', { about: 'expiryTime must be a number' })
  const { minimalExpirySeconds: least, maximalExpirySeconds: most } = settings
  if (asked < least) throw refuseExpiry(`is below the minimal allowed value of ${least} seconds`)
  if (asked > most) throw refuseExpiry(`exceeds the maximal allowed value of ${most} seconds`)
  return Math.trunc(asked)
}

const refuseExpiry = (why: string): Refusal => new Refusal('bad_parameter', { about: `expiryTime ${why}` })

/** With more than this left a token is kept. */
const RENEWAL_SECONDS = 150

async function renew({ signIns, settings, nowSeconds }: AuthDeps, context: RequestContext): Promise<Reply> {
  requireUsers(context, settings())
  const { identity, bearer } = context.authenticated ?? {}
  if (!bearer || !identity?.name) throw new Refusal('user_not_found')
  const now = nowSeconds()
  const isEarly = bearer.expiresAt === undefined || bearer.expiresAt - now > RENEWAL_SECONDS
  const { renewableUntil = Number.POSITIVE_INFINITY } = bearer
  const lifetimeSeconds = Math.trunc(Math.min(settings().sessionTimeoutSeconds, renewableUntil - now))
  if (isEarly || lifetimeSeconds < 1) return toJsonReply(200, {})
  return toJsonReply(200, { jwt: await signIns.renew(identity.name, bearer, lifetimeSeconds) })
}

async function end({ signIns, settings }: AuthDeps, context: RequestContext): Promise<Reply> {
  requireUsers(context, settings())
  if (isAnonymous(context.authenticated)) throw new Refusal('authentication_required')
  const { bearer } = context.authenticated
  const session = bearer?.session
  if (!session) throw new Refusal('bad_request', { about: 'only a token issued here can be ended' })
  await signIns.end({ ...bearer, session })
  return toDoneReply(200)
}
