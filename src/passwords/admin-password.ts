import type { HashedPassword } from './password.ts'
import { isPrf, MAX_ITERATIONS, PRFS, type Prf } from './password-digest.ts'

export type AdminPasswordReading =
  | { readonly kind: 'stored'; readonly password: HashedPassword }
  | { readonly kind: 'plain' }
  /** The reason never quotes the text: part of it may be a password. */
  | { readonly kind: 'malformed'; readonly reason: string }

const PREFIX = /^-(?:(hashed)|pbkdf2(?::([^-]*))?)-/

/** Tells the stored forms of `[admins]` from clear text. The PRF of `-pbkdf2-` is told by the length of its hash. */
export function readAdminPassword(text: string): AdminPasswordReading {
  const prefix = PREFIX.exec(text)
  if (!prefix) return { kind: 'plain' }
  const [whole, isHashed, prf] = prefix
  // quirk: reference document 8.2, `-pbkdf2:` with the name of no PRF is clear text
  if (prf !== undefined && !isPrf(prf)) return { kind: 'plain' }
  const parts = text.slice(whole.length).split(',')
  const outcome = isHashed ? readHashed(parts) : readPbkdf2(parts, prf)
  return typeof outcome === 'string' ? { kind: 'malformed', reason: outcome } : { kind: 'stored', password: outcome }
}

function readHashed(parts: readonly string[]): HashedPassword | string {
  const [hash, salt] = parts
  if (parts.length !== 2 || salt === undefined) return 'expected -hashed-<hash>,<salt>'
  if (!isHex(hash, PRFS.sha.bytes)) return 'the hash must be 40 lower-case hexadecimal digits'
  return isSalt(salt) ? { scheme: 'simple', salt, hash } : BAD_SALT
}

function readPbkdf2(parts: readonly string[], named: Prf | undefined): HashedPassword | string {
  const [hash, salt, count] = parts
  if (parts.length !== 3 || salt === undefined) return 'expected three parts, <hash>,<salt>,<iterations>'
  const prf = named ?? PRF_BY_LENGTH.get(hash?.length)
  if (!prf) return 'the hash must have 40, 56, 64, 96 or 128 hexadecimal digits'
  if (!isHex(hash, PRFS[prf].bytes)) return `the hash must be ${PRFS[prf].bytes * 2} lower-case hexadecimal digits`
  if (!isSalt(salt)) return BAD_SALT
  const iterations = readIterations(count)
  return iterations === undefined ? BAD_ITERATIONS : { scheme: 'pbkdf2', prf, iterations, salt, hash }
}

const LOWER_HEX = /^[0-9a-f]*$/

const isHex = (text: string | undefined, bytes: number): text is string =>
  text !== undefined && text.length === bytes * 2 && LOWER_HEX.test(text)

const PRF_BY_LENGTH: ReadonlyMap<number | undefined, Prf> = new Map(
  Object.entries(PRFS).flatMap(([name, { bytes }]) => (isPrf(name) ? [[bytes * 2, name]] : [])),
)

const BAD_SALT = 'the salt must be 1 to 256 printable ASCII characters without blanks and commas'
const SALT = /^[!-+\--~]{1,256}$/

const isSalt = (text: string): boolean => SALT.test(text)

const BAD_ITERATIONS = `the iterations must be a number from 1 to ${MAX_ITERATIONS}`
const COUNT = /^[1-9][0-9]{0,9}$/

function readIterations(text: string | undefined): number | undefined {
  if (text === undefined || !COUNT.test(text)) return undefined
  const count = Number(text)
  return count <= MAX_ITERATIONS ? count : undefined
}

/**
 * The text for `[admins]`. The default form leaves the PRF to the length of the hash; `prf` names it, as the document
 * database itself wants it. Throws a TypeError for a salt that this text cannot carry.
 */
export function renderAdminPassword(password: HashedPassword, form: 'plain-prefix' | 'prf' = 'plain-prefix'): string {
  if (!isSalt(password.salt)) throw new TypeError(BAD_SALT)
  if (password.scheme === 'simple') return `-hashed-${password.hash},${password.salt}`
  const prefix = form === 'prf' ? `-pbkdf2:${password.prf}-` : '-pbkdf2-'
  return `${prefix}${password.hash},${password.salt},${password.iterations}`
}
