// `/_open/auth`: signs in with a password, renews a token, and ends its session.
import { MAX_SIGN_IN_BYTES } from '../../auth/door-sign-in.ts'
import { isUserToken } from '../../auth/issued-token.ts'
import type { SignInCredentials } from '../../auth/session/session-service.ts'
import { badRequest, Refusal } from '../../base/errors.ts'
import { findMember, type Members } from '../../base/json.ts'
import { ANONYMOUS, isAnonymous } from '../../directory/identity.ts'
import type { RequestBody, RequestHead } from '../../http/request-context.ts'
import { CLIENTS } from './access.ts'
import { isVelocyPack, readBody } from './body.ts'
import { bindDeps, type MultiModelDeps, type MultiModelHandler } from './deps.ts'
import { toDoneReply, toMultiModelReply } from './reply.ts'
import { MULTI_MODEL_RIGHTS, type MultiModelRoute, rejectUnknownMultiModelPath } from './rights.ts'
import type { MultiModelSettings } from './settings.ts'
import { SIGN_IN_ENDPOINT } from './sign-in.ts'

export function authRoutes(deps: MultiModelDeps): readonly MultiModelRoute[] {
  const by = bindDeps(deps)
  const { anyone } = CLIENTS
  const signIn = by(anyone, createToken)
  return [
    {
      path: `/${SIGN_IN_ENDPOINT}`,
      right: MULTI_MODEL_RIGHTS.signIn,
      methods: { POST: signIn, DELETE: by(anyone, endSession) },
    },
    {
      path: `/${SIGN_IN_ENDPOINT}/renew`,
      right: MULTI_MODEL_RIGHTS.renewal,
      methods: { POST: by(anyone, renewToken) },
    },
    {
      // quirk: reference multi-model 1.1: any path below signs in
      path: `/${SIGN_IN_ENDPOINT}/{...}`,
      right: MULTI_MODEL_RIGHTS.open,
      handle(context, params) {
        if (context.method === 'POST') return signIn(context, params)
        throw new Refusal('method_not_allowed', { value: 'POST' })
      },
    },
  ]
}

function requireUsers(context: RequestHead, { server }: MultiModelSettings): void {
  if (!server.authentication) rejectUnknownMultiModelPath(context)
  if (server.role !== 'single') throw new Refusal('users_unsupported')
}

const createToken: MultiModelHandler = async ({ signIns, settings }, context) => {
  requireUsers(context, settings())
  const members = await readSignInBody(context)
  const credentials = readCredentials(members)
  const lifetimeSeconds = readLifetime(members, settings())
  const jwt = await signIns.open(credentials, lifetimeSeconds, context)
  if (jwt === undefined) throw new Refusal('sign_in_refused')
  return toMultiModelReply(200, { jwt })
}

async function readSignInBody(context: RequestHead & RequestBody): Promise<Members> {
  const body = await readBody(context, MAX_SIGN_IN_BYTES)
  if (body.kind === 'object') return body.members
  if (body.kind !== 'not json') throw INVALID
  throw new Refusal('invalid_json', isVelocyPack(context) ? { reason: body.reason } : {})
}

const INVALID = new Refusal('bad_parameter', { reason: 'invalid JSON' })

function readCredentials(members: Members): SignInCredentials {
  const name = findMember(members, 'username')
  const password = findMember(members, 'password')
  const code = findMember(members, 'token') ?? ''
  if (typeof password !== 'string' || typeof name !== 'string') throw INVALID
  if (typeof code !== 'string') throw new Refusal('bad_parameter', { reason: 'token must be a string' })
  return { name, password, code }
}

function readLifetime(members: Members, settings: MultiModelSettings): number {
  if (!Object.hasOwn(members, 'expiryTime')) return Math.trunc(settings.server['session-timeout'])
  const asked = findMember(members, 'expiryTime')
  if (typeof asked !== 'number') throw new Refusal('bad_parameter', { reason: 'expiryTime must be a number' })
  const { 'minimal-jwt-expiry-time': min, 'maximal-jwt-expiry-time': max } = settings.auth
  if (asked < min) throw invalidExpiry(`is below the minimal allowed value of ${min} seconds`)
  if (asked > max) throw invalidExpiry(`exceeds the maximal allowed value of ${max} seconds`)
  return Math.trunc(asked)
}

const invalidExpiry = (why: string): Refusal => new Refusal('bad_parameter', { reason: `expiryTime ${why}` })

/** A token that is valid for longer than this is not renewed. */
const RENEWAL_SECONDS = 150

const renewToken: MultiModelHandler = async ({ signIns, settings, nowSeconds }, context) => {
  requireUsers(context, settings())
  const { identity, credential: token } = context.authenticated ?? ANONYMOUS
  if (!isUserToken(token) || !identity.name) throw new Refusal('user_not_found')
  const now = nowSeconds()
  const isEarly = token.expiresAt === undefined || token.expiresAt - now > RENEWAL_SECONDS
  const { renewableUntil = Number.POSITIVE_INFINITY } = token
  const lifetimeSeconds = Math.trunc(Math.min(settings().server['session-timeout'], renewableUntil - now))
  if (isEarly || lifetimeSeconds < 1) return toMultiModelReply(200, {})
  return toMultiModelReply(200, { jwt: await signIns.renew(identity.name, token, lifetimeSeconds) })
}

const endSession: MultiModelHandler = async ({ signIns, settings }, context) => {
  requireUsers(context, settings())
  if (isAnonymous(context.authenticated)) throw new Refusal('authentication_required')
  const { credential } = context.authenticated
  if (!credential.session) throw badRequest('only a token issued here can be ended')
  await signIns.end(credential, credential.session)
  return toDoneReply(200)
}
