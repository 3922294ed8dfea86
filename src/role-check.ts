import type { AuthenticatedUser } from './index.ts'

/**
 * Whether somebody has one of these roles, or is an administrator. A program without types may give anything: what could
 * never be a role would lock everybody out in silence, so it throws a `TypeError`, as the routes are made.
 */
export function createRoleCheck(roles: readonly string[]): (user: AuthenticatedUser) => boolean {
  const isGood = roles.length > 0 && roles.every((role) => typeof role === 'string' && role !== '')
  if (!isGood)
    throw new TypeError("requireRole takes names of roles, any of which will do: requireRole('reader', 'writer')")
  return (user) => user.isAdmin || roles.some((role) => user.roles.includes(role))
}
