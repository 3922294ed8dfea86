import { Refusal } from '../base/errors.ts'
import { andThen, type MaybePromise } from '../base/maybe-promise.ts'
import { toPeerKey } from '../base/peer-key.ts'
import type { Account } from '../directory/account.ts'
import type { UpgradeOptions } from '../directory/directory.ts'
import { readTotp, type TotpCheck } from '../directory/totp.ts'
import {
  checkIterations,
  type IterationLimits,
  isWellFormed,
  isWorthComputing,
  limitWork,
} from '../passwords/hash-policy.ts'
import type { HashWork } from '../passwords/hash-work.ts'
import type { Hasher } from '../passwords/hasher.ts'
import type { Turn } from '../passwords/job-queue.ts'
import type { PasswordMemory } from '../passwords/password-memory.ts'
import { findHashWork } from '../passwords/schemes.ts'
import type { CredentialSource } from './handler.ts'
import type { Guess } from './limits/guess.ts'
import type { PasswordLimits } from './limits/limits.ts'

export interface SignInDeps {
  findAccount(name: string): MaybePromise<Account | undefined>
  /** Told of every password that was right. Gives the account to go on with. */
  onPassword(account: Account, password: string, options: UpgradeOptions): MaybePromise<Account>
  readonly hasher: Hasher
  readonly memory: PasswordMemory
  readonly guesses: PasswordLimits
  readonly codes: TotpCheck
  /** What new passwords cost, whether or not there is one. */
  decoy(): HashWork
  /** What the passwords of users and administrators cost, the most expensive of each kind at least. */
  storedWork(): Iterable<HashWork>
  /** For users; administrators are not asked. */
  limits(): IterationLimits
}

export interface Attempt {
  readonly name: string
  readonly password: string
  readonly peer: string
  /** Counted in addition to `peer`. */
  readonly directPeer?: string | undefined
  /** The one-time code. Left out where none can be given: then who has a second factor does not come in. */
  readonly code?: string
  /** Only whether the password is right is asked, and nobody comes in: then no code is. */
  readonly isWithoutCode?: boolean
  /** Whether what stands in the place of the password is as good as that. */
  isProven?(account: Account): boolean
  /** How long ago the password may have been verified for that to count; left out: as long as it is the same. */
  readonly maxAgeMs?: number
  /** Credential handler or endpoint that takes the password, for the record. */
  readonly handler?: string
  /** Called with the reason of a refusal, which the client must not learn. */
  explain?(reason: string): void
  /** Whoever waits: asked for its signal only where a hash must be computed, because making one costs something. */
  readonly waiting?: { readonly signal: AbortSignal }
}

/**
 * Whose name and password these are; `undefined`: nobody's. An unknown name looks and costs like a wrong password. What
 * was verified before is known at once, and refused at once.
 */
export type SignIn = (attempt: Attempt) => MaybePromise<Account | undefined>

/** An attempt to sign in that came with a request. */
export type DoorSignIn = (
  attempt: Omit<Attempt, 'peer' | 'directPeer' | 'waiting'> & { readonly source: CredentialSource },
) => ReturnType<SignIn>

/** A password verified while it was being changed is verified once more; whose changes faster than that, waits. */
const MAX_TURNS = 3

export function createSignIn(deps: SignInDeps): SignIn {
  return (attempt) => andThen(deps.findAccount(attempt.name), (account) => decide(deps, attempt, account, MAX_TURNS))
}

/** What makes a sign-in good: a password just verified, one verified before, or what is as good as either. */
type Proof = 'verified' | 'remembered' | 'proven'

type Decide<T> = (deps: SignInDeps, attempt: Attempt, account: Account | undefined, turns: number) => T

const decide: Decide<ReturnType<SignIn>> = (deps, attempt, account, turns) => {
  const proof = findProof(deps, attempt, account)
  return proof ? conclude(deps, attempt, account, proof) : verify(deps, attempt, account, turns)
}

const verify: Decide<Promise<Account | undefined>> = async (deps, attempt, account, turns) => {
  const proof = await hash(deps, attempt, account)
  const now = await deps.findAccount(attempt.name)
  if (now?.version === account?.version) return conclude(deps, attempt, now, proof)
  if (turns > 1) return decide(deps, attempt, now, turns - 1)
  throw new Refusal('overloaded', { detail: 'the password changed again and again', retryAfterSeconds: 1 })
}

