import { Refusal } from '../base/errors.ts'
import { toPeerKey } from '../base/peer-key.ts'
import { isOutdated } from '../passwords/hash-policy.ts'
import { type Hasher, NO_DECOY } from '../passwords/hasher.ts'
import type { Turn } from '../passwords/job-queue.ts'
import { NO_PASSWORD } from '../passwords/password.ts'
import { checkPassword } from '../passwords/password-rules.ts'
import type { HashedPassword, StoredPassword } from '../passwords/schemes.ts'
import type { DirectorySettings } from './deps.ts'
import type { Caller, NewPassword } from './directory.ts'

export interface NewPasswords {
  /** Throws where a password in clear breaks a rule. */
  judge(given: NewPassword | undefined): void
  /** Judges by the rules, then hashes as the options say. */
  hash(password: string, caller: Caller | undefined, salt?: string): Promise<HashedPassword>
  /** The stored form of what was given; of nothing, a password that never verifies. */
  toStored(given: NewPassword | undefined, caller: Caller | undefined): Promise<StoredPassword>
  /**
   * The same for a password that replaces another. Where a clear text is the password there is already, the stored form
   * stays, unless it is weaker than the configured one, and `isSame` says that nothing has to end.
   */
  toReplacement(given: NewPassword, current: StoredPassword, caller: Caller | undefined): Promise<ReplacementPassword>
  /** Whether a clear text is the password that is stored like this. */
  isSame(password: string, current: StoredPassword, caller: Caller | undefined): Promise<boolean>
}

export interface ReplacementPassword {
  readonly stored: StoredPassword
  readonly isSame: boolean
}

/** Every new password passes here, whichever entrance it came by. */
export function createNewPasswords(hasher: Hasher, settings: () => DirectorySettings): NewPasswords {
  const requireConforming = (password: string) => {
    const flaw = checkPassword(settings().rules, password)
    if (flaw !== undefined) throw new Refusal('password_refused', { about: flaw })
  }
  const hash: NewPasswords['hash'] = async (password, caller, salt) => {
    requireConforming(password)
    const { parameters } = settings()
    return hasher.hash(password, { ...parameters, ...(salt === undefined ? {} : { salt }) }, toTurn(caller))
  }
  const toStored: NewPasswords['toStored'] = async (given, caller) => {
    if (given === undefined) return NO_PASSWORD
    return 'stored' in given ? given.stored : hash(given.password, caller, given.salt)
  }
  // whoever may set the password may know whether it changes, so the time need not hide it
  const isSame: NewPasswords['isSame'] = (password, current, caller) =>
    hasher.verify(current, password, NO_DECOY, toTurn(caller))
  return {
    hash,
    judge(given) {
      if (given && 'password' in given) requireConforming(given.password)
    },
    toStored,
    isSame,
    async toReplacement(given, current, caller) {
      if ('stored' in given) return { stored: given.stored, isSame: false }
      requireConforming(given.password)
      if (!(await isSame(given.password, current, caller)))
        return { stored: await toStored(given, caller), isSame: false }
      if (!isOutdated(current, settings().parameters)) return { stored: current, isSame: true }
      // cookies are signed with the salt
      const salt = 'salt' in current ? current.salt : undefined
      return { stored: await hash(given.password, caller, salt), isSame: true }
    },
  }
}

const toTurn = ({ signal, peer }: Caller = {}): Turn => ({
  signal,
  ...(peer === undefined ? {} : { lane: toPeerKey(peer) ?? peer }),
})
