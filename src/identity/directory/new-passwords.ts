import { Refusal } from '../../base/errors.ts'
import type { NewPassword } from '../directory.ts'
import type { Hasher } from '../password/hasher.ts'
import type { HashedPassword, StoredPassword } from '../password/password.ts'
import { checkPassword } from '../password/password-rules.ts'
import type { DirectorySettings } from './needs.ts'

export interface NewPasswords {
  /** Throws where a password in clear breaks a rule. */
  judge(given: NewPassword | undefined): void
  /** Judges by the rules, then hashes as the options say. */
  hash(password: string, signal: AbortSignal | undefined, salt?: string): Promise<HashedPassword>
  /** The stored form of what was given; of nothing, a password that never verifies. */
  toStored(given: NewPassword | undefined, signal: AbortSignal | undefined): Promise<StoredPassword>
}

/** Every new password passes here, whichever entrance it came by. */
export function createNewPasswords(hasher: Hasher, settings: () => DirectorySettings): NewPasswords {
  const requireConforming = (password: string) => {
    const flaw = checkPassword(settings().rules, password)
    if (flaw !== undefined) throw new Refusal('password_refused', { about: flaw })
  }
  const hash: NewPasswords['hash'] = async (password, signal, salt) => {
    requireConforming(password)
    const { parameters } = settings()
    return hasher.hash(password, { ...parameters, ...(salt === undefined ? {} : { salt }) }, signal)
  }
  return {
    hash,
    judge(given) {
      if (given && 'password' in given) requireConforming(given.password)
    },
    async toStored(given, signal) {
      if (given === undefined) return NO_PASSWORD
      return 'stored' in given ? given.stored : hash(given.password, signal, given.salt)
    },
  }
}

const NO_PASSWORD: StoredPassword = Object.freeze({
  scheme: 'unusable',
  reason: 'absent',
  members: Object.freeze({}),
})
