// Checks of what a program gives to the middleware: a mistake is reported when the program starts, if it can be seen then.
import type { AuthenticatedUser, AuthenticateOptions } from './index.ts'
import { requireAwaited } from './library/arguments.ts'

export interface RequireUserOptions {
  /** `false`: a 401 has no `WWW-Authenticate` header, so that browsers do not ask for a password. `true` by default. */
  readonly challenge?: boolean
}

export function requireCardea(cardea: unknown, message: string): void {
  requireAwaited(cardea, 'the Cardea')
  if (!isObject(cardea) || typeof cardea['authenticate'] !== 'function') throw new TypeError(message)
}

const DOORS: readonly unknown[] = ['document', 'multi-model', undefined] satisfies AuthenticateOptions['door'][]

export function checkAuthenticateOptions(options: unknown): void {
  if (options === undefined) return
  const known = ['door', 'service', 'origins', 'response'] satisfies (keyof AuthenticateOptions)[]
  if (!isObject(options)) throw new TypeError(`the options must be an object: { ${known.join(', ')} }`)
  const unknown = Object.keys(options).find((member) => !known.some((name) => name === member))
  if (unknown !== undefined) throw new TypeError(`the options have no member ${unknown}: { ${known.join(', ')} }`)
  if (!DOORS.includes(options['door'])) throw new TypeError("door must be 'document' or 'multi-model'")
  checkOrigins(options['origins'])
}

/** An entry that no browser sends would never match; `null` is the origin of every sandboxed frame. */
function checkOrigins(origins: unknown = []): void {
  if (!Array.isArray(origins)) throw new TypeError("origins must be a list: ['https://shop.example.com']")
  const wrong = origins.find((origin) => typeof origin !== 'string' || URL.parse(origin)?.origin !== origin)
  if (wrong !== undefined) throw new TypeError(`no browser sends the origin ${wrong}: write https://shop.example.com`)
}

/** A framework that is given `requireUser` instead of `requireUser()` calls it with a request. */
export function checkRequireUserOptions(options: RequireUserOptions): void {
  const isValid = isObject(options) && Object.keys(options).every((member) => member === 'challenge')
  if (!isValid || !['boolean', 'undefined'].includes(typeof options.challenge))
    throw new TypeError('requireUser must be called: requireUser() or requireUser({ challenge: false })')
}

const isObject = (value: unknown): value is Record<string, unknown> => typeof value === 'object' && value !== null

/**
 * Creates a check whether a user has one of these roles, or is an administrator. Throws a `TypeError` for a value that can
 * never be a role: it would reject every user without an error.
 */
export function createRoleCheck(roles: readonly string[]): (user: AuthenticatedUser) => boolean {
  const isGood = roles.length > 0 && roles.every((role) => typeof role === 'string' && role !== '')
  if (!isGood)
    throw new TypeError("requireRole takes names of roles, of which a user needs one: requireRole('reader', 'writer')")
  return (user) => user.isAdmin || roles.some((role) => user.roles.includes(role))
}
