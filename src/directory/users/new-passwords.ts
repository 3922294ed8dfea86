import { Refusal } from '../../base/errors.ts'
import type { Turn } from '../../base/job-queue.ts'
import { toPeerKey } from '../../base/peer-key.ts'
import { isOutdated, requireAffordable } from '../../passwords/hash-policy.ts'
import { type Hasher, NO_DECOY } from '../../passwords/hasher.ts'
import { checkPassword } from '../../passwords/password-rules.ts'
import type { HashParameters } from '../../passwords/schemes/scheme.ts'
import { type HashedPassword, NO_PASSWORD, type StoredPassword, saltOf } from '../../passwords/schemes.ts'
import type { Caller } from '../caller.ts'
import type { DirectorySettings } from '../deps.ts'
import type { NewPassword, User } from './user.ts'

/** Whose password it is: it must not contain the name or the address. */
export interface PasswordOwner {
  readonly name: string
  readonly address?: User['address']
}

const listNames = ({ name, address }: PasswordOwner): readonly string[] => (address ? [name, address.text] : [name])

/** Every new password is checked and hashed here. `findParameters`: for those of users. */
export function createNewPasswords(
  hasher: Hasher,
  settings: () => DirectorySettings,
  findParameters: () => Promise<HashParameters>,
) {
  const requireConforming = async (owner: PasswordOwner, password: string): Promise<void> => {
    const flaw = await checkPassword(settings().rules, password, listNames(owner))
    if (flaw !== undefined) throw new Refusal('password_refused', { reason: flaw })
  }
  const requireWritable = (stored: StoredPassword): StoredPassword => {
    requireAffordable(stored)
    return stored
  }
  const hashOfUser = async (password: string, caller: Caller, salt?: string): Promise<HashedPassword> =>
    hasher.hash(password, { ...(await findParameters()), ...(salt !== undefined && { salt }) }, toTurn(caller))
  /** Whether a password in clear is the stored one. The time of the check reveals it, which a client that may set the password may know. */
  const isSame = (password: string, current: StoredPassword, caller: Caller): Promise<boolean> =>
    hasher.verify(current, password, { decoy: NO_DECOY, ...toTurn(caller) })
  return {
    /** Checks the rules, then hashes the password of an administrator. */
    async hashOfAdministrator(name: string, password: string, caller: Caller): Promise<HashedPassword> {
      await requireConforming({ name }, password)
      return hasher.hash(password, settings().parameters, toTurn(caller))
    },
    isSame,
    /** Throws if a password in clear breaks a rule, or a stored one costs too much to verify. */
    async check(owner: PasswordOwner, given: NewPassword | undefined): Promise<void> {
      if (given && 'stored' in given) requireWritable(given.stored)
      else if (given) await requireConforming(owner, given.password)
    },
    /** The stored form; without a password, one that never verifies. */
    async toStored(owner: PasswordOwner, given: NewPassword | undefined, caller: Caller): Promise<StoredPassword> {
      if (given === undefined) return NO_PASSWORD
      if ('stored' in given) return requireWritable(given.stored)
      await requireConforming(owner, given.password)
      return hashOfUser(given.password, caller, given.salt)
    },
    /**
     * The stored form of a password that replaces that of `user`. `isSame`: it is the current password, so that no session has
     * to be revoked; its stored form is kept unless it is weaker than configured.
     */
    async toReplacement(given: NewPassword, user: PasswordOwner & Pick<User, 'password'>, caller: Caller) {
      if ('stored' in given) return { stored: requireWritable(given.stored), isSame: false }
      const { password, salt } = given
      const { password: current } = user
      await requireConforming(user, password)
      if (!(await isSame(password, current, caller)))
        return { stored: await hashOfUser(password, caller, salt), isSame: false }
      if (!isOutdated(current, settings().parameters)) return { stored: current, isSame: true }
      // the salt is kept, because cookies are signed with it
      return { stored: await hashOfUser(password, caller, saltOf({ password: current })), isSame: true }
    },
  }
}

const toTurn = ({ signal, peer }: Caller): Turn => ({
  signal,
  ...(peer === undefined ? {} : { lane: toPeerKey(peer) ?? peer }),
})
