/** The table of password schemes. A new scheme is one row here, in a file of its own. */
import type { HashWork, WorkUnits } from './hash-work.ts'
import type { Derive } from './password-digest.ts'
import { ARGON2ID } from './schemes/argon2id.ts'
import { BCRYPT } from './schemes/bcrypt.ts'
import { PBKDF2, type Pbkdf2Password, SIMPLE_PBKDF2 } from './schemes/pbkdf2.ts'
import { SALTED } from './schemes/salted.ts'
import type { PasswordFlaw, PasswordMembers, PasswordScheme } from './schemes/scheme.ts'
import { SCRYPT } from './schemes/scrypt.ts'
import { SIMPLE, type SimplePassword } from './schemes/simple.ts'

const ROWS = [SIMPLE, PBKDF2, SIMPLE_PBKDF2, SALTED, BCRYPT, SCRYPT, ARGON2ID] as const

export const SCHEMES: readonly PasswordScheme[] = ROWS

/** A stored password that a plain-text password can be compared with. */
export type UsablePassword = Exclude<ReturnType<(typeof ROWS)[number]['read']>, PasswordFlaw>

/** Never verifies. `members` are those it was read from, so that writing them back loses nothing. */
export interface UnusablePassword {
  readonly scheme: 'unusable'
  readonly reason: PasswordFlaw
  readonly members: PasswordMembers
}

export type StoredPassword = UsablePassword | UnusablePassword

/** The forms new passwords are hashed to, and the only ones an administrator's can have. */
export type HashedPassword = SimplePassword | Pbkdf2Password

const BY_NAME: ReadonlyMap<unknown, PasswordScheme> = new Map(SCHEMES.map((scheme) => [scheme.name, scheme]))

/** `name` may come from a client. */
export const findScheme = (name: unknown): PasswordScheme | undefined => BY_NAME.get(name)

/** Throws a TypeError for a name that is in no row. */
export function requireScheme(name: string): PasswordScheme {
  const scheme = BY_NAME.get(name)
  if (!scheme) throw new TypeError(`there is no password scheme ${name}`)
  return scheme
}

export const isUsable = (password: StoredPassword): password is UsablePassword => password.scheme !== 'unusable'

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

/** A unit that no scheme has costs nothing: a later version may have stored it. */
export const measureStepMs = (unit: string): number => findUnits(unit)?.measureStepMs(unit) ?? 0

export const spendWork = async (work: HashWork, derive: Derive): Promise<void> => {
  if (work.amount > 0) await findUnits(work.unit)?.spend(work, derive)
}

/** For an administrator; `null`: there is no password. */
export function describePassword(password: StoredPassword): string | null {
  if (isUsable(password)) return requireScheme(password.scheme).describe(password)
  return password.reason === 'absent' ? null : `unusable (${password.reason})`
}