/** What is known without a hash. */
function findProof(deps: SignInDeps, attempt: Attempt, account: Account | undefined): Proof | undefined {
  deps.guesses.requireAllowed(toGuess(attempt, account))
  if (!account) return undefined
  if (attempt.isProven?.(account)) return 'proven'
  const { name, password, maxAgeMs } = attempt
  return deps.memory.isRemembered(name, account.version, password, maxAgeMs) ? 'remembered' : undefined
}

async function hash(deps: SignInDeps, attempt: Attempt, account: Account | undefined): Promise<Proof | undefined> {
  const guess = toGuess(attempt, account)
  const turn: Turn = {
    lane: toPeerKey(attempt.peer) ?? attempt.peer,
    isPreferred: () => deps.guesses.isClean(guess),
    begin: () => deps.guesses.requireAllowed(guess),
    signal: attempt.waiting?.signal,
  }
  const stored =
    account && (account.isAdmin || isWorthComputing(account.password, deps.limits())) ? account.password : undefined
  const isRight = await deps.hasher.verify(stored, attempt.password, findDecoy(deps, account), turn)
  // guesses sent side by side all passed the first question
  deps.guesses.requireAllowed(guess)
  return isRight ? 'verified' : undefined
}

function conclude(
  deps: SignInDeps,
  attempt: Attempt,
  account: Account | undefined,
  proof: Proof | undefined,
): MaybePromise<Account | undefined> {
  const { guesses, codes } = deps
  const guess = toGuess(attempt, account)
  // codes are guessed side by side too
  guesses.requireAllowed(guess)
  if (!account || !proof) {
    refuse(deps, attempt, account ? 'wrong password' : 'no active user of this name', guess)
    // quirk: recorded case min-iterations: a hash that no password can give is refused for its iterations
    if (account && !account.isAdmin && !isWellFormed(account.password)) requireIterations(account, deps.limits())
    return undefined
  }
  // a wrong code counts and looks like a wrong password, else it would tell that the password was right
  return andThen(isCodeRight(account, attempt, codes), (isRight) =>
    isRight ? accept(deps, attempt, account, proof) : refuse(deps, attempt, 'missing or wrong one-time code', guess),
  )
}

/** The client is not told the reason. */
function refuse({ guesses }: SignInDeps, attempt: Attempt, reason: string, guess: Guess): undefined {
  attempt.explain?.(reason)
  guesses.countFailure(guess)
}

function accept(deps: SignInDeps, attempt: Attempt, account: Account, proof: Proof): MaybePromise<Account> {
  const { memory, onPassword, limits } = deps
  // only now: before the password was verified, the answer would tell that there is such a user
  if (proof !== 'proven' && !account.isAdmin) requireIterations(account, limits())
  deps.guesses.countSuccess(toGuess(attempt, account))
  if (proof === 'verified') memory.remember(attempt.name, account.version, attempt.password)
  // whatever opens a session can be given a code
  return proof === 'proven'
    ? account
    : onPassword(account, attempt.password, { opensSession: attempt.code !== undefined })
}

const toGuess = ({ peer, directPeer, name }: Attempt, account: Account | undefined): Guess => ({
  peer,
  directPeer,
  name,
  salt: account && 'salt' in account.password ? account.password.salt : '',
  version: account?.version,
})

/** What a refusal costs: as much as the most expensive password there is, or the time would tell which names exist. */
function findDecoy({ hasher, decoy, storedWork, limits }: SignInDeps, account: Account | undefined): HashWork {
  const own = account && findHashWork(account.password)
  const most = hasher.findMostExpensive(decoy(), own ? [...storedWork(), own] : storedWork())
  return limitWork(most, limits())
}

function isCodeRight(account: Account, { code, isWithoutCode }: Attempt, codes: TotpCheck): MaybePromise<boolean> {
  const { name, totp: member } = account
  if (member === undefined || isWithoutCode) return true
  const totp = readTotp(member)
  return totp !== undefined && code !== undefined && codes.spend(name, totp, code)
}

function requireIterations({ password }: Account, limits: IterationLimits): void {
  const refusal = checkIterations(password, limits)
  if (refusal) throw refusal
}
