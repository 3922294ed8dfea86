import { hash, randomBytes } from 'node:crypto'
import { type Clock, SYSTEM_CLOCK } from '../base/clock.ts'
import { isSameSecret } from '../base/compare.ts'
import { createLiveCache } from '../base/live-cache.ts'
import { canBePassword } from './password-digest.ts'

/**
 * What was verified a moment ago, so that Basic on every request costs microseconds. Holds keyed digests, never a
 * password; the key is made anew in each process and never leaves it.
 */
export interface PasswordMemory {
  /** Call only after the stored password of this version verified. `version` changes whenever that does. */
  remember(name: string, version: string, password: string): void
  /** `false` says nothing about the password: verify it. What was verified longer ago than `maxAgeMs` does not count. */
  isRemembered(name: string, version: string, password: string, maxAgeMs?: number): boolean
}

interface Remembered {
  readonly version: string
  readonly digest: string
  readonly verifiedAtMs: number
}

/** One password a name is remembered; `size` says of how many names, and 0 switches the memory off. */
export function createPasswordMemory(size: () => number, clock: Clock = SYSTEM_CLOCK): PasswordMemory {
  const key = randomBytes(32).toString('base64')
  const digests = createLiveCache<Remembered>(size)
  // the key first and nothing shown of the digest: what an HMAC would add protects those that are shown
  const digestOf = (password: string) => hash('sha256', key + password, 'base64')
  return {
    remember: (name, version, password) =>
      digests.set(name, { version, digest: digestOf(password), verifiedAtMs: clock.nowMs() }),
    isRemembered: (name, version, password, maxAgeMs = Number.POSITIVE_INFINITY) => {
      // computed also where nothing is remembered, so that the time does not tell who signed in lately
      const asked = digestOf(password)
      const known = digests.get(name)
      if (known?.version !== version || clock.nowMs() - known.verifiedAtMs >= maxAgeMs) return false
      return isSameSecret(asked, known.digest) && canBePassword(password)
    },
  }
}
