import { randomBytes } from 'node:crypto'
import { isSameSecret } from '../../base/compare.ts'
import { createLiveCache } from '../live-cache.ts'
import { frame, hmac } from './password-digest.ts'

/**
 * What was verified a moment ago, so that Basic on every request costs microseconds. Holds keyed digests, never a
 * password; the key is made anew in each process and never leaves it.
 */
export interface PasswordMemory {
  /** Call only after the stored password of this version verified. `version` changes whenever that does. */
  remember(name: string, version: string, password: string): void
  /** `false` says nothing about the password: verify it. */
  isRemembered(name: string, version: string, password: string): boolean
  forget(name: string): void
  clear(): void
}

/** One password a name is remembered; `size` says of how many names, and 0 switches the memory off. */
export function createPasswordMemory(size: () => number): PasswordMemory {
  const key = randomBytes(32)
  const digests = createLiveCache<Buffer>(size)
  const digest = (...parts: readonly string[]) => hmac('sha256', key, frame(parts))
  return {
    remember: (name, version, password) => digests.set(name, digest(name, version, password)),
    isRemembered: (name, version, password) => {
      // computed also where nothing is remembered, so that the time does not tell who signed in lately
      const asked = digest(name, version, password)
      const known = digests.get(name)
      return known !== undefined && isSameSecret(asked, known)
    },
    forget: digests.delete,
    clear: digests.clear,
  }
}
