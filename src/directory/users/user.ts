/**
 * A user of the directory, and the rules that need no store. All functions are pure. A revision or the generation of a
 * session epoch never decreases.
 */
import { createHash } from 'node:crypto'
import { isDeepStrictEqual } from 'node:util'
import { isUsable, type StoredPassword } from '../../passwords/schemes.ts'

export type Json = null | boolean | number | string | readonly Json[] | { readonly [name: string]: Json }

/** The member of a user document that has the second factor. */
export const TOTP_MEMBER = 'totp'

export type JsonObject = { readonly [name: string]: Json }

export interface User {
  readonly kind: 'user'
  readonly name: string
  readonly isActive: boolean
  /** From then on the user is treated as inactive, in seconds since the epoch. Omitted: never. */
  readonly expiresAt?: number
  /** Until it has another password, the user can do nothing but change the password. */
  readonly mustChangePassword?: true
  readonly password: StoredPassword
  readonly sessionEpoch: SessionEpoch
  readonly document: DocumentPayload
  readonly multiModel: MultiModelPayload
}

/** Kept for a deleted user, so that a new user of the name does not reuse a revision or revive an ended session. */
export interface Tombstone {
  readonly kind: 'tombstone'
  readonly name: string
  readonly revision: string
  readonly ancestors?: Ancestors
  readonly sessionEpoch: SessionEpoch
}

export type UserRecord = User | Tombstone

/** Sessions and issued tokens of an earlier generation are revoked; tokens of other issuers need an `iat` after `seconds`. */
export interface SessionEpoch {
  readonly generation: number
  readonly seconds: number
  /** Not revoked with the others, because it has proved the second factor that was enabled. */
  readonly kept?: KeptSession
}

export interface KeptSession {
  readonly id: string
  /** The earlier generation in which it was opened. */
  readonly generation: number
}

/** The generation that a session with this id must have been opened in. */
export const generationOf = ({ generation, kept }: Pick<SessionEpoch, 'generation' | 'kept'>, id: string): number =>
  kept?.id === id ? kept.generation : generation

/**
 * Digests of the previous revisions, the latest first, without a gap. A replica needs them to see that a revision
 * follows the one it has; without them the old revision would become a conflict of the new one or of the deletion.
 */
export type Ancestors = readonly string[]

export interface DocumentPayload {
  readonly revision: string
  readonly ancestors?: Ancestors
  readonly roles: readonly string[]
  /** All other members in their order. Pairs, because an object would reorder names that look like numbers. */
  readonly members: readonly (readonly [name: string, value: Json])[]
}

export interface MultiModelPayload {
  /** By database; `*` is the default for all. */
  readonly grants: ReadonlyMap<string, Grant>
  readonly extra: JsonObject
  readonly config: JsonObject
  readonly tokens: readonly AccessToken[]
}

export type GrantLevel = 'rw' | 'ro' | 'none'

export interface Grant {
  /** `undefined`: only collections were granted. */
  readonly level: GrantLevel | undefined
  readonly collections: ReadonlyMap<string, GrantLevel>
}

/** A long-lived additional password. Its text is shown once; only its digest is stored. */
export interface AccessToken {
  readonly id: number
  readonly name: string
  readonly createdAt: number
  readonly validUntil: number
  readonly fingerprint: string
  readonly digest: string
  /** The databases and services it is valid for. Without either list: for everything its user may do. */
  readonly databases?: readonly string[]
  readonly services?: readonly string[]
  /** Of the session epoch when it was created: it is revoked with the sessions. Omitted: that of the record it is added to. */
  readonly generation?: number
}

export type NameFlaw =
  | 'empty'
  | 'too_long'
  | 'not_text'
  | 'control_character'
  | 'white_space_at_end'
  | 'colon'
  | 'leading_underscore'

export type RoleFlaw = Exclude<NameFlaw, 'colon' | 'leading_underscore'> | 'comma'

const MAX_BYTES = 256
const CONTROL = /\p{Cc}/u

/** Why the text cannot be the name of a user or administrator; `undefined` if it can. */
export function checkName(name: string): NameFlaw | undefined {
  if (name.startsWith('_')) return 'leading_underscore'
  return name.includes(':') ? 'colon' : checkWord(name)
}

/** Why the text cannot be a role; `undefined` if it can. */
export function checkRole(role: string): RoleFlaw | undefined {
  return role.includes(',') ? 'comma' : checkWord(role)
}

type WordFlaw = Exclude<RoleFlaw, 'comma'>

/** The rules that names, roles, databases and collections share. */
export function checkWord(word: string): WordFlaw | undefined {
  if (word === '') return 'empty'
  // the cheap check first: a UTF-16 unit is at least one byte
  if (word.length > MAX_BYTES || Buffer.byteLength(word) > MAX_BYTES) return 'too_long'
  // half a surrogate pair has no UTF-8: two such names would be the same in the store
  if (!word.isWellFormed()) return 'not_text'
  if (CONTROL.test(word)) return 'control_character'
  return word.trim() === word ? undefined : 'white_space_at_end'
}

export const NO_SESSIONS_ENDED: SessionEpoch = Object.freeze({ generation: 0, seconds: 0 })

/** Revokes all current sessions and tokens, except the kept one. */
export const endSessions = (before: SessionEpoch, nowSeconds: number, kept?: KeptSession): SessionEpoch => ({
  generation: before.generation + 1,
  seconds: Math.max(before.seconds, nowSeconds),
  ...(kept && { kept }),
})

