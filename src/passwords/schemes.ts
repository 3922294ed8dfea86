/** The table of password schemes. A new scheme is one row here, in a file of its own. */

import { isDeepStrictEqual } from 'node:util'
import { isJsonObject } from '../base/json.ts'
import { type HashWork, measureSampleStep, type Sample, type WorkUnits } from './hash-work.ts'
import type { Derive } from './password-digest.ts'
import { ARGON2ID } from './schemes/argon2id.ts'
import { BCRYPT } from './schemes/bcrypt.ts'
import { PBKDF2, type Pbkdf2Password, SIMPLE_PBKDF2 } from './schemes/pbkdf2.ts'
import { readSalted, SALTED } from './schemes/salted.ts'
import {
  type AdminTextForm,
  BAD_ADMIN_SALT,
  isAdminSalt,
  type PasswordFlaw,
  type PasswordMembers,
  type PasswordScheme,
} from './schemes/scheme.ts'
import { SCRYPT } from './schemes/scrypt.ts'
import { SIMPLE, type SimplePassword } from './schemes/simple.ts'

const ROWS = [SIMPLE, PBKDF2, SIMPLE_PBKDF2, SALTED, BCRYPT, SCRYPT, ARGON2ID] as const

export const SCHEMES: readonly PasswordScheme[] = ROWS

/** A stored password that a plain-text password can be compared with. */
type UsablePassword = Exclude<ReturnType<(typeof ROWS)[number]['read']>, PasswordFlaw>

/** Never verifies. `members` are those it was read from, so that writing them back loses nothing. */
interface UnusablePassword {
  readonly scheme: 'unusable'
  readonly reason: PasswordFlaw
  readonly members: PasswordMembers
}

export type StoredPassword = UsablePassword | UnusablePassword

/** The forms new passwords are hashed to, and the only ones an administrator's can have. */
export type HashedPassword = SimplePassword | Pbkdf2Password

const BY_NAME: ReadonlyMap<unknown, PasswordScheme> = new Map(SCHEMES.map((scheme) => [scheme.name, scheme]))

/** Throws a TypeError for a name that is in no row. */
export function requireScheme(name: string): PasswordScheme {
  const scheme = BY_NAME.get(name)
  if (!scheme) throw new TypeError(`there is no password scheme ${name}`)
  return scheme
}

export const isUsable = (password: StoredPassword): password is UsablePassword => password.scheme !== 'unusable'

/** Empty: the scheme has none, or there is no password. */
export const saltOf = ({ password }: { readonly password: StoredPassword }): string =>
  isUsable(password) ? password.salt : ''

/** The members of a user document that hold a stored password. `password` itself is not one of them. */
export const PASSWORD_MEMBERS: ReadonlySet<string> = new Set([
  'password_scheme',
  ...SCHEMES.flatMap(({ members }) => members),
])

/** What verifying a password like this computes; `undefined` for a single digest, whose time is not measurable. */
export const findHashWork = (password: StoredPassword): HashWork | undefined =>
  isUsable(password) ? requireScheme(password.scheme).findWork(password) : undefined

const UNITS: readonly WorkUnits[] = [...new Set(SCHEMES.flatMap(({ units }) => units ?? []))]

const findUnits = (unit: string): WorkUnits | undefined => UNITS.find((units) => units.includes(unit))

export const findSample = (unit: string): Sample | undefined => findUnits(unit)?.findSample(unit)

/** A unit that no scheme has costs nothing: a later version may have stored it. */
export function measureStepMs(unit: string): number {
  const sample = findSample(unit)
  return sample ? measureSampleStep(sample) : 0
}

/** Resolves with the hashes that it computed, for tests only. */
export const spendWork = async (work: HashWork, derive: Derive): Promise<unknown> =>
  work.amount > 0 ? findUnits(work.unit)?.spend(work, derive) : undefined

/** For an administrator; `null`: there is no password. */
export function describePassword(password: StoredPassword): string | null {
  if (isUsable(password)) return requireScheme(password.scheme).describe(password)
  return password.reason === 'absent' ? null : `unusable (${password.reason})`
}

// Reads and writes the members of documents that hold a stored password. Anything else becomes an `unusable`
// password, which never verifies. Nothing here throws on data from outside or sees a password in clear.

/** Reads the password of a user document. Members that are not about a password are ignored. */
export function readDocumentPassword(document: PasswordMembers): StoredPassword {
  const members = Object.fromEntries(Object.entries(document).filter(([name]) => PASSWORD_MEMBERS.has(name)))
  if (Object.keys(members).length === 0) return unusable('absent', members)
  const { password_scheme: name = 'simple' } = members
  const outcome = BY_NAME.get(name)?.read(members) ?? 'scheme'
  if (typeof outcome === 'string') return unusable(outcome, members)
  // the rows of the table read nothing else
  const password = outcome as UsablePassword
  return isDeepStrictEqual(writeMembers(password), members) ? password : { ...password, members }
}

/** The members a user document shows: as they were sent, else as Cardea writes them, in that order. */
export const toDocumentMembers = (password: StoredPassword): PasswordMembers =>
  password.members ?? (isUsable(password) ? writeMembers(password) : {})

/** All members as Cardea writes them, for databases whose versions differ in their defaults. `undefined`: not usable. */
export const toFullMembers = (password: StoredPassword): PasswordMembers | undefined =>
  isUsable(password) ? writeMembers(password) : undefined

const writeMembers = (password: UsablePassword): PasswordMembers => requireScheme(password.scheme).write(password)

/** Reads `authData.simple` of a multi-model user record. */
export function readSimpleAuthData(simple: unknown): StoredPassword {
  if (!isJsonObject(simple)) return unusable('absent', {})
  const outcome = readSalted(simple['method'], simple['salt'], simple['hash'])
  return typeof outcome === 'string' ? unusable(outcome, {}) : outcome
}

/** `authData.simple` for this password; `undefined` if ArangoDB cannot verify it. */
export const toSimpleAuthData = (password: StoredPassword): PasswordMembers | undefined =>
  isUsable(password) ? requireScheme(password.scheme).toSimpleAuthData?.(password) : undefined

const unusable = (reason: PasswordFlaw, members: PasswordMembers): UnusablePassword => ({
  scheme: 'unusable',
  reason,
  members,
})

/** A user without a password. */
export const NO_PASSWORD: UnusablePassword = Object.freeze(unusable('absent', Object.freeze({})))

export type AdminPasswordReading =
  | { readonly kind: 'stored'; readonly password: HashedPassword }
  | { readonly kind: 'plain' }
  /** The reason never quotes the text: part of it may be a password. */
  | { readonly kind: 'malformed'; readonly reason: string }

/** Distinguishes the stored forms of `[admins]` from plain text. */
export function readAdminPassword(text: string): AdminPasswordReading {
  for (const { adminText } of SCHEMES) {
    const outcome = adminText?.read(text)
    if (outcome === undefined) continue
    if (typeof outcome === 'string') return { kind: 'malformed', reason: outcome }
    // the schemes with an `adminText` are those new passwords are hashed to
    return { kind: 'stored', password: outcome as HashedPassword }
  }
  return { kind: 'plain' }
}

/** The text for `[admins]`. Throws a TypeError for a salt that this text cannot contain. */
export function renderAdminPassword(password: HashedPassword, form: AdminTextForm = 'plain-prefix'): string {
  const { adminText } = requireScheme(password.scheme)
  if (!adminText) throw new TypeError(`the passwords of administrators cannot be stored as ${password.scheme}`)
  if (!isAdminSalt(password.salt)) throw new TypeError(BAD_ADMIN_SALT)
  return adminText.render(password, form)
}
