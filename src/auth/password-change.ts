/** A user who must change the password can sign in, read the own account and set another password, and nothing else. */
import { Refusal } from '../base/errors.ts'
import type { Identity } from '../directory/identity.ts'

/** Sent with every rejection, and with a sign-in. */
export const PASSWORD_CHANGE_HEADER = ['X-Cardea-Password-Change', 'required'] as const

export function requireNoPasswordChange({ mustChangePassword }: Identity): void {
  if (mustChangePassword) throw new Refusal('password_change_required', { headers: [PASSWORD_CHANGE_HEADER] })
}
