/**
 * A user of the directory, and the rules that need no store. All functions are pure. A revision or the generation of a
 * session epoch never decreases.
 */
import { createHash } from 'node:crypto'
import { isDeepStrictEqual } from 'node:util'
import { isUsable, type StoredPassword } from '../../passwords/schemes.ts'
import { FIELD_ROWS, type Field, type FieldName, type GRANT_LEVELS, USER_FIELDS, type UserFields } from './fields.ts'

export type Json = null | boolean | number | string | readonly Json[] | { readonly [name: string]: Json }

/** The member of a user document that has the second factor. */
export const TOTP_MEMBER = 'totp'

export type JsonObject = { readonly [name: string]: Json }

/** What the types of fields are in a record. */
interface FieldTypes {
  readonly data: JsonObject
  readonly epoch: SessionEpoch
  readonly flag: boolean
  readonly grants: ReadonlyMap<string, Grant>
  readonly links: readonly ExternalAccount[]
  readonly members: readonly (readonly [name: string, value: Json])[]
  readonly name: string
  readonly password: StoredPassword
  readonly revision: string
  readonly roles: readonly string[]
  readonly time: number
  readonly tokens: readonly AccessToken[]
}

export type FieldValue<N extends FieldName> = FieldTypes[UserFields[N]['type']]

type NamesIn<Part> = { [N in FieldName]: UserFields[N]['part'] extends Part ? N : never }[FieldName]
type Optional = { [N in FieldName]: UserFields[N] extends { readonly isOptional: true } ? N : never }[FieldName]

/** The fields of one part of a record. */
type FieldsOf<Part> = { readonly [N in Exclude<NamesIn<Part>, Optional>]: FieldValue<N> } & {
  readonly [N in NamesIn<Part> & Optional]?: Exclude<FieldValue<N>, false>
}

export type RecordFields = FieldsOf<'record'>

export interface User extends RecordFields {
  readonly kind: 'user'
  readonly document: DocumentPayload
  readonly multiModel: MultiModelPayload
}

export interface DocumentPayload extends FieldsOf<'document'> {
  readonly ancestors?: Ancestors
}

export type MultiModelPayload = FieldsOf<'multiModel'>

/** In clear, to be checked by the rules and hashed; or in a stored form, which no rule can check. */
export type NewPassword = PlainPassword | { readonly stored: StoredPassword }

export interface PlainPassword {
  readonly password: string
  /** Used instead of a new one. */
  readonly salt?: string
}

type Drafted<Part> = { readonly [N in Exclude<NamesIn<Part>, 'name' | 'password'>]?: FieldValue<N> }

/** A user to be created. Omitted members are empty; without a password the user cannot sign in with one. */
export interface UserDraft extends Drafted<'record' | 'document' | 'draft'> {
  readonly name: string
  readonly password?: NewPassword
  readonly multiModel?: Partial<MultiModelPayload>
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

export type GrantLevel = (typeof GRANT_LEVELS)[number]

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

/** An account at an identity provider. */
export interface ExternalAccount {
  readonly issuer: string
  readonly subject: string
  /** The name of the provider in the configuration when it was linked. */
  readonly provider: string
  /** Seconds since the epoch. */
  readonly linkedAt: number
}

/** One text for issuer and subject, by which the user is found. */
export const toExternalKey = ({ issuer, subject }: Pick<ExternalAccount, 'issuer' | 'subject'>): string =>
  createHash('sha256')
    .update(JSON.stringify([issuer, subject]))
    .digest('hex')

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
export const hasLimits = (user: User): boolean =>
  FIELD_ROWS.some(([name, { isLimit }]) => isLimit && readField(user, name) !== undefined)

/** A part of a record or draft by the names of its fields: the compiler does not know that they are those of the rows. */
type Values = Record<string, unknown>

/** The value of a field, wherever the record has it. */
export function readField(user: User, name: FieldName): unknown {
  const { part } = USER_FIELDS[name]
  const holder: object = part === 'document' || part === 'multiModel' ? user[part] : user
  return (holder as Values)[name]
}

/** The value of a field in a draft, which has all on one level except those of the multi-model door. */
export const draftedOf = (draft: UserDraft, name: FieldName): unknown =>
  ((USER_FIELDS[name].part === 'multiModel' ? (draft.multiModel ?? {}) : draft) as Values)[name]

/** The draft with this value. */
export const withDrafted = (draft: UserDraft, name: FieldName, value: unknown): UserDraft =>
  USER_FIELDS[name].part === 'multiModel'
    ? { ...draft, multiModel: { ...draft.multiModel, [name]: value } }
    : { ...draft, [name]: value }

export const withField = <N extends FieldName>(user: User, name: N, value: FieldValue<N> | undefined): User =>
  withValues(user, [[name, value]])

/** The user with everything from the draft that the directory does not manage by rules. */
export const fillUser = (user: User, draft: UserDraft): User =>
  withValues(
    user,
    FIELD_ROWS.filter(([, { isManaged }]) => !isManaged).map(([name, { empty }]) => [
      name,
      draftedOf(draft, name) ?? empty,
    ]),
  )

function withValues(user: User, values: readonly (readonly [FieldName, unknown])[]): User {
  const document: Values = { ...user.document }
  const multiModel: Values = { ...user.multiModel }
  const record: Values = { ...user, document, multiModel }
  const parts = { record, document, multiModel, draft: record }
  for (const [name, value] of values) {
    const { part, isOptional }: Field = USER_FIELDS[name]
    if (isOptional && (value === undefined || value === false)) delete parts[part][name]
    else parts[part][name] = value
  }
  // has the shape of a user: `values` names only members of the table, and each goes to its part
  return record as unknown as User
}

/** An empty user, possibly in place of a deleted one. */
export function createUser(name: string, password: StoredPassword, before?: Tombstone): User {
  const sessionEpoch = before?.sessionEpoch ?? NO_SESSIONS_ENDED
  const parts = { document: { revision: '' }, multiModel: {} }
  // what is missing is filled with the empty values
  const managed = { kind: 'user', name, isActive: true, password, sessionEpoch, ...parts } as unknown
  return reviseUser(before, fillUser(managed as User, { name }))
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
