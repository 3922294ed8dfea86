import { Refusal } from '../base/errors.ts'
import { andThen, type MaybePromise } from '../base/maybe-promise.ts'
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

/**
 * Whose name and password these are; `undefined`: nobody's. An unknown name looks and costs like a wrong password. What
 * was verified before is known at once, and refused at once.
 */
export type SignIn = (attempt: Attempt) => MaybePromise<Account | undefined>

/** A password verified while it was being changed is verified once more; whose changes faster than that, waits. */
const MOST_TURNS = 3

interface Needs extends SignInNeeds {
  readonly costOf: Cost
}

export function createSignIn(given: SignInNeeds): SignIn {
  const needs: Needs = { ...given, costOf: createCost(given) }
  return (attempt) => andThen(needs.findAccount(attempt.name), (account) => decide(needs, attempt, account, MOST_TURNS))
}

/** What makes a sign-in good: a password just verified, one verified before, or what is as good as either. */
type Proof = 'verified' | 'remembered' | 'proven'

type Decide<T> = (needs: Needs, attempt: Attempt, account: Account | undefined, turns: number) => T

const decide: Decide<ReturnType<SignIn>> = (needs, attempt, account, turns) => {
  const proof = findProof(needs, attempt, account)
  return proof ? conclude(needs, attempt, account, proof) : verify(needs, attempt, account, turns)
}

const verify: Decide<Promise<Account | undefined>> = async (needs, attempt, account, turns) => {
  const proof = await hash(needs, attempt, account)
  const now = await needs.findAccount(attempt.name)
  if (now?.version === account?.version) return conclude(needs, attempt, now, proof)
  if (turns > 1) return decide(needs, attempt, now, turns - 1)
  throw new Refusal('overloaded', { detail: 'the password changed again and again', retryAfterSeconds: 1 })
}

/** What is known without a hash. */
function findProof(needs: Needs, attempt: Attempt, account: Account | undefined): Proof | undefined {
  requireUnlocked(needs.lockout, keyOf(attempt, account))
  if (!account) return undefined
  if (attempt.isProven?.(account)) return 'proven'
  if (!account.isAdmin) requireIterations(account, needs.limits())
  const { name, password, maxAgeMs } = attempt
  return needs.memory.isRemembered(name, account.version, password, maxAgeMs) ? 'remembered' : undefined
}

async function hash(needs: Needs, attempt: Attempt, account: Account | undefined): Promise<Proof | undefined> {
  const { password, waiting } = attempt
  const isRight = await needs.hasher.verify(account?.password, password, needs.costOf(account), waiting?.signal)
  // Guesses sent side by side all passed the first question.
  requireUnlocked(needs.lockout, keyOf(attempt, account))
  return isRight ? 'verified' : undefined
}

function conclude(
  needs: Needs,
  attempt: Attempt,
  account: Account | undefined,
  proof: Proof | undefined,
): MaybePromise<Account | undefined> {
  const { lockout, codes } = needs
  const key = keyOf(attempt, account)
  // codes are guessed side by side too
  requireUnlocked(lockout, key)
  if (!account || !proof) return void lockout.countFailure(key)
  // a wrong code counts and looks like a wrong password, else it would tell that the password was right
  return andThen(isCodeRight(account, attempt, codes), (isRight) =>
    isRight ? accept(needs, attempt, account, proof) : void lockout.countFailure(key),
  )
}

function accept({ memory, onPassword }: Needs, attempt: Attempt, account: Account, proof: Proof): Account {
  if (proof === 'verified') memory.remember(attempt.name, account.version, attempt.password)
  if (proof !== 'proven') onPassword(account, attempt.password)
  return account
}

const keyOf = ({ peer, name }: Attempt, account: Account | undefined): LockoutKey => ({
  peer,
  name,
  salt: account && 'salt' in account.password ? account.password.salt : '',
})

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

function isCodeRight(account: Account, { code, isWithoutCode }: Attempt, codes: TotpCheck): MaybePromise<boolean> {
  const { name, totp: member } = account
  if (member === undefined || isWithoutCode) return true
  const totp = readTotp(member)
  return totp !== undefined && code !== undefined && codes.spend(name, totp, code)
}

function requireUnlocked(lockout: Lockout, key: LockoutKey): void {
  if (lockout.isLocked(key)) throw new Refusal('account_locked')
}

function requireIterations({ password }: Account, limits: IterationLimits): void {
  const refusal = checkIterations(password, limits)
  if (refusal) throw refusal
}
