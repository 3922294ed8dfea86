/** A user of the directory, and its fields. */
import { isDeepStrictEqual } from 'node:util'
import { digestHex } from '../../base/encoding.ts'
import type { StoredPassword } from '../../passwords/schemes.ts'
import type { SessionEpoch } from '../session-epoch.ts'
import { toAddressKey, type VerifiedAddress } from './address.ts'
import { FIELD_ROWS, type Field, type FieldName, type GRANT_LEVELS, USER_FIELDS, type UserFields } from './fields.ts'

export type Json = null | boolean | number | string | readonly Json[] | { readonly [name: string]: Json }

/** The member of a user document that has the second factor. */
export const TOTP_MEMBER = 'totp'

export type JsonObject = { readonly [name: string]: Json }

/** What the types of fields are in a record. */
interface FieldTypes {
  readonly address: VerifiedAddress
  readonly data: JsonObject
  readonly epoch: SessionEpoch
  readonly flag: boolean
  readonly grants: ReadonlyMap<string, Grant>
  readonly id: string
  readonly links: readonly ExternalAccount[]
  readonly members: readonly (readonly [name: string, value: Json])[]
  readonly name: string
  readonly passkeys: readonly Passkey[]
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

/**
 * Digests of the previous revisions, the latest first, without a gap. A replica needs them to see that a revision
 * follows the one it has; without them the old revision would become a conflict of the new one or of the deletion.
 */
export type Ancestors = readonly string[]

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
  /** It is valid only to read databases. Omitted: for what its user may do. */
  readonly access?: 'ro'
  /** Generation of the session epoch when it was created: it is revoked with the sessions. Omitted: that of the record it is added to. */
  readonly generation?: number
}

/** An account at another server, the issuer of its tokens. It signs in as the user. */
export interface ExternalAccount {
  readonly issuer: string
  readonly subject: string
  /** The name of the provider in the configuration when it was linked. */
  readonly provider: string
  /** Seconds since the epoch. */
  readonly linkedAt: number
  /** The mapped roles that it gave at the last sign-in of a browser. The user has them in addition to its own. */
  readonly roles?: readonly string[]
}

/** A public key whose private half is in an authenticator: a security key, a device, or an account that syncs it. */
export interface Passkey {
  /** The id of the credential, in base64url. */
  readonly id: string
  /** In COSE form, in base64url. */
  readonly publicKey: string
  /** What its user calls it. */
  readonly label: string
  /** Seconds since the epoch. */
  readonly createdAt: number
  /** The host it was made for. Browsers use it for no other. */
  readonly rpId: string
  /** How browsers reach the authenticator. */
  readonly transports: readonly string[]
  /** Whether the authenticator copies it to other devices. */
  readonly isSynced: boolean
}

/** What passkeys are like, wherever they come from. A key of RSA with 8192 bits has half of the bytes. */
export const PASSKEY_FORM = {
  maxPerUser: 20,
  maxIdBytes: 1023,
  maxKeyBytes: 2048,
  maxLabel: 64,
  transports: ['ble', 'cable', 'hybrid', 'internal', 'nfc', 'smart-card', 'usb'],
} as const

export const isPasskeyLabel = (text: string): boolean =>
  text.trim() !== '' && text.length <= PASSKEY_FORM.maxLabel && !/\p{Cc}/u.test(text) && text.isWellFormed()

/** One text for host and id, by which the user is found. A digest: ids can be long. */
export const toPasskeyKey = ({ rpId, id }: Pick<Passkey, 'rpId' | 'id'>): string =>
  `${rpId} ${digestHex('sha256', id).slice(0, 32)}`

type PasskeyOwner = { readonly passkeys?: readonly Passkey[] | undefined }

/** Imports and backups may hold an empty list. */
export const hasPasskeys = ({ passkeys = [] }: PasskeyOwner): boolean => passkeys.length > 0

/** Whether a key of `before` is not one of `after`. */
export function losesPasskey({ passkeys = [] }: PasskeyOwner, after: PasskeyOwner): boolean {
  const kept = new Set(after.passkeys?.map(({ publicKey }) => publicKey))
  return passkeys.some(({ publicKey }) => !kept.has(publicKey))
}

/** One text for issuer and subject, by which the user is found. */
export const toExternalKey = ({ issuer, subject }: Pick<ExternalAccount, 'issuer' | 'subject'>): string =>
  digestHex('sha256', JSON.stringify([issuer, subject]))

/** Those of a user. A deleted user has none. */
export const listExternalKeys = (record: UserRecord): readonly string[] =>
  record.kind === 'user' ? (record.links ?? []).map(toExternalKey) : []

/** What one user at most has: external accounts, and a verified address. A deleted user has none. */
export const listClaims = (record: UserRecord): readonly string[] => [
  ...listExternalKeys(record),
  ...listAddressKeys(record),
]

export const listAddressKeys = (record: UserRecord): readonly string[] =>
  record.kind === 'user' && record.address ? [toAddressKey(record.address.text)] : []

/** The issuers that give roles now, each with a function that says whether it can give this one. */
export type RoleIssuers = ReadonlyMap<string, (role: string) => boolean>

/** The roles through one account: those of its last sign-in, as far as its issuer gives them now. */
export function findGivenRoles({ issuer, roles }: ExternalAccount, issuers: RoleIssuers) {
  const canGive = issuers.get(issuer)
  return canGive && roles?.filter(canGive)
}

/** Its own roles, and those of its external accounts, as far as these issuers give roles now. */
export function listRoles(
  { document, links = [] }: Pick<User, 'document' | 'links'>,
  issuers: RoleIssuers,
): readonly string[] {
  const given = links.flatMap((link) => findGivenRoles(link, issuers) ?? [])
  return given.length === 0 ? document.roles : [...new Set([...document.roles, ...given])]
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
