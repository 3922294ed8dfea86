/**
 * Signing in with a name and a password. In this order:
 *
 * 1. The limits on failed attempts, before any work, so that a locked account costs nothing.
 * 2. The password: remembered from an earlier request, else hashed. An unknown name is hashed too, so that it takes
 *    as long as a wrong password.
 * 3. The limits again, by the failures of all siblings: attempts sent in parallel all passed the first check.
 * 4. The one-time code, where the account has a second factor. A wrong code looks like a wrong password. A missing one
 *    does not count as a failure.
 * 5. The iteration limits of the stored hash. Checked last: an earlier error would reveal that the user exists.
 *
 * A right password that is refused for another reason takes as long as a wrong one. Otherwise the time would reveal that
 * it is right.
 */
import { Refusal } from '../base/errors.ts'
import { toPeerKey } from '../base/peer-key.ts'
import { type Account, needsSecondStep } from '../directory/account.ts'
import type { Directory } from '../directory/directory.ts'
import type { UpgradeOptions } from '../directory/users/upgrade-hash.ts'
import {
  checkIterations,
  type IterationLimits,
  isAffordable,
  isWellFormed,
  isWorthComputing,
  limitWork,
} from '../passwords/hash-policy.ts'
import type { HashWork } from '../passwords/hash-work.ts'
import type { Hasher } from '../passwords/hasher.ts'
import type { PasswordMemory } from '../passwords/password-memory.ts'
import { findHashWork, saltOf } from '../passwords/schemes.ts'
import type { Guess } from './limits/guess.ts'
import type { PasswordLimits } from './limits/together.ts'

export interface SignInDeps {
  findAccount(name: string): Promise<Account | undefined>
  /** Called with every right password; may upgrade the stored hash. Returns the account to go on with. */
  onPassword(account: Account, password: string, options: UpgradeOptions): Promise<Account>
  readonly hasher: Hasher
  readonly memory: PasswordMemory
  readonly limits: PasswordLimits
  readonly spendCode: Directory['spendCode']
  /** Whether the text is an access token of the account, even one that has expired. */
  isAccessToken(account: Account, text: string): boolean
  /** The cost of a new password. */
  newPasswordWork(): HashWork
  /** The cost of the stored passwords, at least the most expensive of each kind. */
  storedWork(): Iterable<HashWork>
  /** For users; administrators are exempt. */
  iterationLimits(): IterationLimits
}

export interface Attempt {
  readonly name: string
  readonly password: string
  readonly peer: string
  /** Counted in addition to `peer`. */
  readonly directPeer?: string | undefined
  /** The one-time code. Left out where the protocol has no place for one: then an account with a second factor fails. */
  readonly code?: string
  /** Whether a passkey of the account was used, in place of a one-time code. */
  isPasskeyOf?(account: Account): Promise<boolean>
  /** Only the password is checked, as proof within an existing session. */
  readonly isWithoutCode?: boolean
  /** Whether the text in place of the password is as good as it: an access token. */
  isProven?(account: Account): boolean
  /** How long ago the password may have been hashed; left out: any time. */
  readonly maxAgeMs?: number
  /** Credential handler or endpoint that received the password, for the record. */
  readonly handler?: string
  /** Called with the reason of a refusal, which the client must not learn. */
  explain?(reason: string): void
  /** Called if the password is right and the account needs a one-time code that was not sent. */
  onCodeMissing?(): void
  /** The request. Its signal is read only where a hash is computed, because Node creates it on first use. */
  readonly waiting?: { readonly signal: AbortSignal }
}

/** `undefined`: wrong name, password or code. */
export type SignIn = (attempt: Attempt) => Promise<Account | undefined>

/** Everything that follows, the limits included, knows only the name that an address leads to. */
export const withAddresses =
  (signIn: SignIn, { findSignInName }: Pick<Directory, 'findSignInName'>): SignIn =>
  async (attempt) =>
    signIn({ ...attempt, name: await findSignInName(attempt.name) })

/** How often a password is hashed again because it was changed meanwhile. */
const MAX_TRIES = 3

export function createSignIn(deps: SignInDeps): SignIn {
  return async (attempt) => {
    let account = await deps.findAccount(attempt.name)
    for (let tries = 0; tries < MAX_TRIES; tries += 1) {
      const context = { attempt, guess: toGuess(attempt, account), deps }
      deps.limits.requireAllowed(context.guess)
      if (account && isMisplacedToken(account, attempt, deps)) return undefined
      const known = findKnownProof(account, attempt, deps)
      if (known) return finish(known, account, context)
      const proof = await hash(account, context)
      const current = await deps.findAccount(attempt.name)
      if (current?.version === account?.version) return finish(proof, current, context)
      account = current
    }
    throw new Refusal('overloaded', {
      detail: 'the password keeps changing while it is verified',
      retryAfterSeconds: 1,
    })
  }
}

/** How the password was shown to be right; `undefined`: it is wrong. */
type Proof = 'hashed' | 'remembered' | 'proven' | undefined

interface Context {
  readonly attempt: Attempt
  readonly guess: Guess
  readonly deps: SignInDeps
}

/**
 * An access token that has expired, or where only the password is accepted. It is refused and not counted: its holder guesses nothing,
 * and a program that tries it everywhere would lock its user out.
 */
function isMisplacedToken(account: Account, attempt: Attempt, { isAccessToken }: SignInDeps): boolean {
  if (attempt.isProven || !isAccessToken(account, attempt.password)) return false
  attempt.explain?.('an access token in place of the password')
  return true
}

