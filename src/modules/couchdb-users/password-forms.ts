// Which stored passwords the CouchDB behind the door can verify: its users may go on signing in there.
import { isDeepStrictEqual } from 'node:util'
import { Refusal } from '../../base/errors.ts'
import { hasLimits, type User, type UserRecord } from '../../directory/users/user.ts'
import type { HashParameters } from '../../passwords/schemes/scheme.ts'
import { isUsable, requireScheme, type StoredPassword } from '../../passwords/schemes.ts'
import type { UsersDatabase } from './database.ts'

/** The first version that reads `pbkdf2_prf`. Earlier ones take every hash for one with SHA-1. */
const FIRST_WITH_PRF = [3, 4] as const

/** Whether CouchDB of this version can verify the password; `undefined`: of the latest version. Without a password there is nothing to verify. */
export function isVerifiable(password: StoredPassword, version: string | undefined): boolean {
  if (!isUsable(password)) return true
  if (hasPrf(version)) return requireScheme(password.scheme).isDocumentScheme
  return password.scheme === 'simple' || (password.scheme === 'pbkdf2' && password.prf === 'sha')
}

export function hasPrf(version: string | undefined): boolean {
  if (version === undefined) return true
  const [major = 0, minor = 0] = version.split('.').map(Number)
  return major > FIRST_WITH_PRF[0] || (major === FIRST_WITH_PRF[0] && minor >= FIRST_WITH_PRF[1])
}

/** CouchDB does not know what limits the user, and lets it sign in. */
export const isLimited = (user: User): boolean => !user.isActive || hasLimits(user)

const UNVERIFIABLE =
  'CouchDB cannot verify this stored form of a password: set the password in clear, or in a form that CouchDB has.'

/** A CouchDB that was upgraded meanwhile is asked again. */
const VERSION_MS = 60_000

export function createPasswordForms(database: Pick<UsersDatabase, 'findVersion'>) {
  let found: Promise<string | undefined> | undefined
  let askedMs = 0
  const findVersion = (): Promise<string | undefined> => {
    if (performance.now() - askedMs > VERSION_MS) found = undefined
    if (!found) askedMs = performance.now()
    found ??= database.findVersion().catch((error) => {
      found = undefined
      throw error
    })
    return found
  }
  const isVerifiableThere = async (password: StoredPassword): Promise<boolean> =>
    isVerifiable(password, await findVersion())
  return {
    isVerifiable: isVerifiableThere,
    toHashParameters: async (configured: HashParameters): Promise<HashParameters> =>
      hasPrf(await findVersion()) ? configured : { ...configured, prf: 'sha' },
    async requireVerifiable(record: UserRecord, before: UserRecord | undefined): Promise<void> {
      if (record.kind !== 'user') return
      if (before?.kind === 'user' && isDeepStrictEqual(before.password, record.password)) return
      if (!(await isVerifiableThere(record.password))) throw new Refusal('forbidden', { reason: UNVERIFIABLE })
    },
  }
}
