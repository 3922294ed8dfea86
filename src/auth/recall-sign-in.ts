import type { Account } from '../directory/account.ts'
import type { AccountDirectory } from '../directory/account-directory.ts'
import { checkIterations } from '../passwords/hash-policy.ts'
import type { CredentialSource } from './handler.ts'
import { type Attempt, type SignInDeps, toGuess } from './sign-in.ts'

export interface RecallDeps extends Pick<SignInDeps, 'memory' | 'limits' | 'iterationLimits'> {
  readonly directory: Pick<AccountDirectory, 'peekAccount' | 'isUpgradeDue'>
  noteSignIn(name: string, peer: string): void
}

/**
 * The account of a password that was verified before, if signing in would have nothing to wait for. `undefined`: the
 * whole sign-in (sign-in.ts) has to decide; nothing was counted or recorded.
 */
export type Recall = (attempt: Pick<Attempt, 'name' | 'password' | 'peer' | 'directPeer'>) => Account | undefined

/**
 * Clients with Basic send the password with every request. With a promise for each step of the sign-in, a request takes
 * 1 to 2 µs more (`npm run bench -- gateway-handler`).
 */
export const createRecall =
  (deps: RecallDeps): Recall =>
  (attempt) => {
    const { name, password, peer } = attempt
    const account = deps.directory.peekAccount(name)
    if (!account || !isPasswordEnough(account, deps)) return undefined
    const guess = toGuess(attempt, account)
    if (!deps.limits.isAllowed(guess)) return undefined
    if (!deps.memory.isKnown({ name, version: account.version, password })) return undefined
    deps.limits.countSuccess(guess)
    deps.noteSignIn(name, peer)
    return account
  }

/** Whether a right password is sufficient: no second factor, no upgrade of the hash, iterations within the limits. */
const isPasswordEnough = (account: Account, { directory, iterationLimits }: RecallDeps): boolean =>
  account.totp === undefined &&
  !directory.isUpgradeDue(account) &&
  (account.isAdmin || checkIterations(account.password, iterationLimits()) === undefined)

/** The same for the name and password of a request. */
export type DoorRecall = (name: string, password: string, source: CredentialSource) => Account | undefined
