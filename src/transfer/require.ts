// Checks that the readers of all formats share. An error names the member, never its value.
import { badRequest } from '../base/errors.ts'
import { isJsonObject } from '../base/json.ts'
import { readRevision } from '../directory/users/revisions.ts'
import type { Json, JsonObject } from '../directory/users/user.ts'
import type { PasswordFlaw } from '../passwords/schemes/scheme.ts'
import { isUsable, type StoredPassword } from '../passwords/schemes.ts'

export function requireObject(value: unknown, what: string): JsonObject {
  if (!isJsonObject(value)) throw badRequest(`${what} must be an object.`)
  // all of it came from JSON, which the type of isJsonObject does not say
  return value as JsonObject
}

export function requireList(value: unknown, what: string): readonly Json[] {
  if (!Array.isArray(value)) throw badRequest(`${what} must be a list.`)
  return value
}

export function requireText(value: unknown, what: string): string {
  if (typeof value !== 'string') throw badRequest(`${what} must be a string.`)
  return value
}

export function requireFlag(value: unknown, what: string): boolean {
  if (typeof value !== 'boolean') throw badRequest(`${what} must be true or false.`)
  return value
}

export function requireCount(value: unknown, what: string, most = Number.MAX_SAFE_INTEGER): number {
  const isCount = typeof value === 'number' && Number.isSafeInteger(value) && value >= 0 && value <= most
  if (!isCount) throw badRequest(`${what} must be a whole number from 0 to ${most}.`)
  return value
}

export const requireTexts = (value: unknown, what: string): readonly string[] =>
  requireList(value, what).map((item) => requireText(item, `Each of ${what}`))

const PASSWORD_FLAWS: Readonly<Record<Exclude<PasswordFlaw, 'absent'>, string>> = {
  scheme: 'The scheme of the password is unknown.',
  prf: 'The pseudo-random function of the password is unknown.',
  method: 'The method of the password is unknown.',
  salt: 'The salt of the password must be a string.',
  hash: 'The hash of the password must be a string.',
  encoding: 'The encoded hash of the password is malformed.',
  too_expensive: 'The cost parameters of the password are above the limits.',
  iterations: 'The iterations of the password must be a whole number.',
  iterations_too_low: 'The iterations of the password must be one or more.',
  iterations_too_high: 'The iterations of the password are too many.',
}

/** The password if it can be verified, `undefined` if there is none. A damaged one rejects the record. */
export function requireUsable(password: StoredPassword): StoredPassword | undefined {
  if (isUsable(password)) return password
  if (password.reason !== 'absent') throw badRequest(PASSWORD_FLAWS[password.reason])
  return undefined
}

/** Leaves room for later changes. */
const MAX_CHANGES = 1e12

/** Whether a revision of another server can be continued here. */
export const isRevision = (text: string): boolean => (readRevision(text)?.number ?? MAX_CHANGES) < MAX_CHANGES
