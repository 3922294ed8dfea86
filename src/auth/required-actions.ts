/**
 * What a user must do before anything else: change the password, set up a second factor. Until then the user can sign
 * in, read the user's own account and do just that.
 */
import { Refusal } from '../base/errors.ts'
import { idOf, isAccount } from '../directory/account.ts'
import type { Identity } from '../directory/identity.ts'

const PASSWORD_CHANGE = ['X-Cardea-Password-Change', 'required'] as const
const FACTOR_SETUP = ['X-Cardea-Second-Factor', 'set-up'] as const

/** Sent with every rejection, and with a session. */
export const listActionHeaders = ({ mustChangePassword, mustSetUpFactor }: Identity) => [
  ...(mustChangePassword ? [PASSWORD_CHANGE] : []),
  ...(mustSetUpFactor ? [FACTOR_SETUP] : []),
]

/** For the client that has the session: the body is CouchDB's. */
export const listSessionHeaders = (identity: Identity) => [
  ...listActionHeaders(identity),
  ...(isAccount(identity) ? [['X-Cardea-User-Id', idOf(identity)] as const] : []),
]

export function requireNoAction(identity: Identity): void {
  const headers = listActionHeaders(identity)
  if (identity.mustChangePassword) throw new Refusal('password_change_required', { headers })
  if (identity.mustSetUpFactor) throw new Refusal('second_factor_setup_required', { headers })
}