/** Revokes what either of the two revokes: a session that one of them keeps is revoked by the other. */
export const laterOf = (a: SessionEpoch, b: SessionEpoch): SessionEpoch => ({
  generation: Math.max(a.generation, b.generation),
  seconds: Math.max(a.seconds, b.seconds),
})

interface Revision {
  readonly number: number
  readonly digest: string
}

const REVISION = /^([1-9]\d{0,14})-([0-9a-f]{32})$/

/** Reads `N-<32 hexadecimal digits>`. */
export function readRevision(text: string): Revision | undefined {
  const [, number, digest] = REVISION.exec(text) ?? []
  return number && digest ? { number: Number(number), digest } : undefined
}

/** The next revision: the number plus one, and a digest of the old revision and the content. */
export function nextRevision(old: string | undefined, content: Json): string {
  const before = old === undefined ? 0 : readRevision(old)?.number
  if (before === undefined) throw new TypeError('The old revision is not a revision')
  const digest = createHash('sha256')
    .update(JSON.stringify([old ?? null, content]))
    .digest('hex')
  return `${before + 1}-${digest.slice(0, 32)}`
}

/** The second factor in the document; `undefined`: the user has none. */
export const findTotp = ({ document }: Pick<User, 'document'>): Json | undefined =>
  document.members.find(([member]) => member === TOTP_MEMBER)?.[1]

/** The user with this second factor; `undefined`: without one. */
export function withTotp(user: User, totp: Json | undefined): User {
  const others = user.document.members.filter(([member]) => member !== TOTP_MEMBER)
  const members = totp === undefined ? others : [...others, [TOTP_MEMBER, totp] as const]
  return { ...user, document: { ...user.document, members } }
}

/** Whether two states of a user have the same second factor, or both none. */
export const isSameTotp = (a: Pick<User, 'document'>, b: Pick<User, 'document'>): boolean =>
  isDeepStrictEqual(findTotp(a), findTotp(b))

export const isExpired = ({ expiresAt }: { readonly expiresAt?: number | undefined }, nowSeconds: number): boolean =>
  expiresAt !== undefined && nowSeconds >= expiresAt

/** Whether the user can use the password only for a time, or only to change it. */
export const hasLimits = ({ expiresAt, mustChangePassword }: User): boolean =>
  expiresAt !== undefined || mustChangePassword === true

/** The user who must change the password, or need not. */
export function withPasswordChange(user: User, isRequired: boolean): User {
  const { mustChangePassword: _before, ...rest } = user
  return isRequired ? { ...rest, mustChangePassword: true } : rest
}

/** `undefined`: the user never expires. */
export function withExpiry(user: User, expiresAt: number | undefined): User {
  const { expiresAt: _before, ...rest } = user
  return expiresAt === undefined ? rest : { ...rest, expiresAt }
}

/** An empty user, possibly in place of a deleted one. */
export function createUser(name: string, password: StoredPassword, before?: Tombstone): User {
  return reviseUser(before, {
    kind: 'user',
    name,
    isActive: true,
    password,
    sessionEpoch: before?.sessionEpoch ?? NO_SESSIONS_ENDED,
    document: { revision: '', roles: [], members: [] },
    multiModel: { grants: new Map(), extra: {}, config: {}, tokens: [] },
  })
}

/** `after` with its revision: a new one only if the document differs from that of `before`. */
export function reviseUser(before: UserRecord | undefined, after: User): User {
  const isSame = before?.kind === 'user' && renderVisible(before) === renderVisible(after)
  const revision = isSame ? before.document.revision : nextRevision(revisionOf(before), toDigested(after))
  const ancestors = isSame ? ancestorsOf(before) : withAncestor(before)
  const { ancestors: _foreign, ...document } = after.document
  return { ...after, document: { ...document, revision, ...(ancestors.length > 0 ? { ancestors } : {}) } }
}

/** CouchDB returns this many in `_revisions` by default. */
const MAX_ANCESTORS = 50

export const ancestorsOf = (record: UserRecord | undefined): Ancestors =>
  (record?.kind === 'user' ? record.document.ancestors : record?.ancestors) ?? []

function withAncestor(before: UserRecord | undefined): Ancestors {
  const parent = readRevision(revisionOf(before) ?? '')
  return parent ? [parent.digest, ...ancestorsOf(before)].slice(0, MAX_ANCESTORS) : []
}

/** The record of a deleted user. Its sessions are revoked, and it has a new revision. */
export function toTombstone(user: User, nowSeconds: number): Tombstone {
  return {
    kind: 'tombstone',
    name: user.name,
    revision: nextRevision(user.document.revision, ['deleted', user.name]),
    ancestors: withAncestor(user),
    sessionEpoch: endSessions(user.sessionEpoch, nowSeconds),
  }
}

export const revisionOf = (record: UserRecord | undefined): string | undefined =>
  record?.kind === 'user' ? record.document.revision : record?.revision

/** Everything the document shows, including the password hash. */
const renderVisible = (user: User): string => JSON.stringify([toDigested(user), user.password])

/**
 * Includes the salt, because a replica keeps the old password unless a new password changes the revision. Excludes the
 * hash: revisions are visible to others, who could test guesses against a digest that covers it.
 */
const toDigested = ({ name, document, password }: User): Json => [
  name,
  document.roles,
  document.members,
  isUsable(password) ? password.salt : null,
]
