import { Refusal } from '../../../base/errors.ts'
import type { NewPassword, User } from '../../../directory/users/user.ts'
import { readDocumentPassword, toDocumentMembers } from '../../../passwords/password.ts'
import { PASSWORD_MEMBERS, type StoredPassword } from '../../../passwords/schemes.ts'

type Members = ReadonlyMap<string, unknown>

/** The password in a document that was sent. */
export type SentPassword =
  /** Plain text, to be hashed. `salt`: to be used instead of a new one. */
  | { readonly kind: 'new'; readonly password: string; readonly salt: string | undefined }
  /** A hash: the stored one, or one from another server. */
  | { readonly kind: 'stored'; readonly stored: StoredPassword }

/** A plain-text password replaces a hash in the same document. */
export function readSentPassword(members: Members): SentPassword {
  const password = members.get('password') ?? undefined
  if (password === undefined) return { kind: 'stored', stored: readDocumentPassword(Object.fromEntries(members)) }
  if (typeof password !== 'string') throw new Refusal('forbidden', { reason: toInvalid(password) })
  const salt = members.get('preserve_salt') === true ? members.get('salt') : undefined
  if (salt === undefined || typeof salt === 'string') return { kind: 'new', password, salt }
  throw new Refusal('forbidden', { reason: 'salt must be a string to be preserved.' })
}

// quirk: reference document 8.7: the value is quoted. Lists and objects are abbreviated.
const toInvalid = (password: unknown): string =>
  `Password value of '${typeof password === 'object' ? (Array.isArray(password) ? '[...]' : '{...}') : String(password)}' is invalid.`

/** Whether the members of the stored password are unchanged. A new plain-text password may replace them. */
export function keepsPassword(sent: SentPassword, old: User | undefined): boolean {
  if (sent.kind === 'new') return sent.salt === undefined || sent.salt === saltOf(old)
  return isSame(sent.stored, old?.password ?? readDocumentPassword({}))
}

const saltOf = (user: User | undefined): string | undefined =>
  user && 'salt' in user.password ? user.password.salt : undefined

/** Compares the members of the documents. Their order does not matter. */
function isSame(a: StoredPassword, b: StoredPassword): boolean {
  const [left, right] = [a, b].map((password) => Object.entries(toDocumentMembers(password)).sort(byName))
  return JSON.stringify(left) === JSON.stringify(right)
}

const byName = ([a]: readonly [string, unknown], [b]: readonly [string, unknown]): number => (a < b ? -1 : 1)

/** The password to store; `undefined` keeps the stored one. */
export function toNewPassword(sent: SentPassword, old: User | undefined): NewPassword | undefined {
  if (sent.kind === 'new') return { password: sent.password, ...(sent.salt === undefined ? {} : { salt: sent.salt }) }
  return keepsPassword(sent, old) ? undefined : { stored: sent.stored }
}

const SENT_MEMBERS: ReadonlySet<string> = new Set(['password', 'preserve_salt'])

/** Whether a member belongs to the password and is not stored with the others. */
export const isPasswordMember = (name: string, sent: SentPassword): boolean =>
  PASSWORD_MEMBERS.has(name) || (sent.kind === 'new' && SENT_MEMBERS.has(name))
