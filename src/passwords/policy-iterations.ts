import { Refusal } from '../base/errors.ts'
import type { StoredPassword } from './password.ts'
import { findHashWork } from './password-cost.ts'
import { PRFS } from './password-digest.ts'

export interface IterationLimits {
  readonly min: number
  readonly max: number
}

/** How far above the upper limit a password is still computed, so that its owner can be told what is wrong. */
export const MAX_OVER_LIMIT = 10

/** Whether a user's password may be computed at all. One far above the limit is not: each guess would cost too much. */
export function isWorthComputing(password: StoredPassword, { max }: IterationLimits): boolean {
  const { iterations = 0 } = findHashWork(password) ?? {}
  return iterations <= max * MAX_OVER_LIMIT
}

const HEX = /^[0-9a-f]*$/

/** Whether the stored hash is one that its PRF can give. No password verifies against any other. */
export function isWellFormed(password: StoredPassword): boolean {
  if (password.scheme !== 'pbkdf2' && password.scheme !== 'simple+pbkdf2') return true
  return password.hash.length === PRFS[password.prf].bytes * 2 && HEX.test(password.hash)
}

/**
 * Whether a user's stored password is within the limits; administrators are not asked. To be told to a client only when
 * the password was verified.
 */
export function checkIterations(password: StoredPassword, { min, max }: IterationLimits): Refusal | undefined {
  const work = findHashWork(password)
  if (!work) return undefined
  if (work.iterations < min) return new Refusal('iterations_too_low')
  return work.iterations > max ? new Refusal('iterations_too_high') : undefined
}
