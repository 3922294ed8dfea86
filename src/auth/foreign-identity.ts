import { ADMIN_ROLE, type Identity, NO_GRANTS } from '../directory/identity.ts'
import { checkName, checkRole } from '../directory/user.ts'

export const isName = (text: string): boolean => checkName(text) === undefined
export const isRole = (text: string): boolean => checkRole(text) === undefined

/**
 * Somebody another authority speaks for. What the directory has under that name gives nothing: an administrator is
 * one by the role alone.
 */
export const toForeignIdentity = (name: string, roles: readonly string[]): Identity => ({
  name,
  roles: Object.freeze(roles),
  isAdmin: roles.includes(ADMIN_ROLE),
  grants: NO_GRANTS,
})
