import { Refusal } from '../base/errors.ts'
import { toPeerKey } from '../base/peer-key.ts'
import { isOutdated, requireAffordable, toMaxStrength } from '../passwords/hash-policy.ts'
import { type Hasher, NO_DECOY } from '../passwords/hasher.ts'
import type { Turn } from '../passwords/job-queue.ts'
import { NO_PASSWORD } from '../passwords/password.ts'
import { checkPassword } from '../passwords/password-rules.ts'
import type { HashedPassword, StoredPassword } from '../passwords/schemes.ts'
import type { DirectorySettings } from './deps.ts'
import type { Caller, NewPassword } from './directory.ts'

export interface NewPasswords {
  /** Throws if a password in clear breaks a rule, or a stored one costs too much to verify. */
  check(given: NewPassword | undefined): void
  /** Checks the rules, then hashes with the configured parameters. */
  hash(password: string, caller: Caller | undefined, salt?: string): Promise<HashedPassword>
  /** The stored form; without a password, one that never verifies. */
  toStored(given: NewPassword | undefined, caller: Caller | undefined): Promise<StoredPassword>
  /**
   * The stored form of a password that replaces `current`. `isSame`: it is the current password, so that no session has
   * to be revoked; its stored form is kept unless it is weaker than configured.
   */
  toReplacement(given: NewPassword, current: StoredPassword, caller: Caller | undefined): Promise<ReplacementPassword>
  /** Whether a password in clear is the stored one. */
  isSame(password: string, current: StoredPassword, caller: Caller | undefined): Promise<boolean>
}

export interface ReplacementPassword {
  readonly stored: StoredPassword
  readonly isSame: boolean
}

/** Every new password is checked and hashed here. */
export function createNewPasswords(hasher: Hasher, settings: () => DirectorySettings): NewPasswords {
  const requireConforming = (password: string) => {
    const flaw = checkPassword(settings().rules, password)
    if (flaw !== undefined) throw new Refusal('password_refused', { about: flaw })
  }
  const requireWritable = (stored: StoredPassword): StoredPassword => {
    requireAffordable(stored, toMaxStrength(settings().parameters))
    return stored
  }
  const hash: NewPasswords['hash'] = async (password, caller, salt) => {
    requireConforming(password)
    const { parameters } = settings()
    return hasher.hash(password, { ...parameters, ...(salt === undefined ? {} : { salt }) }, toTurn(caller))
  }
  const toStored: NewPasswords['toStored'] = async (given, caller) => {
    if (given === undefined) return NO_PASSWORD
    return 'stored' in given ? requireWritable(given.stored) : hash(given.password, caller, given.salt)
  }
  // no constant time needed: a client that may set the password may know whether it changes
  const isSame: NewPasswords['isSame'] = (password, current, caller) =>
    hasher.verify(current, password, NO_DECOY, toTurn(caller))
  return {
    hash,
    check(given) {
      if (given && 'stored' in given) requireWritable(given.stored)
      else if (given) requireConforming(given.password)
    },
    toStored,
    isSame,
    async toReplacement(given, current, caller) {
      if ('stored' in given) return { stored: requireWritable(given.stored), isSame: false }
      requireConforming(given.password)
      if (!(await isSame(given.password, current, caller)))
        return { stored: await toStored(given, caller), isSame: false }
      if (!isOutdated(current, settings().parameters)) return { stored: current, isSame: true }
      // the salt is kept, because cookies are signed with it
      const salt = 'salt' in current ? current.salt : undefined
      return { stored: await hash(given.password, caller, salt), isSame: true }
    },
  }
}

const toTurn = ({ signal, peer }: Caller = {}): Turn => ({
  signal,
  ...(peer === undefined ? {} : { lane: toPeerKey(peer) ?? peer }),
})