function findKnownProof(account: Account | undefined, attempt: Attempt, { memory }: SignInDeps): Proof {
  if (!account) return undefined
  if (attempt.isProven?.(account)) return 'proven'
  const { name, password, maxAgeMs } = attempt
  return memory.isRemembered({ name, version: toRemembered(account), password }, maxAgeMs) ? 'remembered' : undefined
}

/** What ends the sessions of an account ends what is remembered of its password too. */
export const toRemembered = ({ version, sessionEpoch: { generation } }: KnownVersion): string =>
  `${version} ${generation}`

/** What identifies a password that was right. */
export interface KnownVersion {
  readonly version: string
  readonly sessionEpoch: Pick<Account['sessionEpoch'], 'generation'>
}

async function hash(account: Account | undefined, { attempt, guess, deps }: Context): Promise<Proof> {
  const { limits, hasher, iterationLimits } = deps
  const isComputed = account && (account.isAdmin || isWorthComputing(account.password, iterationLimits()))
  const stored = isComputed ? account.password : undefined
  const isRight = await hasher.verify(stored, attempt.password, {
    decoy: findDecoy(account, deps),
    lane: toPeerKey(attempt.peer) ?? attempt.peer,
    isPreferred: () => limits.isClean(guess),
    begin: () => limits.requireAllowed(guess),
    signal: attempt.waiting?.signal,
  })
  return isRight ? 'hashed' : undefined
}

/** A refusal costs as much as the most expensive stored password: otherwise its time would reveal which names exist. */
function findDecoy(account: Account | undefined, deps: SignInDeps): HashWork {
  const own = account && findHashWork(account.password)
  const stored = own ? [...deps.storedWork(), own] : deps.storedWork()
  return limitWork(deps.hasher.findMostExpensive(deps.newPasswordWork(), stored), deps.iterationLimits())
}

async function finish(proof: Proof, account: Account | undefined, context: Context): Promise<Account | undefined> {
  try {
    const accepted = await decide(proof, account, context)
    if (!accepted) await pad(proof, account, context)
    return accepted
  } catch (error) {
    await pad(proof, account, context)
    throw error
  }
}

/** A wrong password has cost the whole already. */
async function pad(proof: Proof, account: Account | undefined, { attempt, deps }: Context): Promise<void> {
  if (!proof || !account) return
  const done = proof === 'hashed' ? account.password : undefined
  const lane = toPeerKey(attempt.peer) ?? attempt.peer
  // the attempt is refused even if this work cannot be done
  await deps.hasher.pad(done, findDecoy(account, deps), { lane, signal: attempt.waiting?.signal }).catch(() => {})
}

async function decide(proof: Proof, account: Account | undefined, context: Context): Promise<Account | undefined> {
  const { attempt, guess, deps } = context
  deps.limits.requireAllowed(guess)
  if (!account || !proof) {
    await countRefusal(explainWrong(account), context)
    // quirk: recorded case min-iterations: a stored hash that no password can give is refused for its iterations
    if (account && !isWellFormed(account.password)) requireIterations(account, deps)
    return undefined
  }
  // a password or code that was right must not stand out among attempts that are too many
  if (proof === 'hashed') await deps.limits.confirm(guess)
  const isCodeNeeded = needsSecondStep(account) && !attempt.isWithoutCode
  const code = isCodeNeeded ? await checkCode(account, attempt, deps) : 'right'
  if (code === 'right') {
    if (isCodeNeeded) await deps.limits.confirm(guess)
    return accept(proof, account, context)
  }
  if (code === 'wrong') await countRefusal('wrong one-time code', context)
  else {
    attempt.explain?.('missing one-time code')
    attempt.onCodeMissing?.()
  }
  return undefined
}

function explainWrong(account: Account | undefined): string {
  if (!account) return 'no active user of this name'
  return isAffordable(account.password) ? 'wrong password' : 'the stored password costs too much to verify'
}

async function countRefusal(reason: string, { attempt, guess, deps }: Context): Promise<void> {
  await deps.limits.countFailure(guess)
  attempt.explain?.(reason)
}

async function accept(proof: Proof, account: Account, { attempt, guess, deps }: Context): Promise<Account> {
  const { name, password, code } = attempt
  if (proof !== 'proven') requireIterations(account, deps)
  deps.limits.countSuccess(guess)
  if (proof === 'proven') return account
  if (proof === 'hashed') deps.memory.remember({ name, version: toRemembered(account), password })
  // every endpoint that opens a session takes a code
  return deps.onPassword(account, password, { opensSession: code !== undefined })
}

export const toGuess = (
  { peer, directPeer, name }: Pick<Attempt, 'peer' | 'directPeer' | 'name'>,
  account: Account | undefined,
): Guess => ({
  peer,
  directPeer,
  name,
  salt: account && saltOf(account),
  version: account?.version,
})

async function checkCode(account: Account, { code = '', isPasskeyOf }: Attempt, { spendCode }: SignInDeps) {
  if (isPasskeyOf) return (await isPasskeyOf(account)) ? 'right' : 'wrong'
  if (code === '') return 'missing'
  return (await spendCode(account, code)) ? 'right' : 'wrong'
}

function requireIterations({ isAdmin, password }: Account, { iterationLimits }: SignInDeps): void {
  const refusal = isAdmin ? undefined : checkIterations(password, iterationLimits())
  if (refusal) throw refusal
}
