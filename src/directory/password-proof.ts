/**
 * What a request must have proved. Users need their password to change their own password, second factor or access tokens,
 * to end their other sessions, and to delete or deactivate their account. Removing or replacing a second factor needs a session that has proved it.
 */

import { isDeepStrictEqual } from 'node:util'
import { type Clock, nowSeconds } from '../base/clock.ts'
import { Refusal } from '../base/errors.ts'
import { isUsable } from '../passwords/schemes.ts'
import { type Account, isAccount } from './account.ts'
import type { Authenticated } from './identity.ts'
import { generationOf, type KeptSession } from './session-epoch.ts'
import { type ExternalOpening, provesFactor, type SessionOwner } from './sessions/session.ts'

export interface PasswordProofDeps {
  readonly directory: {
    findPasswordTime(id: string, owner: SessionOwner): number | undefined
    findExternalOpening(id: string, owner: SessionOwner): ExternalOpening | undefined
    isPasskeySession(id: string, owner: SessionOwner): boolean
    isSessionEnded(id: string): boolean
  }
  /** Seconds after which a session alone is not enough and the current password is required. 0: never. */
  maxAgeSeconds(): number
  readonly clock: Clock
}

/**
 * Throws unless the credential of the request has proved the password: Basic with the password, or a session that was
 * opened with it. A user without a password proves a fresh sign-in with an external account instead. Access tokens,
 * tokens signed elsewhere and proxy headers prove only a delegation. `isCurrentPassword`
 * checks the current password if the request carries it in addition to its session.
 */
export async function requirePassword(
  who: Authenticated,
  deps: PasswordProofDeps,
  isCurrentPassword: () => boolean | Promise<boolean> = () => false,
): Promise<void> {
  if (who.credential?.kind.provesPassword === 'itself') return
  const session = findProvenSession(who)
  const provedAt = session && findProofTime(session, deps)
  if (provedAt === undefined && isOfPasskey(who, deps) && (await isCurrentPassword())) return
  if (provedAt === undefined) throw new Refusal('password_required', { reason: toNeedsPassword(who) })
  const maxAge = deps.maxAgeSeconds()
  if (maxAge === 0 || nowSeconds(deps.clock) - provedAt < maxAge || (await isCurrentPassword())) return
  throw new Refusal('password_required', {
    reason: `The session was opened more than ${maxAge} seconds ago: send the current password as well, or sign in again.`,
  })
}

/** Whether a passkey opened the session of the request: it proves no password, but who can type it has proved both. */
export function isOfPasskey(who: Authenticated, { directory }: Pick<PasswordProofDeps, 'directory'>): boolean {
  const session = findLiveSession(who, { directory })
  return session !== undefined && directory.isPasskeySession(session.id, session.owner)
}

/** The own session of the request. The cookie of a replaced one is still accepted for some seconds, and proves nothing. */
export function findLiveSession(
  who: Authenticated,
  { directory }: { readonly directory: Pick<PasswordProofDeps['directory'], 'isSessionEnded'> },
): ProvenSession | undefined {
  const session = findProvenSession(who)
  return session && !directory.isSessionEnded(session.id) ? session : undefined
}

function findProofTime({ id, owner }: ProvenSession, { directory }: PasswordProofDeps): number | undefined {
  // the cookie of a replaced session is still accepted for some seconds
  if (directory.isSessionEnded(id)) return undefined
  if (hasPassword(owner)) return directory.findPasswordTime(id, owner)
  const provided = directory.findExternalOpening(id, owner)
  return provided?.isFresh ? provided.at : undefined
}

/** Whether the account can sign in with a password here. */
export const hasPassword = ({ password }: Pick<Account, 'password'>): boolean => isUsable(password)

const NEEDS_PASSWORD =
  'Sign in with the password to change it, the second factor or access tokens, to end other sessions, or to delete or deactivate the account.'

const WITHOUT_PASSWORD = 'A user without a password signs in at the identity provider again.'

const toNeedsPassword = ({ identity }: Authenticated): string =>
  isAccount(identity) && identity.links?.length ? `${NEEDS_PASSWORD} ${WITHOUT_PASSWORD}` : NEEDS_PASSWORD

/** The session of the request whose id may prove how it was opened. Delegated credentials prove nothing of the user. */
function findProvenSession(who: Authenticated): ProvenSession | undefined {
  const { identity, credential } = who
  if (!credential?.session || credential.kind.provesPassword !== 'its session') return undefined
  const isDelegated = credential.accessToken !== undefined || !isAccount(identity)
  return isDelegated ? undefined : { id: credential.session.id, owner: identity }
}

export interface ProvenSession {
  readonly id: string
  readonly owner: Account
}

export type FactorOwner = Pick<Account, 'name' | 'totp' | 'needsPasskey'>

/** Whether two states of an account have the same second factor, or both none. */
export const isSameFactor = (a: Pick<Account, 'totp'>, b: Pick<Account, 'totp'>): boolean =>
  isDeepStrictEqual(a.totp, b.totp)

/** Whether the session of the request has proved the second factor that this state of its account has. */
export function hasProvedFactor(who: Authenticated, account: FactorOwner, key: Uint8Array): boolean {
  const session = findProvenSession(who)
  if (!session || session.owner.name !== account.name || !isSameFactor(session.owner, account)) return false
  return provesFactor(session.id, session.owner, key)
}

/** The own session of the request, which a code has just confirmed. */
export function findConfirming(name: string, confirmed: Authenticated | undefined): KeptSession | undefined {
  const session = confirmed && findProvenSession(confirmed)
  if (session?.owner.name !== name) return undefined
  return { id: session.id, generation: generationOf(session.owner.sessionEpoch, session.id) }
}

/**
 * Throws if the request is one of the account's own user, who has not proved the second factor. Other users reach an
 * account only as its administrators. `confirmed` is undefined outside a request.
 */
export function requireFactorProof(account: FactorOwner, confirmed: Authenticated | undefined, key: Uint8Array): void {
  if (confirmed?.identity.name !== account.name || hasProvedFactor(confirmed, account, key)) return
  throw new Refusal('second_factor_required', { reason: NEEDS_FACTOR })
}

const NEEDS_FACTOR =
  'Sign in with a one-time code or a passkey to change or remove the second factor, passkeys or recovery codes, or to delete the account.'
