import { Refusal } from '../../base/errors.ts'
import { toPeerKey } from '../../base/peer-key.ts'
import { isOutdated, requireAffordable } from '../../passwords/hash-policy.ts'
import { type Hasher, NO_DECOY } from '../../passwords/hasher.ts'
import type { Turn } from '../../passwords/job-queue.ts'
import { checkPassword } from '../../passwords/password-rules.ts'
import { type HashedPassword, NO_PASSWORD, type StoredPassword, saltOf } from '../../passwords/schemes.ts'
import type { DirectorySettings } from '../deps.ts'
import type { NewPassword } from './user.ts'

/** The request that waits for a new password to be hashed. */
export interface Caller {
  /** Aborted when the client disconnects: a password that is not being hashed yet is dropped. */
  readonly signal?: AbortSignal | undefined
  /** Address of the client. Omitted for administrators and the server itself. */
  readonly peer?: string | undefined
}

/** Every new password is checked and hashed here. */
export function createNewPasswords(hasher: Hasher, settings: () => DirectorySettings) {
  const requireConforming = (password: string): void => {
    const flaw = checkPassword(settings().rules, password)
    if (flaw !== undefined) throw new Refusal('password_refused', { reason: flaw })
  }
  const requireWritable = (stored: StoredPassword): StoredPassword => {
    requireAffordable(stored)
    return stored
  }
  /** Checks the rules, then hashes with the configured parameters. */
  const hash = async (password: string, caller: Caller | undefined, salt?: string): Promise<HashedPassword> => {
    requireConforming(password)
    return hasher.hash(password, { ...settings().parameters, ...(salt !== undefined && { salt }) }, toTurn(caller))
  }
  /** Whether a password in clear is the stored one. The time of the check reveals it, which a client that may set the password may know. */
  const isSame = (password: string, current: StoredPassword, caller: Caller | undefined): Promise<boolean> =>
    hasher.verify(current, password, { decoy: NO_DECOY, ...toTurn(caller) })
  return {
    hash,
    isSame,
    /** Throws if a password in clear breaks a rule, or a stored one costs too much to verify. */
    check(given: NewPassword | undefined): void {
      if (given && 'stored' in given) requireWritable(given.stored)
      else if (given) requireConforming(given.password)
    },
    /** The stored form; without a password, one that never verifies. */
    async toStored(given: NewPassword | undefined, caller: Caller | undefined): Promise<StoredPassword> {
      if (given === undefined) return NO_PASSWORD
      return 'stored' in given ? requireWritable(given.stored) : hash(given.password, caller, given.salt)
    },
    /**
     * The stored form of a password that replaces `current`. `isSame`: it is the current password, so that no session has
     * to be revoked; its stored form is kept unless it is weaker than configured.
     */
    async toReplacement(given: NewPassword, current: StoredPassword, caller: Caller | undefined) {
      if ('stored' in given) return { stored: requireWritable(given.stored), isSame: false }
      const { password, salt } = given
      requireConforming(password)
      if (!(await isSame(password, current, caller)))
        return { stored: await hash(password, caller, salt), isSame: false }
      if (!isOutdated(current, settings().parameters)) return { stored: current, isSame: true }
      // the salt is kept, because cookies are signed with it
      return { stored: await hash(password, caller, saltOf({ password: current })), isSame: true }
    },
  }
}

const toTurn = ({ signal, peer }: Caller = {}): Turn => ({
  signal,
  ...(peer === undefined ? {} : { lane: toPeerKey(peer) ?? peer }),
})
