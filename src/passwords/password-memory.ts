import { hash, randomBytes } from 'node:crypto'
import { CacheCounts, createLiveCache } from '../base/caches.ts'
import { type Clock, SYSTEM_CLOCK } from '../base/clock.ts'
import { isSameSecret } from '../base/compare.ts'
import { canBePassword } from './password-digest.ts'

/**
 * Recently verified passwords, so that Basic authentication on every request costs microseconds. Holds keyed digests,
 * never a password; each process creates its own key, which never leaves it.
 */
export interface PasswordMemory {
  /** How often the last password of a name was remembered. */
  readonly counts: CacheCounts
  /** Call only after the stored password of this version verified. */
  remember(verified: GivenPassword): void
  /** `false`: the password has to be verified. A verification older than `maxAgeMs` does not count. */
  isRemembered(given: GivenPassword, maxAgeMs?: number): boolean
}

export interface GivenPassword {
  readonly name: string
  /** Changes whenever the stored password does. */
  readonly version: string
  readonly password: string
}

interface Remembered {
  readonly version: string
  readonly digest: string
  readonly verifiedAtMs: number
}

/** Remembers one password per name for up to `size` names; 0 disables the memory. */
export function createPasswordMemory(size: () => number, clock: Clock = SYSTEM_CLOCK): PasswordMemory {
  const key = randomBytes(32).toString('base64')
  const digests = createLiveCache<Remembered>(size)
  // a plain keyed hash is enough: the digest is never shown, and an HMAC protects only digests that are
  const digestOf = (password: string) => hash('sha256', key + password, 'base64')
  const counts = new CacheCounts()
  return {
    counts,
    remember: ({ name, version, password }) =>
      digests.set(name, { version, digest: digestOf(password), verifiedAtMs: clock.nowMs() }),
    isRemembered: ({ name, version, password }, maxAgeMs = Number.POSITIVE_INFINITY) => {
      // computed even if nothing is remembered, so that the time does not reveal who signed in recently
      const asked = digestOf(password)
      const known = counts.count(digests.get(name))
      if (known?.version !== version || clock.nowMs() - known.verifiedAtMs >= maxAgeMs) return false
      return isSameSecret(asked, known.digest) && canBePassword(password)
    },
  }
}
