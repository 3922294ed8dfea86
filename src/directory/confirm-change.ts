/**
 * Before a change is stored for a request, the credential of the request is confirmed: another node may have revoked it
 * since the request was authenticated here. Operations find the request by themselves, so that none can forget to ask.
 */
import { AsyncLocalStorage } from 'node:async_hooks'
import { Refusal } from '../base/errors.ts'
import type { RecordGuard } from '../observe/security-events.ts'
import { isAccount } from './account.ts'
import type { Authenticated } from './identity.ts'
import type { User } from './users/user.ts'

/** Throws if the credential is no longer accepted, or not with the same rights. */
export type ConfirmChange = () => Promise<Authenticated | undefined>

const current = new AsyncLocalStorage<ConfirmChange>()

/** Runs `work`; every change that it stores is confirmed first. */
export const runConfirmed = <T>(confirm: ConfirmChange, work: () => T): T => current.run(confirm, work)

/**
 * To be called directly before a change is stored. Outside a request there is no credential to confirm. Without `guard`
 * the change is stored even if it cannot be recorded: a user who ends a session must not be kept from it.
 */
export async function confirmChange(guard?: RecordGuard): Promise<Authenticated | undefined> {
  guard?.requireRecording()
  return current.getStore()?.()
}

/**
 * Called in the transaction of a change. Users who change their own record do so only while the session epoch is the one
 * of their credential: a password change or a sign-out on another node may have been stored since the confirmation.
 */
export function requireOwnEpoch(stored: User, confirmed: Authenticated | undefined): void {
  const identity = confirmed?.identity
  if (!identity || !isAccount(identity) || identity.isAdmin || identity.name !== stored.name) return
  if (stored.sessionEpoch.generation !== identity.sessionEpoch.generation)
    throw new Refusal('authentication_required', { detail: 'the credential was revoked meanwhile' })
}
