import type { AuthenticatedUser } from './index.ts'

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
