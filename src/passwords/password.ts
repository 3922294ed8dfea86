/**
 * The stored forms of a password. Members of documents enter, a `StoredPassword` leaves, and the other way round.
 * What cannot be understood becomes an `unusable` password, which never verifies; nothing here throws on data from
 * outside, and nothing here ever sees a password in clear.
 */
import { isMethod, isPrf, MAX_ITERATIONS, type Method, type Prf } from './password-digest.ts'

interface Readable {
  readonly salt: string
  /** Hexadecimal. Text that no computed hash equals (capitals, another length) is kept and never verifies. */
  readonly hash: string
  /** The members of the document it was read from, where Cardea would write them otherwise. */
  readonly members?: PasswordMembers
}

/** SHA-1 of password ++ salt: read for old records, never chosen for new ones unless configured. */
export interface SimplePassword extends Readable {
  readonly scheme: 'simple'
}

/** `simple+pbkdf2` derives from the hexadecimal text of the simple hash, with the same salt. */
export interface Pbkdf2Password extends Readable {
  readonly scheme: 'pbkdf2' | 'simple+pbkdf2'
  readonly prf: Prf
  readonly iterations: number
}

/** The multi-model database's digest of salt ++ password. */
export interface SaltedPassword extends Readable {
  readonly scheme: 'salted'
  readonly method: Method
}

/** Never verifies. `members` are those it was read from, so that writing them back loses nothing. */
export interface UnusablePassword {
  readonly scheme: 'unusable'
  readonly reason: PasswordFlaw
  readonly members: PasswordMembers
}

export type UsablePassword = SimplePassword | Pbkdf2Password | SaltedPassword

export type StoredPassword = UsablePassword | UnusablePassword

/** The forms new passwords are hashed to, and the only ones an administrator's can have. */
export type HashedPassword = SimplePassword | (Pbkdf2Password & { readonly scheme: 'pbkdf2' })

/** What keeps a password from being usable. `absent`: there is none at all. */
export type PasswordFlaw =
  | 'absent'
  | 'scheme'
  | 'prf'
  | 'method'
  | 'salt'
  | 'hash'
  | 'iterations'
  | 'iterations_too_low'
  | 'iterations_too_high'

export type PasswordMembers = Readonly<Record<string, unknown>>

/** Members of a user document that hold a stored password, in no order. `password` itself is not one of them. */
export const PASSWORD_MEMBERS: ReadonlySet<string> = new Set([
  'password_scheme',
  'pbkdf2_prf',
  'salt',
  'iterations',
  'derived_key',
  'password_sha',
  'salted_method',
  'salted_hash',
])

type Reader = (members: PasswordMembers) => UsablePassword | PasswordFlaw

const SCHEMES: ReadonlyMap<unknown, Reader> = new Map<unknown, Reader>([
  ['simple', readSimple],
  ['pbkdf2', (members) => readPbkdf2('pbkdf2', members)],
  ['simple+pbkdf2', (members) => readPbkdf2('simple+pbkdf2', members)],
  ['salted', (members) => readSalted(members['salted_method'], members['salt'], members['salted_hash'])],
])

/** Reads the password of a user document. Members that are not about a password are passed over. */
export function readDocumentPassword(document: PasswordMembers): StoredPassword {
  const members = pickMembers(document)
  if (Object.keys(members).length === 0) return unusable('absent', members)
  const { password_scheme: scheme = 'simple' } = members
  const read = SCHEMES.get(scheme)
  const outcome = read ? read(members) : 'scheme'
  if (typeof outcome === 'string') return unusable(outcome, members)
  return isSame(writeMembers(outcome), members) ? outcome : { ...outcome, members }
}

/** The members a user document shows: as they were sent, else as Cardea writes them, in that order. */
export function toDocumentMembers(password: StoredPassword): PasswordMembers {
  if (password.scheme === 'unusable') return password.members
  return password.members ?? writeMembers(password)
}

function writeMembers(password: UsablePassword): PasswordMembers {
  const { scheme, salt, hash } = password
  if (scheme === 'simple') return { password_scheme: scheme, salt, password_sha: hash }
  if (scheme === 'salted') return { password_scheme: scheme, salted_method: password.method, salt, salted_hash: hash }
  const { prf, iterations } = password
  return { password_scheme: scheme, pbkdf2_prf: prf, salt, iterations, derived_key: hash }
}

/** Reads `authData.simple` of a multi-model user record. */
export function readSimpleAuthData(simple: unknown): StoredPassword {
  if (!isObject(simple)) return unusable('absent', {})
  const outcome = readSalted(simple['method'], simple['salt'], simple['hash'])
  return typeof outcome === 'string' ? unusable(outcome, {}) : outcome
}

/** `authData.simple` for this password; only the salted form can be told so. */
export function toSimpleAuthData(password: StoredPassword): PasswordMembers | undefined {
  if (password.scheme !== 'salted') return undefined
  return { method: password.method, salt: password.salt, hash: password.hash }
}

function readSimple(members: PasswordMembers): SimplePassword | PasswordFlaw {
  const { salt = '', password_sha: hash } = members
  // a document without any hash is a user who has no password, not a damaged one
  if (hash === undefined && members['password_scheme'] === undefined) return 'absent'
  if (typeof salt !== 'string') return 'salt'
  return typeof hash === 'string' ? { scheme: 'simple', salt, hash } : 'hash'
}

function readPbkdf2(scheme: Pbkdf2Password['scheme'], members: PasswordMembers): Pbkdf2Password | PasswordFlaw {
  // quirk: reference document 8.3, the defaults of records older than the members
  const { pbkdf2_prf: prf = 'sha', salt = '', iterations = 10000, derived_key: hash } = members
  if (!isPrf(prf)) return 'prf'
  if (typeof salt !== 'string') return 'salt'
  if (!isInteger(iterations)) return 'iterations'
  if (iterations < 1) return 'iterations_too_low'
  if (iterations > MAX_ITERATIONS) return 'iterations_too_high'
  return typeof hash === 'string' ? { scheme, prf, iterations, salt, hash } : 'hash'
}

function readSalted(method: unknown, salt: unknown, hash: unknown): SaltedPassword | PasswordFlaw {
  if (!isMethod(method)) return 'method'
  if (typeof salt !== 'string') return 'salt'
  return typeof hash === 'string' ? { scheme: 'salted', method, salt, hash } : 'hash'
}

const isInteger = (value: unknown): value is number => typeof value === 'number' && Number.isInteger(value)

const isObject = (value: unknown): value is PasswordMembers =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

const unusable = (reason: PasswordFlaw, members: PasswordMembers): UnusablePassword => ({
  scheme: 'unusable',
  reason,
  members,
})

function pickMembers(document: PasswordMembers): PasswordMembers {
  return Object.fromEntries(Object.entries(document).filter(([name]) => PASSWORD_MEMBERS.has(name)))
}

const isSame = (a: PasswordMembers, b: PasswordMembers): boolean =>
  Object.keys(a).length === Object.keys(b).length && Object.entries(a).every(([name, value]) => b[name] === value)
