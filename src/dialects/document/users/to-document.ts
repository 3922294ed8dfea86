import type { User } from '../../../directory/user.ts'
import { toDocumentMembers } from '../../../passwords/password.ts'
import { PASSWORD_MEMBERS } from '../../../passwords/schemes.ts'
import type { Member } from './member.ts'

/** Members with a place of their own in a user. */
export const CORE_MEMBERS: ReadonlySet<string> = new Set(['name', 'type', 'roles'])

/** Never shown to others, whatever `public_fields` says: with these a password can be guessed at leisure. */
const SECRET_MEMBERS: ReadonlySet<string> = new Set([...PASSWORD_MEMBERS, 'password', 'totp'])

/** All members of a user document but `_id` and `_rev`: the stored password first, as the document database has it. */
export function toMembers({ name, password, document }: User): Member[] {
  const isOther = ([member]: Member) => !CORE_MEMBERS.has(member) && !PASSWORD_MEMBERS.has(member)
  return [
    ...Object.entries(toDocumentMembers(password)),
    ['name', name],
    ['type', 'user'],
    ['roles', document.roles],
    ...document.members.filter(isOther),
  ]
}

/** What others see of a user document. Empty: nothing at all. */
export function toPublicMembers(user: User, publicFields: readonly string[]): Member[] {
  return toMembers(user).filter(([member]) => publicFields.includes(member) && !SECRET_MEMBERS.has(member))
}
