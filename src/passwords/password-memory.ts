import { hash, randomBytes } from 'node:crypto'
import { CacheCounts, createLiveCache } from '../base/caches.ts'
import { type Clock, MONOTONIC_CLOCK } from '../base/clock.ts'
import { isSameSecret } from '../base/compare.ts'
import { canBePassword } from './password-digest.ts'

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

export type PasswordMemory = ReturnType<typeof createPasswordMemory>

/**
 * Recently verified passwords, so that Basic authentication on every request costs microseconds. Holds keyed digests,
 * never a password; each process creates its own key, which never leaves it. Remembers one password per name for up to
 * `size` names; 0 disables the memory.
 */
export function createPasswordMemory(size: () => number, clock: Clock = MONOTONIC_CLOCK) {
  const key = randomBytes(32).toString('base64')
  const digests = createLiveCache<Remembered>(size)
  // a plain keyed hash is enough: the digest is never shown, and an HMAC protects only digests that are
  const digestOf = (password: string) => hash('sha256', key + password, 'base64')
  const counts = new CacheCounts()
  return {
    /** How often the last password of a name was remembered. */
    counts,
    /** Call only after the stored password of this version verified. */
    remember: ({ name, version, password }: GivenPassword): void =>
      digests.set(name, { version, digest: digestOf(password), verifiedAtMs: clock.nowMs() }),
    /** `false`: the password has to be verified. A verification older than `maxAgeMs` does not count. */
    isRemembered: ({ name, version, password }: GivenPassword, maxAgeMs = Number.POSITIVE_INFINITY): boolean => {
      // computed even if nothing is remembered, so that the time does not reveal who signed in recently
      const asked = digestOf(password)
      const known = counts.count(digests.get(name))
      if (known?.version !== version || clock.nowMs() - known.verifiedAtMs >= maxAgeMs) return false
      return isSameSecret(asked, known.digest) && canBePassword(password)
    },
  }
}
