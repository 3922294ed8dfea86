/**
 * Reads and writes the members of documents that hold a stored password. Anything else becomes an `unusable`
 * password, which never verifies. Nothing here throws on data from outside or sees a password in clear.
 */
import { isJsonObject } from '../base/json.ts'
import { readSalted } from './schemes/salted.ts'
import type { PasswordFlaw, PasswordMembers } from './schemes/scheme.ts'
import {
  findScheme,
  isUsable,
  PASSWORD_MEMBERS,
  requireScheme,
  type StoredPassword,
  type UnusablePassword,
  type UsablePassword,
} from './schemes.ts'

/** Reads the password of a user document. Members that are not about a password are ignored. */
export function readDocumentPassword(document: PasswordMembers): StoredPassword {
  const members = pickMembers(document)
  if (Object.keys(members).length === 0) return unusable('absent', members)
  const { password_scheme: name = 'simple' } = members
  const outcome = findScheme(name)?.read(members) ?? 'scheme'
  if (typeof outcome === 'string') return unusable(outcome, members)
  // the rows of the table read nothing else
  const password = outcome as UsablePassword
  return isSame(writeMembers(password), members) ? password : { ...password, members }
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

function pickMembers(document: PasswordMembers): PasswordMembers {
  return Object.fromEntries(Object.entries(document).filter(([name]) => PASSWORD_MEMBERS.has(name)))
}

const isSame = (a: PasswordMembers, b: PasswordMembers): boolean =>
  Object.keys(a).length === Object.keys(b).length && Object.entries(a).every(([name, value]) => b[name] === value)
