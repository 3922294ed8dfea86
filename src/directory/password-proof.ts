/**
 * What a request must have proved. Users need their password to change their own password, second factor or access tokens,
 * and to delete or deactivate their account. Removing or replacing a second factor needs a session that has proved it.
 */

import { isDeepStrictEqual } from 'node:util'
import { type Clock, nowSeconds } from '../base/clock.ts'
import { Refusal } from '../base/errors.ts'
import { type Account, isAccount } from './account.ts'
import type { Authenticated } from './identity.ts'
import { generationOf, type KeptSession } from './session-epoch.ts'
import { provesFactor, type SessionOwner } from './sessions/session.ts'

export interface PasswordProofDeps {
  readonly directory: { findPasswordTime(id: string, owner: SessionOwner): number | undefined }
  /** Seconds after which a session alone is not enough and the current password is required. 0: never. */
  maxAgeSeconds(): number
  readonly clock: Clock
}

/**
 * Throws unless the credential of the request has proved the password: Basic with the password, or a session that was
 * opened with it. Access tokens, tokens signed elsewhere and proxy headers prove only a delegation. `isCurrentPassword`
 * checks the current password if the request carries it in addition to its session.
 */
export async function requirePassword(
  who: Authenticated,
  deps: PasswordProofDeps,
  isCurrentPassword: () => boolean | Promise<boolean> = () => false,
): Promise<void> {
  if (who.credential?.kind.provesPassword === 'itself') return
  const session = findProvenSession(who)
  const provedAt = session && deps.directory.findPasswordTime(session.id, session.owner)
  if (provedAt === undefined) throw new Refusal('password_required', { reason: toNeedsPassword(who) })
  const maxAge = deps.maxAgeSeconds()
  if (maxAge === 0 || nowSeconds(deps.clock) - provedAt < maxAge || (await isCurrentPassword())) return
  throw new Refusal('password_required', {
    reason: `The session was opened more than ${maxAge} seconds ago: send the current password as well, or sign in again.`,
  })
}

const NEEDS_PASSWORD =
  'Sign in with the password to change it, the second factor or access tokens, or to delete or deactivate the account.'

const WITHOUT_PASSWORD = 'A user without a password gets a link to set one from an administrator.'

const toNeedsPassword = ({ identity }: Authenticated): string =>
  isAccount(identity) && identity.links?.length ? `${NEEDS_PASSWORD} ${WITHOUT_PASSWORD}` : NEEDS_PASSWORD

/** The session of the request whose id may prove how it was opened. Delegated credentials prove nothing of the user. */
function findProvenSession(who: Authenticated): { readonly id: string; readonly owner: Account } | undefined {
  const { identity, credential } = who
  if (!credential?.session || credential.kind.provesPassword !== 'its session') return undefined
  const isDelegated = credential.accessToken !== undefined || !isAccount(identity)
  return isDelegated ? undefined : { id: credential.session.id, owner: identity }
}

export type FactorOwner = Pick<Account, 'name' | 'totp'>

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
  'Sign in with a one-time code to change or remove the second factor or its recovery codes, or to delete the account.'
