/** The options about stored hashes: which are hashed again, and which are within the iteration limits. */
import { Refusal } from '../base/errors.ts'
import type { HashWork } from './hash-work.ts'
import { isPrf, type Prf } from './password-digest.ts'
import { toMaxIterations } from './schemes/pbkdf2.ts'
import type { HashParameters } from './schemes/scheme.ts'
import { isUsable, requireScheme, type StoredPassword } from './schemes.ts'

/**
 * Whether a password is to be hashed again as configured: its parameters differ from the configured ones, and a guess
 * against the new hash costs at least as much. An unusable password is never hashed again.
 */
export function isOutdated(stored: StoredPassword, target: HashParameters): boolean {
  if (!isUsable(stored)) return false
  const [from, to] = [requireScheme(stored.scheme), requireScheme(target.scheme)]
  const wanted = to.create?.(target, stored.salt)
  if (!wanted || to.toStrength(wanted) === 0 || to.toStrength(wanted) < from.toStrength(stored)) return false
  if (to.toStrength(wanted) > MAX_STRENGTH) return false
  return from.describe(stored) !== to.describe(wanted)
}

/** Checks with the current parameters. Remembers the result for each stored password: every Basic request asks. */
export function createOutdatedCheck(parameters: () => HashParameters): (stored: StoredPassword) => boolean {
  const results = new WeakMap<StoredPassword, { readonly target: HashParameters; readonly isOutdated: boolean }>()
  return (stored) => {
    const target = parameters()
    const known = results.get(stored)
    if (known?.target === target) return known.isOutdated
    const result = { target, isOutdated: isOutdated(stored, target) }
    results.set(stored, result)
    return result.isOutdated
  }
}

/**
 * The most that is ever computed to create or verify a hash: ten times what OWASP recommends, which is 6 000 000
 * iterations of PBKDF2 with SHA-256. Every failed sign-in costs as much as the most expensive stored password, so a
 * single stored hash without this limit could make all of them take seconds. It depends on no option: a hash that was
 * accepted under one configuration would be refused, with the right password, under the next.
 */
const MAX_STRENGTH = 10

/** The most iterations of a PRF within the limit. */
export const maxIterationsOf = (prf: Prf): number => toMaxIterations(prf, MAX_STRENGTH)

/** Whether a password costs no more than the limit. Schemes without iterations are limited when they are read. */
export const isAffordable = (password: StoredPassword): boolean =>
  !isUsable(password) || requireScheme(password.scheme).toStrength(password) <= MAX_STRENGTH

export const toAffordableWork = (work: HashWork): HashWork =>
  isPrf(work.unit) ? { ...work, amount: Math.min(work.amount, maxIterationsOf(work.unit)) } : work

/** Throws for a stored password that is written and costs more than the limit. */
export function requireAffordable(password: StoredPassword): void {
  if (isAffordable(password)) return
  throw new Refusal('bad_request', {
    reason: `The stored password costs too much to verify: the limit is ${maxIterationsOf('sha256')} iterations of PBKDF2 with SHA-256.`,
  })
}

/** PBKDF2 iterations. Schemes without them have limits of their own, which are checked when a password is read. */
export interface IterationLimits {
  readonly min: number
  readonly max: number
}

/** How far above the upper limit a password is still computed, so that the user learns why a correct password is rejected. */
const MAX_OVER_LIMIT = 10

export const findIterations = (password: StoredPassword): number | undefined =>
  isUsable(password) ? requireScheme(password.scheme).toIterations?.(password) : undefined

/** Whether a user's password may be computed. One far above the limit is not: each guess would cost too much. */
export const isWorthComputing = (password: StoredPassword, { max }: IterationLimits): boolean =>
  (findIterations(password) ?? 0) <= max * MAX_OVER_LIMIT

/** The work of a decoy, which never exceeds that of a password that is worth computing. */
export const limitWork = (work: HashWork, { max }: IterationLimits): HashWork =>
  isPrf(work.unit) ? { ...work, amount: Math.min(work.amount, max * MAX_OVER_LIMIT) } : work

/** Whether the scheme can produce the stored hash at all. No password verifies against any other hash. */
export const isWellFormed = (password: StoredPassword): boolean =>
  !isUsable(password) || (requireScheme(password.scheme).isWellFormed?.(password) ?? true)

/**
 * Whether a user's stored password is within the limits, which do not apply to administrators. The client may learn the
 * result only when the password was verified.
 */
export function checkIterations(password: StoredPassword, { min, max }: IterationLimits): Refusal | undefined {
  const iterations = findIterations(password)
  if (iterations === undefined) return undefined
  if (iterations < min) return new Refusal('iterations_too_low')
  return iterations > max ? new Refusal('iterations_too_high') : undefined
}
