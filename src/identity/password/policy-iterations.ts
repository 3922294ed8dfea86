import { type ErrorCode, Refusal } from '../../base/errors.ts'
import type { PasswordFlaw, StoredPassword } from './password.ts'

export interface IterationLimits {
  readonly min: number
  readonly max: number
}

/**
 * Whether a user's stored password is one this server can compute, within the limits; administrators are not asked. Ask before hashing: what is
 * too high must not be computed.
 */
export function checkIterations(password: StoredPassword, { min, max }: IterationLimits): Refusal | undefined {
  if (password.scheme === 'unusable') return findFlaw(password.reason)
  if (password.scheme === 'simple' || password.scheme === 'salted') return undefined
  if (password.iterations < min) return new Refusal('iterations_too_low')
  return password.iterations > max ? new Refusal('iterations_too_high') : undefined
}

/** What the client is told of; any other flaw looks like a wrong password. */
const FLAWS: ReadonlyMap<PasswordFlaw, ErrorCode> = new Map([
  ['iterations_too_low', 'iterations_too_low'],
  ['iterations_too_high', 'iterations_too_high'],
  ['prf', 'prf_unknown'],
])

function findFlaw(reason: PasswordFlaw): Refusal | undefined {
  const code = FLAWS.get(reason)
  return code && new Refusal(code)
}
