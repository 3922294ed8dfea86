/**
 * A user of the directory, and the rules that need no store. Checked values enter, new values leave: nothing
 * here changes what it was given, and a revision or a session generation never goes back.
 */
import { createHash } from 'node:crypto'
import { isUsable, type StoredPassword } from '../passwords/schemes.ts'

export type Json = null | boolean | number | string | readonly Json[] | { readonly [name: string]: Json }

export type JsonObject = { readonly [name: string]: Json }

export interface User {
  readonly kind: 'user'
  readonly name: string
  readonly isActive: boolean
  readonly password: StoredPassword
  readonly sessionEpoch: SessionEpoch
  readonly document: DocumentPayload
  readonly multiModel: MultiModelPayload
}

/** What stays of a deleted user, so that neither a revision nor an ended session comes back with a new one. */
export interface Tombstone {
  readonly kind: 'tombstone'
  readonly name: string
  readonly revision: string
  readonly ancestors?: Ancestors
  readonly sessionEpoch: SessionEpoch
}

export type UserRecord = User | Tombstone

/** Sessions and issued tokens of an earlier generation have ended; foreign tokens need an `iat` after `seconds`. */
export interface SessionEpoch {
  readonly generation: number
  readonly seconds: number
}

/**
 * Digests of the revisions before, the latest first, without a gap. Whoever keeps a copy needs them to see that a
 * revision follows the one it has; without them an old copy would stand beside the new one, or beside a deletion.
 */
export type Ancestors = readonly string[]

export interface DocumentPayload {
  readonly revision: string
  readonly ancestors?: Ancestors
  readonly roles: readonly string[]
  /** Every other member, in the order it was written. Pairs: an object would reorder names that look like numbers. */
  readonly members: readonly (readonly [name: string, value: Json])[]
}

export interface MultiModelPayload {
  /** By name of the database; `*` is the default for all. */
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

/** A long-lived extra password. Its text is shown once and kept as a digest only. */
export interface AccessToken {
  readonly id: number
  readonly name: string
  readonly createdAt: number
  readonly validUntil: number
  readonly fingerprint: string
  readonly digest: string
  /** Of the account when it was made: it ends with its sessions. Left out: to be that of the record it is put into. */
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

/** What keeps this text from being the name of a user or administrator. */
export function checkName(name: string): NameFlaw | undefined {
  if (name.startsWith('_')) return 'leading_underscore'
  return name.includes(':') ? 'colon' : checkWord(name)
}

/** What keeps this text from being a role. */
export function checkRole(role: string): RoleFlaw | undefined {
  return role.includes(',') ? 'comma' : checkWord(role)
}

export type WordFlaw = Exclude<RoleFlaw, 'comma'>

/** What names, roles, databases and collections have in common. */
export function checkWord(word: string): WordFlaw | undefined {
  if (word === '') return 'empty'
  // first the cheap bound: a UTF-16 unit is at least one byte
  if (word.length > MAX_BYTES || Buffer.byteLength(word) > MAX_BYTES) return 'too_long'
  // half of a surrogate pair has no UTF-8: two such names would be one in the store
  if (!word.isWellFormed()) return 'not_text'
  if (CONTROL.test(word)) return 'control_character'
  return word.trim() === word ? undefined : 'white_space_at_end'
}

export const NO_SESSIONS_ENDED: SessionEpoch = Object.freeze({ generation: 0, seconds: 0 })

/** Ends every session and token there is now. */
export const endSessions = (before: SessionEpoch, nowSeconds: number): SessionEpoch => ({
  generation: before.generation + 1,
  seconds: Math.max(before.seconds, nowSeconds),
})

/** What has ended by either. */
export const laterOf = (a: SessionEpoch, b: SessionEpoch): SessionEpoch => ({
  generation: Math.max(a.generation, b.generation),
  seconds: Math.max(a.seconds, b.seconds),
})

export interface Revision {
  readonly number: number
  readonly digest: string
}

const REVISION = /^([1-9]\d{0,14})-([0-9a-f]{32})$/

/** Reads `N-<32 hexadecimal digits>`. */
export function readRevision(text: string): Revision | undefined {
  const [, number, digest] = REVISION.exec(text) ?? []
  return number && digest ? { number: Number(number), digest } : undefined
}

/** The revision that follows: one more, and a digest of the old one and the content. */
export function nextRevision(old: string | undefined, content: Json): string {
  const before = old === undefined ? 0 : readRevision(old)?.number
  if (before === undefined) throw new TypeError('The old revision is not a revision')
  const digest = createHash('sha256')
    .update(JSON.stringify([old ?? null, content]))
    .digest('hex')
  return `${before + 1}-${digest.slice(0, 32)}`
}

/** A user without anything, in the place of nobody or of one deleted before. `reviseUser` gives it its revision. */
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

/** `after` with the revision it gets in the place of `before`: a new one only if the document shows a difference. */
export function reviseUser(before: UserRecord | undefined, after: User): User {
  const isSame = before?.kind === 'user' && renderVisible(before) === renderVisible(after)
  const revision = isSame ? before.document.revision : nextRevision(revisionOf(before), toDigested(after))
  const ancestors = isSame ? ancestorsOf(before) : withAncestor(before)
  const { ancestors: _foreign, ...document } = after.document
  return { ...after, document: { ...document, revision, ...(ancestors.length > 0 ? { ancestors } : {}) } }
}

/** As many as the document database hands on when it is asked for less than all. */
const MAX_ANCESTORS = 50

export const ancestorsOf = (record: UserRecord | undefined): Ancestors =>
  (record?.kind === 'user' ? record.document.ancestors : record?.ancestors) ?? []

function withAncestor(before: UserRecord | undefined): Ancestors {
  const parent = readRevision(revisionOf(before) ?? '')
  return parent ? [parent.digest, ...ancestorsOf(before)].slice(0, MAX_ANCESTORS) : []
}

/** Deletes a user: its sessions end, its revision moves on. */
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

/** All that a reader of the document can see of it, the hash of the password included. */
const renderVisible = (user: User): string => JSON.stringify([toDigested(user), user.password])

/**
 * The salt tells two passwords apart: copies of a user elsewhere would keep the old password if the revision did not.
 * The hash is left out: others may see a revision, and could try guesses against a digest that covers it.
 */
const toDigested = ({ name, document, password }: User): Json => [
  name,
  document.roles,
  document.members,
  isUsable(password) ? password.salt : null,
]
