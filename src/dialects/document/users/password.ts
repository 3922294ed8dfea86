import { Refusal } from '../../../base/errors.ts'
import type { NewPassword } from '../../../directory/directory.ts'
import type { User } from '../../../directory/user.ts'
import { readDocumentPassword, toDocumentMembers } from '../../../passwords/password.ts'
import { PASSWORD_MEMBERS, type StoredPassword } from '../../../passwords/schemes.ts'

type Members = ReadonlyMap<string, unknown>

/** What a document says of its password. */
export type SentPassword =
  /** In clear, to be hashed. `salt`: to be kept, instead of a new one. */
  | { readonly kind: 'new'; readonly password: string; readonly salt: string | undefined }
  /** As it is stored, or was stored elsewhere. */
  | { readonly kind: 'stored'; readonly stored: StoredPassword }

/** Reads what is sent of a password. Clear text wins over a stored form, which it replaces. */
export function readSentPassword(members: Members): SentPassword {
  const password = members.get('password') ?? undefined
  if (password === undefined) {
    return { kind: 'stored', stored: readDocumentPassword(Object.fromEntries(members)) }
  }
  if (typeof password !== 'string') throw new Refusal('forbidden', { about: toInvalid(password) })
  const salt = members.get('preserve_salt') === true ? members.get('salt') : undefined
  if (salt === undefined || typeof salt === 'string') return { kind: 'new', password, salt }
  throw new Refusal('forbidden', { about: 'A salt to be preserved must be a string.' })
}

// quirk: reference document 8.7: the value is quoted; not more of it than tells its kind
const toInvalid = (password: unknown): string =>
  `Password value of '${typeof password === 'object' ? (Array.isArray(password) ? '[...]' : '{...}') : String(password)}' is invalid.`

/** Whether nothing of the stored password is to change except by a new one in clear. */
export function keepsPassword(sent: SentPassword, old: User | undefined): boolean {
  if (sent.kind === 'new') return sent.salt === undefined || sent.salt === saltOf(old)
  return isSame(sent.stored, old?.password ?? readDocumentPassword({}))
}

const saltOf = (user: User | undefined): string | undefined =>
  user && 'salt' in user.password ? user.password.salt : undefined

/** As documents show them: the order of members says nothing. */
function isSame(a: StoredPassword, b: StoredPassword): boolean {
  const [left, right] = [a, b].map((password) => Object.entries(toDocumentMembers(password)).sort(byName))
  return JSON.stringify(left) === JSON.stringify(right)
}

const byName = ([a]: readonly [string, unknown], [b]: readonly [string, unknown]): number => (a < b ? -1 : 1)

/** What the directory is to store; `undefined` leaves what is there. */
export function toNewPassword(sent: SentPassword, old: User | undefined): NewPassword | undefined {
  if (sent.kind === 'new') {
    return { password: sent.password, ...(sent.salt === undefined ? {} : { salt: sent.salt }) }
  }
  return keepsPassword(sent, old) ? undefined : { stored: sent.stored }
}

const SENT_MEMBERS: ReadonlySet<string> = new Set(['password', 'preserve_salt'])

/** Whether a member is about the password and not kept with the others. */
export const isPasswordMember = (name: string, sent: SentPassword): boolean =>
  PASSWORD_MEMBERS.has(name) || (sent.kind === 'new' && SENT_MEMBERS.has(name))
