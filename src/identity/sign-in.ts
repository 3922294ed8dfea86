import { Refusal } from '../base/errors.ts'
import type { MaybePromise } from '../base/maybe-promise.ts'
import type { Account } from './account.ts'
import type { Lockout, LockoutKey } from './lockout.ts'
import type { Hasher, HashParameters } from './password/hasher.ts'
import type { PasswordMemory } from './password/password-memory.ts'
import { checkIterations, type IterationLimits } from './password/policy-iterations.ts'
import { readTotp, type TotpCheck } from './totp.ts'

export interface SignInNeeds {
  findAccount(name: string): MaybePromise<Account | undefined>
  /** Told of every password that was right. */
  onPassword(account: Account, password: string): void
  readonly hasher: Hasher
  readonly memory: PasswordMemory
  readonly lockout: Lockout
  readonly codes: TotpCheck
  /** What the password of nobody costs: as much as that of somebody. */
  decoy(): HashParameters
  /** For users; administrators are not asked. */
  limits(): IterationLimits
}

export interface Attempt {
  readonly name: string
  readonly password: string
  readonly peer: string
  /** The one-time code. Left out where none can be given: then who has a second factor does not come in. */
  readonly code?: string
  /** Only whether the password is right is asked, and nobody comes in: then no code is. */
  readonly isWithoutCode?: boolean
  /** Whether what stands in the place of the password is as good as that. */
  isProven?(account: Account): boolean
  /** How long ago the password may have been verified for that to count; left out: as long as it is the same. */
  readonly maxAgeMs?: number
  /** Whoever waits: asked for its signal only where a hash must be computed, because making one costs something. */
  readonly waiting?: { readonly signal: AbortSignal }
}

/** Whose name and password these are; `undefined`: nobody's. An unknown name looks and costs like a wrong password. */
export type SignIn = (attempt: Attempt) => Promise<Account | undefined>

/** A password verified while it was being changed is verified once more; whose changes faster than that, waits. */
const MOST_TURNS = 3

export function createSignIn(given: SignInNeeds): SignIn {
  const needs = { ...given, costOf: createCost(given) }
  const { findAccount, memory, lockout } = needs
  return async (attempt) => {
    const { name, password, peer } = attempt
    let account = await findAccount(name)
    for (let turn = 1; turn <= MOST_TURNS; turn += 1) {
      const key = { peer, name, salt: saltOf(account) }
      const isRight = await verify(needs, attempt, account, key)
      const now = typeof isRight === 'string' ? account : await findAccount(name)
      if (now?.version !== account?.version) {
        account = now
        continue
      }
      // codes are guessed side by side too
      requireUnlocked(lockout, key)
      // a wrong code counts and looks like a wrong password, else it would tell that the password was right
      if (!isRight || !now || !isCodeRight(now, attempt, needs.codes)) return void lockout.countFailure(key)
      if (isRight === true) memory.remember(name, now.version, password)
      if (isRight !== 'proven') needs.onPassword(now, password)
      return now
    }
    throw new Refusal('overloaded', { detail: 'the password changed again and again', retryAfterSeconds: 1 })
  }
}

type Cost = (account: Account | undefined) => HashParameters

/** What a refusal costs: as much as the dearest password met so far, or the time would tell that one from nobody's. */
function createCost({ decoy, limits }: SignInNeeds): Cost {
  let dearest = 0
  return (account) => {
    const { password } = account ?? {}
    if (password && 'iterations' in password) dearest = Math.max(dearest, password.iterations)
    const { iterations, ...rest } = decoy()
    return { ...rest, iterations: Math.max(iterations, Math.min(dearest, limits().max)) }
  }
}

async function verify(
  { hasher, memory, lockout, costOf, limits }: SignInNeeds & { readonly costOf: Cost },
  attempt: Attempt,
  account: Account | undefined,
  key: LockoutKey,
): Promise<boolean | 'remembered' | 'proven'> {
  const { name, password, maxAgeMs } = attempt
  requireUnlocked(lockout, key)
  if (account && attempt.isProven?.(account)) return 'proven'
  if (account && !account.isAdmin) requireIterations(account, limits())
  if (account && memory.isRemembered(name, account.version, password, maxAgeMs)) return 'remembered'
  const isRight = await hasher.verify(account?.password, password, costOf(account), attempt.waiting?.signal)
  // Guesses sent side by side all passed the first question.
  requireUnlocked(lockout, key)
  return isRight
}

function isCodeRight({ name, totp: member }: Account, { code, isWithoutCode }: Attempt, codes: TotpCheck): boolean {
  if (member === undefined || isWithoutCode) return true
  const totp = readTotp(member)
  return totp !== undefined && code !== undefined && codes.spend(name, totp, code)
}

const saltOf = (account: Account | undefined): string =>
  account && 'salt' in account.password ? account.password.salt : ''

function requireUnlocked(lockout: Lockout, key: LockoutKey): void {
  if (lockout.isLocked(key)) throw new Refusal('account_locked')
}

function requireIterations({ password }: Account, limits: IterationLimits): void {
  const refusal = checkIterations(password, limits)
  if (refusal) throw refusal
}
