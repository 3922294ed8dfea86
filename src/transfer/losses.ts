// What a dump for another database cannot contain of a user.
import { hasLimits, hasPasskeys, type User } from '../directory/users/user.ts'

/** `deactivated`: the other database has no such state, so the password is left out. */
export type Loss =
  | 'password'
  | 'deactivated'
  | 'limits'
  | 'second_factor'
  | 'access_tokens'
  | 'grants'
  | 'roles'
  | 'members'
  | 'links'
  | 'passkeys'
  | 'address'
  | 'extra'
  | 'config'

/** What no other database stores in this form. */
export function findCommonLosses(user: User): Loss[] {
  const losses: Loss[] = []
  if (hasLimits(user)) losses.push('limits')
  if (user.multiModel.tokens.length > 0) losses.push('access_tokens')
  if (user.links && user.links.length > 0) losses.push('links')
  if (hasPasskeys(user)) losses.push('passkeys')
  if (user.address) losses.push('address')
  return losses
}

/** Losses that change how a user signs in are reported for each user. The others are only counted. */
export const REPORTED_LOSSES: ReadonlyMap<Loss, string> = new Map([
  ['password', 'The password cannot be exported.'],
  ['deactivated', 'The user is deactivated, which the format cannot express: exported without the password.'],
  ['second_factor', 'The second factor cannot be exported: exported without the password.'],
  ['limits', 'The expiry date or the required password change cannot be exported: exported without the password.'],
  ['passkeys', 'The passkeys cannot be exported: they belong to the address of this server.'],
  ['access_tokens', 'The access tokens cannot be exported: only their digests are stored.'],
])
