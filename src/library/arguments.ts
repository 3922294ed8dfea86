// Checks of arguments, which often come straight from the body of a request; and times as programs get them.
import { badRequest } from '../base/errors.ts'
import { isJsonObject } from '../base/json.ts'
import { GRANT_LEVELS } from '../directory/users/fields.ts'

/** A forgotten `await`: else it is reported as a wrong type, or as an object without members. */
export function requireAwaited(value: unknown, what: string): void {
  if (value instanceof Promise) throw new TypeError(`${what} is a promise: write await before the call that returns it`)
}

export function assertText(value: unknown, what: string): asserts value is string {
  requireAwaited(value, what)
  if (typeof value !== 'string') throw badRequest(`${what} must be a string.`)
}

export function checkTexts(value: unknown, what: string): void {
  const isList = value === undefined || (Array.isArray(value) && value.every((item) => typeof item === 'string'))
  if (!isList) throw badRequest(`${what} must be a list of strings.`)
}

/** A misspelt member would be ignored in silence. */
export function requireMembers(value: unknown, what: string, known: readonly string[]): void {
  requireAwaited(value, what)
  const wrong = findWrongMember(value, known)
  if (wrong !== undefined) throw badRequest(`${what} ${wrong}: { ${known.join(', ')} }.`)
}

/** Checks options that a program writes itself: a mistake in them is one of the program. */
export function checkOptions(options: unknown, caller: string, known: readonly string[]): void {
  requireAwaited(options, `the option object of ${caller}`)
  const wrong = findWrongMember(options ?? {}, known)
  if (wrong !== undefined) throw new TypeError(`the option object of ${caller} ${wrong}: { ${known.join(', ')} }`)
}

function findWrongMember(value: unknown, known: readonly string[]): string | undefined {
  if (!isJsonObject(value)) return 'must be an object'
  const stranger = Object.keys(value).find((member) => !known.includes(member))
  return stranger === undefined ? undefined : `has no member ${stranger}`
}

const MAX_LIMIT = 1000

export function requireLimit(limit: unknown): void {
  const isValid = typeof limit === 'number' && Number.isInteger(limit) && limit >= 1 && limit <= MAX_LIMIT
  if (!isValid) throw badRequest(`limit must be a whole number from 1 to ${MAX_LIMIT}.`)
}

const LEVELS: ReadonlySet<unknown> = new Set([...GRANT_LEVELS, null])

export function checkGrants(grants: unknown): void {
  if (grants === undefined) return
  if (!isJsonObject(grants)) throw badRequest('grants must be an object: levels by database.')
  const wrong = Object.keys(grants).find((database) => !LEVELS.has(grants[database]))
  if (wrong !== undefined) throw badRequest(`The grant of ${wrong} must be rw, ro, none or null.`)
}

export const toDate = (seconds: number): Date => new Date(seconds * 1000)
