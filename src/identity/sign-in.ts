import { Refusal } from '../base/errors.ts'
import type { Identity } from './identity.ts'
import type { Lockout } from './lockout.ts'
import type { Hasher, HashParameters } from './password/hasher.ts'
import type { StoredPassword } from './password/password.ts'
import type { PasswordMemory } from './password/password-memory.ts'

/** Somebody who can sign in with a password. */
export interface Account extends Identity {
  readonly name: string
  readonly password: StoredPassword
  /** Changes whenever the stored password does. */
  readonly version: string
}

export interface SignInNeeds {
  findAccount(name: string): Promise<Account | undefined>
  readonly hasher: Hasher
  readonly memory: PasswordMemory
  readonly lockout: Lockout
  /** How new passwords are hashed: what the password of nobody costs. */
  parameters(): HashParameters
}

export interface Attempt {
  readonly name: string
  readonly password: string
  readonly peer: string
  readonly signal?: AbortSignal
}

/** Whose name and password these are; `undefined`: nobody's. An unknown name looks and costs like a wrong password. */
export type SignIn = (attempt: Attempt) => Promise<Account | undefined>

export function createSignIn({ findAccount, hasher, memory, lockout, parameters }: SignInNeeds): SignIn {
  return async ({ name, password, peer, signal }) => {
    const account = await findAccount(name)
    const key = { peer, name, salt: saltOf(account) }
    requireUnlocked(lockout, key)
    if (account && memory.isRemembered(name, account.version, password)) return account
    const isRight = await hasher.verify(account?.password, password, parameters(), signal)
    // Guesses sent side by side all passed the first question.
    requireUnlocked(lockout, key)
    if (!isRight || !account) {
      lockout.countFailure(key)
      return undefined
    }
    memory.remember(name, account.version, password)
    return account
  }
}

const saltOf = (account: Account | undefined): string =>
  account && 'salt' in account.password ? account.password.salt : ''

function requireUnlocked(lockout: Lockout, key: Parameters<Lockout['isLocked']>[0]): void {
  if (lockout.isLocked(key)) throw new Refusal('account_locked')
}
