/**
 * Hashes that other applications keep as one text with all parameters, as `$argon2id$v=19$m=65536,t=3,p=4$salt$hash`.
 * They are imported and verified; no new password is stored like this.
 */
import type { Sample, WorkUnits } from '../hash-work.ts'
import type { PasswordMembers } from './scheme.ts'

/** The member of a user document with the whole text. */
export const ENCODED_MEMBER = 'encoded_hash'

/** The groups of the pattern; `undefined` where the member is no such text. */
export function matchEncoded(members: PasswordMembers, pattern: RegExp): Readonly<Record<string, string>> | undefined {
  const text = members[ENCODED_MEMBER]
  return typeof text === 'string' ? pattern.exec(text)?.groups : undefined
}

/** The parts of a text whose salt and hash are unpadded base64; `undefined` where the member is no such text. */
export function readEncoded(members: PasswordMembers, pattern: RegExp, minSaltBytes: number) {
  const groups = matchEncoded(members, pattern)
  const { salt = '', hash = '' } = groups ?? {}
  const hashBytes = decodeBase64(hash, 16, MAX_BYTES)?.length
  if (!groups || hashBytes === undefined || !decodeBase64(salt, minSaltBytes, MAX_BYTES)) return undefined
  return { groups, salt, hash, hashBytes }
}

const MAX_BYTES = 64

/** Work whose units name their parameters: those change the time of a step. */
export function createNamedUnits<C>(
  pattern: RegExp,
  toCost: (groups: Readonly<Record<string, string>>) => C,
  spend: (cost: C, amount: number) => Promise<unknown>,
  toSample: (cost: C) => Sample,
): WorkUnits {
  const readCost = (unit: string): C | undefined => {
    const groups = pattern.exec(unit)?.groups
    return groups && toCost(groups)
  }
  return {
    includes: (unit) => pattern.test(unit),
    async spend({ unit, amount }) {
      const cost = readCost(unit)
      return cost && spend(cost, amount)
    },
    findSample(unit) {
      const cost = readCost(unit)
      return cost && toSample(cost)
    },
  }
}

/** The bytes of unpadded base64; `undefined` where another text encodes the same bytes, or where they are too few or many. */
function decodeBase64(text: string, min: number, max: number): Buffer | undefined {
  const bytes = Buffer.from(text, 'base64')
  return encodeBase64(bytes) === text && bytes.length >= min && bytes.length <= max ? bytes : undefined
}

export const encodeBase64 = (bytes: Buffer): string => bytes.toString('base64').replace(/=+$/, '')

/**
 * An imported hash may have been made elsewhere to be expensive, and every failed sign-in costs as much as the most
 * expensive hash. So memory is limited to 256 MiB, and the time of one computation to about two seconds.
 */
export const MAX_MEMORY_KIB = 256 * 1024

/**
 * At most 1, which is what OWASP recommends: the default of new passwords has that strength too, so an imported hash is
 * replaced at sign-in unless the options ask for less than OWASP does.
 */
export const toImportedStrength = (amount: number, recommended: number): number => Math.min(amount / recommended, 1)
