import { Refusal } from '../../base/errors.ts'
import { toPeerKey } from '../../base/peer-key.ts'
import { isOutdated, requireAffordable, toMaxStrength } from '../../passwords/hash-policy.ts'
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

export interface ReplacementPassword {
  readonly stored: StoredPassword
  readonly isSame: boolean
}

/** Every new password is checked and hashed here. */
export class NewPasswords {
  readonly #hasher: Hasher
  readonly #settings: () => DirectorySettings

  constructor(hasher: Hasher, settings: () => DirectorySettings) {
    this.#hasher = hasher
    this.#settings = settings
  }

  /** Throws if a password in clear breaks a rule, or a stored one costs too much to verify. */
  check(given: NewPassword | undefined): void {
    if (given && 'stored' in given) this.#requireWritable(given.stored)
    else if (given) this.#requireConforming(given.password)
  }

  /** Checks the rules, then hashes with the configured parameters. */
  async hash(password: string, caller: Caller | undefined, salt?: string): Promise<HashedPassword> {
    this.#requireConforming(password)
    const parameters = { ...this.#settings().parameters, ...(salt === undefined ? {} : { salt }) }
    return this.#hasher.hash(password, parameters, toTurn(caller))
  }

  /** The stored form; without a password, one that never verifies. */
  async toStored(given: NewPassword | undefined, caller: Caller | undefined): Promise<StoredPassword> {
    if (given === undefined) return NO_PASSWORD
    return 'stored' in given ? this.#requireWritable(given.stored) : this.hash(given.password, caller, given.salt)
  }

  /**
   * The stored form of a password that replaces `current`. `isSame`: it is the current password, so that no session has
   * to be revoked; its stored form is kept unless it is weaker than configured.
   */
  async toReplacement(
    given: NewPassword,
    current: StoredPassword,
    caller: Caller | undefined,
  ): Promise<ReplacementPassword> {
    if ('stored' in given) return { stored: this.#requireWritable(given.stored), isSame: false }
    this.#requireConforming(given.password)
    if (!(await this.isSame(given.password, current, caller)))
      return { stored: await this.toStored(given, caller), isSame: false }
    if (!isOutdated(current, this.#settings().parameters)) return { stored: current, isSame: true }
    // the salt is kept, because cookies are signed with it
    return { stored: await this.hash(given.password, caller, saltOf({ password: current })), isSame: true }
  }

  /** Whether a password in clear is the stored one. The time of the check reveals it, which a client that may set the password may know. */
  isSame(password: string, current: StoredPassword, caller: Caller | undefined): Promise<boolean> {
    return this.#hasher.verify(current, password, { decoy: NO_DECOY, ...toTurn(caller) })
  }

  #requireConforming(password: string): void {
    const flaw = checkPassword(this.#settings().rules, password)
    if (flaw !== undefined) throw new Refusal('password_refused', { reason: flaw })
  }

  #requireWritable(stored: StoredPassword): StoredPassword {
    requireAffordable(stored, toMaxStrength(this.#settings().parameters))
    return stored
  }
}

const toTurn = ({ signal, peer }: Caller = {}): Turn => ({
  signal,
  ...(peer === undefined ? {} : { lane: toPeerKey(peer) ?? peer }),
})
