import { Refusal } from '../../base/errors.ts'
import type { StoredPassword } from './password.ts'

export interface IterationLimits {
  readonly min: number
  readonly max: number
}

/**
 * Whether a user's stored password lies within the limits; administrators are not asked. Ask before hashing: what is
 * too high must not be computed.
 */
export function checkIterations(password: StoredPassword, { min, max }: IterationLimits): Refusal | undefined {
  if (password.scheme === 'unusable') return findFlaw(password.reason)
  if (password.scheme === 'simple' || password.scheme === 'salted') return undefined
  if (password.iterations < min) return new Refusal('iterations_too_low')
  return password.iterations > max ? new Refusal('iterations_too_high') : undefined
}

const findFlaw = (reason: string): Refusal | undefined =>
  reason === 'iterations_too_low' || reason === 'iterations_too_high' ? new Refusal(reason) : undefined
