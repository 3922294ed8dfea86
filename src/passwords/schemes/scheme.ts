import type { HashWork, WorkUnits } from '../hash-work.ts'
import type { Derive, Prf } from '../password-digest.ts'

export type PasswordMembers = Readonly<Record<string, unknown>>

/** A stored password that a plain-text password can be compared with. Each scheme adds its parameters. */
export interface StoredHash {
  readonly scheme: string
  readonly salt: string
  /** A text that no computed hash can equal (upper case, another length) is kept, and never verifies. */
  readonly hash: string
  /** The members of the document it was read from, if Cardea would write them differently. */
  readonly members?: PasswordMembers
}

/** Why a stored password is not usable. `absent`: there is none. */
export type PasswordFlaw =
  | 'absent'
  | 'scheme'
  | 'prf'
  | 'method'
  | 'salt'
  | 'hash'
  | 'encoding'
  | 'iterations'
  | 'iterations_too_low'
  | 'iterations_too_high'
  | 'too_expensive'

/** How new passwords are hashed. */
export interface HashParameters {
  readonly scheme: 'simple' | 'pbkdf2'
  readonly prf: Prf
  readonly iterations: number
}

/** The text of an administrator's password in `[admins]`. */
export interface AdminText<P> {
  /** `undefined`: not this form. A string: why it is malformed; it never quotes the text. */
  read(text: string): P | string | undefined
  render(password: P, form: AdminTextForm): string
}

/** Salts that the text of an administrator's password can contain. */
const ADMIN_SALT = /^[!-+\--~]{1,256}$/

export const BAD_ADMIN_SALT = 'the salt must be 1 to 256 printable ASCII characters without blanks and commas'

export const isAdminSalt = (text: string): boolean => ADMIN_SALT.test(text)

/** `prf`: with the name of the PRF, as CouchDB itself writes it. */
export type AdminTextForm = 'plain-prefix' | 'prf'

/** One way of storing passwords: a row of the table in `schemes.ts`. */
export interface PasswordScheme<P extends StoredHash = StoredHash> {
  readonly name: P['scheme']
  /** The members of a user document that hold the password, beside `password_scheme`. */
  readonly members: readonly string[]
  /** Whether CouchDB knows the scheme: the document door accepts it and an export for CouchDB contains it. */
  readonly isDocumentScheme: boolean
  read(members: PasswordMembers): P | PasswordFlaw
  write(password: P): PasswordMembers
  /** Computes the hash of a clear text with the salt and parameters of this password. */
  compute(clear: string, stored: Omit<P, 'hash'>, derive: Derive): Promise<string>
  /** What `compute` costs; `undefined` for a single digest, whose time is not measurable. */
  findWork(password: Omit<P, 'hash'>): HashWork | undefined
  /** The units of work that `findWork` returns. */
  readonly units?: WorkUnits
  /** What a guess costs; 1 is what OWASP recommends. */
  toStrength(password: Omit<P, 'hash'>): number
  /** For administrators, and equal for passwords with the same parameters. */
  describe(password: Omit<P, 'hash'>): string
  /** Whether the scheme can produce this hash at all. Left out: not checked. */
  isWellFormed?(password: P): boolean
  /** PBKDF2 iterations, which `min_iterations` and `max_iterations` limit. */
  toIterations?(password: Omit<P, 'hash'>): number
  /** For ArangoDB, `authData.simple`. Left out: ArangoDB cannot verify the scheme. */
  toSimpleAuthData?(password: P): PasswordMembers
  /** Everything but the hash of a new password. Left out: no new password is stored like this. */
  create?(parameters: HashParameters, salt: string): Omit<P, 'hash'>
  /** Left out: an administrator's password cannot be stored like this. */
  readonly adminText?: AdminText<P>
}
