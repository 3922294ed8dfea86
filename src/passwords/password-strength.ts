import type { HashParameters } from './hasher.ts'
import type { StoredPassword } from './password.ts'
import type { Prf } from './password-digest.ts'

/** Iterations that make a guess equally expensive, as the OWASP Password Storage Cheat Sheet recommends them. */
const EQUIVALENT_ITERATIONS: Readonly<Record<Prf, number>> = {
  sha: 1_300_000,
  sha224: 600_000,
  sha256: 600_000,
  sha384: 210_000,
  sha512: 210_000,
}

/** What a guess costs; 1 is what OWASP recommends. A single digest counts as nothing, whatever its algorithm. */
const toStrength = (password: StoredPassword | HashParameters): number =>
  password.scheme === 'pbkdf2' || password.scheme === 'simple+pbkdf2'
    ? password.iterations / EQUIVALENT_ITERATIONS[password.prf]
    : 0

/**
 * Whether a password stored like this is to be hashed again as configured: the configured form is another one, and a
 * guess against it costs at least as much. What never verifies is never hashed again.
 */
export function isOutdated(stored: StoredPassword, target: HashParameters): boolean {
  if (stored.scheme === 'unusable' || target.scheme === 'simple') return false
  if (toStrength(target) < toStrength(stored)) return false
  const isSameForm = stored.scheme === 'pbkdf2' && stored.prf === target.prf && stored.iterations === target.iterations
  return !isSameForm
}
