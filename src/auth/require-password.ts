/** Users who change their own password, second factor or access tokens must have proved the password recently. */
import { Refusal } from '../base/errors.ts'
import { isAccount } from '../directory/account.ts'
import { ANONYMOUS, type Authenticated } from '../directory/identity.ts'
import {
  findLiveSession,
  hasPassword,
  isOfPasskey,
  type PasswordProofDeps,
  requirePassword,
} from '../directory/password-proof.ts'
import { type BasicForm, type BasicPair, readBasic } from './basic.ts'
import type { DoorSignIn } from './door-sign-in.ts'
import type { CredentialSource } from './handler.ts'

export interface ProvingRequest extends CredentialSource {
  readonly authenticated: Authenticated | undefined
}

export interface RequirePasswordDeps extends PasswordProofDeps {
  readonly signIn: DoorSignIn
}

/**
 * With `form`, the current password may be sent as Basic beside the session cookie. The multi-model door has none:
 * there a request has only one credential.
 */
export const createRequirePassword =
  (deps: RequirePasswordDeps, form?: BasicForm) =>
  (request: ProvingRequest): Promise<void> =>
    requirePassword(request.authenticated ?? ANONYMOUS, deps, async () => {
      const given = form && readBasic(request.header('authorization') ?? '', form)
      return typeof given === 'object' && isCurrentPassword(request, given, deps)
    })

/**
 * The current password is a member of the request's body. If it was sent it must be right, even where the session alone
 * would be enough.
 */
export const createRequirePasswordInBody =
  (deps: RequirePasswordDeps) =>
  (request: ProvingRequest, password: string | undefined): Promise<void> =>
    password === undefined
      ? requirePassword(request.authenticated ?? ANONYMOUS, deps)
      : requireSentPassword(request, password, deps)

/** For a request that needs the current password even if the session has just proved it. */
export const createRequireCurrentPassword =
  (deps: RequirePasswordDeps) =>
  async (request: ProvingRequest, password: string | undefined): Promise<void> => {
    if (password === undefined && request.authenticated?.credential?.kind.provesPassword === 'itself') return
    const { identity } = request.authenticated ?? ANONYMOUS
    // a user without a password has only the sign-in with an external account
    if (isAccount(identity) && !hasPassword(identity)) return requirePassword(request.authenticated ?? ANONYMOUS, deps)
    await requireSentPassword(request, password, deps)
  }

/** For a request that carries what a passkey has signed for it, which replaces the current password. */
export const createRequirePasskey =
  (deps: RequirePasswordDeps) =>
  async (request: ProvingRequest, response: unknown, target: string): Promise<void> => {
    const session = findLiveSession(request.authenticated ?? ANONYMOUS, deps)
    if (session) {
      const proof = { account: session.owner, sessionId: session.id, target, maxAgeSeconds: deps.maxAgeSeconds() }
      if (await deps.signIn({ name: '', password: '', passkey: response, proof, source: request })) return
    }
    throw new Refusal('password_required', { reason: 'The passkey was not accepted for this request.' })
  }

async function requireSentPassword(request: ProvingRequest, password: string | undefined, deps: RequirePasswordDeps) {
  const who = request.authenticated ?? ANONYMOUS
  const { name } = who.identity
  // requires only that the session was opened with the password, however long ago, or with a passkey
  if (!isOfPasskey(who, deps)) await requirePassword(who, { ...deps, maxAgeSeconds: () => 0 })
  if (name !== null && password !== undefined && (await isCurrentPassword(request, { name, password }, deps))) return
  throw new Refusal('password_required', { reason: 'The current password is missing or wrong.' })
}

/** A wrong password counts for the lockout. No code is needed: the session was opened with one. */
async function isCurrentPassword(
  source: ProvingRequest,
  { name, password }: BasicPair,
  { signIn }: RequirePasswordDeps,
): Promise<boolean> {
  if (name !== source.authenticated?.identity.name) return false
  return (await signIn({ name, password, source, isWithoutCode: true })) !== undefined
}
