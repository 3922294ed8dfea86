import type { PasswordFlaw, StoredPassword } from '../password/password.ts'
import { refuse } from './require.ts'

const FLAWS: Readonly<Record<Exclude<PasswordFlaw, 'absent'>, string>> = {
  scheme: 'The scheme of the password is not known.',
  prf: 'The pseudo-random function of the password is not known.',
  method: 'The method of the password is not known.',
  salt: 'The salt of the password must be a text.',
  hash: 'The hash of the password must be a text.',
  iterations: 'The iterations of the password must be a whole number.',
  iterations_too_low: 'The iterations of the password must be one or more.',
  iterations_too_high: 'The iterations of the password are more than can be counted.',
}

/** The password if it can be verified, nothing if there is none. A damaged one refuses the record. */
export function requireUsable(password: StoredPassword): StoredPassword | undefined {
  if (password.scheme !== 'unusable') return password
  if (password.reason !== 'absent') throw refuse(FLAWS[password.reason])
  return undefined
}
