// A draft of a user as JSON, for Cardea's own format and for the admin API. What is read is untrusted: every member is checked.
import { readBase64Url } from '../base/encoding.ts'
import { badRequest } from '../base/errors.ts'
import type { SessionEpoch } from '../directory/session-epoch.ts'
import { readAddress, type VerifiedAddress } from '../directory/users/address.ts'
import { requireGrants, requireName, requireRoles } from '../directory/users/check-user.ts'
import { DOCUMENT_MEMBERS, FIELD_ROWS, type Field, type FieldName, GRANT_LEVELS } from '../directory/users/fields.ts'
import {
  type AccessToken,
  draftedOf,
  type ExternalAccount,
  type Grant,
  type GrantLevel,
  isPasskeyLabel,
  type Json,
  type JsonObject,
  type NewPassword,
  PASSKEY_FORM,
  type Passkey,
  toPasskeyKey,
  type User,
  type UserDraft,
  withDrafted,
} from '../directory/users/user.ts'
import { PASSWORD_MEMBERS, readDocumentPassword, toDocumentMembers } from '../passwords/schemes.ts'
import {
  isRevision,
  requireCount,
  requireFlag,
  requireList,
  requireObject,
  requireText,
  requireTexts,
} from './require.ts'

/** How the values of one type are written. An error names the member. */
interface Form<T> {
  read(value: Json, member: string): T
  /** `undefined`: empty, so that it is left out. */
  write?(value: T): Json | undefined
}

const form = <T>(read: Form<T>['read'], write?: Form<T>['write']): Form<unknown> =>
  // each type of field has values of one type
  ({ read, ...(write && { write: (value: unknown) => write(value as T) }) })

const FORMS: Readonly<Record<Field['type'], Form<unknown>>> = {
  address: form(readVerifiedAddress),
  name: form(readName),
  id: form(readId),
  flag: form(requireFlag),
  time: form(requireCount),
  password: form(readPassword, toPasswordJson),
  revision: form(readRevisionText),
  epoch: form(readSessionEpoch, toEpochJson),
  roles: form(readRoles),
  members: form(readDocumentMembers),
  grants: form(readGrants, toGrantsJson),
  data: form(requireObject),
  tokens: form((value) => requireList(value, 'tokens').map(readToken)),
  links: form((value) => requireList(value, 'links').map(readLink)),
  passkeys: form(readPasskeys),
}

const BY_MEMBER: ReadonlyMap<string, readonly [FieldName, Field]> = new Map(
  FIELD_ROWS.map(([name, row]) => [row.exported ?? name, [name, row]]),
)

/** Throws a `Refusal` that says what is wrong. An unknown member is an error. */
export function readDraft(value: unknown): UserDraft {
  const given = requireObject(value, 'user')
  let draft: UserDraft = { name: readName(given['name'] ?? null) }
  for (const [member, each] of Object.entries(given)) {
    const [name, row] = BY_MEMBER.get(member) ?? []
    if (!name || !row) throw badRequest('A user has an unknown member.')
    draft = withDrafted(draft, name, FORMS[row.type].read(each, member))
  }
  return draft
}

/** Everything a user has, so that an import restores it without loss. */
export function toDraft({ kind: _kind, document, password, ...record }: User): UserDraft {
  const { ancestors: _ancestors, ...fields } = document
  return { ...record, ...fields, password: { stored: password } }
}

/** Leaves out empty members. */
export function toDraftJson(draft: UserDraft): JsonObject {
  const json: Record<string, Json> = {}
  for (const [name, field] of FIELD_ROWS) {
    const value = draftedOf(draft, name)
    const written = value === undefined ? undefined : toJson(value, field)
    if (written !== undefined) json[field.exported ?? name] = written
  }
  return json
}

/** A value of a type without a form of its own is JSON. */
function toJson(value: unknown, { type, isOptional, empty = isOptional && false }: Field): Json | undefined {
  const { write } = FORMS[type]
  const json = write ? write(value) : (value as Json)
  return json === empty || isEmpty(json) ? undefined : json
}

const isEmpty = (value: Json | undefined): boolean =>
  typeof value === 'object' && value !== null && Object.keys(value).length === 0

/** Sessions are not exported, so none is kept. */
function toEpochJson({ generation, seconds }: SessionEpoch): Json {
  return generation + seconds > 0 ? { generation, seconds } : {}
}

/** A stored password of any scheme becomes the members of a user document, which read back to the same password. */
function toPasswordJson(password: NewPassword): Json {
  if (!('stored' in password))
    return { clear: password.password, ...(password.salt === undefined ? {} : { salt: password.salt }) }
  // members of documents came from JSON, or are texts and numbers
  return toDocumentMembers(password.stored) as JsonObject
}

function toGrantsJson(grants: ReadonlyMap<string, Grant>): Json {
  return Object.fromEntries(
    [...grants].map(([database, { level, collections }]) => [
      database,
      { level: level ?? null, collections: Object.fromEntries(collections) },
    ]),
  )
}

function readName(value: Json): string {
  const name = requireText(value, 'name')
  requireName(name)
  return name
}

const ID = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/

function readId(value: Json): string {
  const id = requireText(value, 'id')
  if (!ID.test(id)) throw badRequest('id must be a UUID in lower case.')
  return id
}

function readRoles(value: Json): readonly string[] {
  const roles = requireTexts(value, 'roles')
  requireRoles(roles)
  return roles
}

function readPassword(value: Json): NewPassword {
  const members = requireObject(value, 'password')
  if (!Object.hasOwn(members, 'clear')) return { stored: readDocumentPassword(members) }
  const { salt } = members
  return {
    password: requireText(members['clear'], 'clear'),
    ...(salt === undefined ? {} : { salt: requireText(salt, 'salt') }),
  }
}

function readRevisionText(value: Json): string {
  const text = requireText(value, 'revision')
  if (!isRevision(text)) throw badRequest('revision must be a number, a hyphen and 32 hexadecimal digits.')
  return text
}

/** Higher generations belong to administrators, and later ones must still be countable. */
const MAX_GENERATIONS = 2 ** 40

function readSessionEpoch(value: Json): SessionEpoch {
  const { generation, seconds } = requireObject(value, 'sessionsFrom')
  return {
    generation: requireCount(generation, 'generation', MAX_GENERATIONS),
    seconds: requireCount(seconds, 'seconds'),
  }
}

/** A draft has its own fields for these; here they would appear in the document twice. */
const TAKEN_MEMBERS: ReadonlySet<string> = new Set([...DOCUMENT_MEMBERS, ...PASSWORD_MEMBERS])

export function readDocumentMembers(value: Json): readonly (readonly [string, Json])[] {
  const members = requireList(value, 'members').map(readMember)
  if (new Set(members.map(([name]) => name)).size < members.length) throw badRequest('A member is duplicated.')
  return members
}

function readMember(value: Json): readonly [string, Json] {
  const [name, content] = requireList(value, 'Each of members')
  if (typeof name !== 'string' || content === undefined) throw badRequest('Each of members must be a name and a value.')
  const isClear = name === 'password' && content !== null
  if (name.startsWith('_') || TAKEN_MEMBERS.has(name) || isClear) throw badRequest('A member has a reserved name.')
  return [name, content]
}

function readLevel(value: Json): GrantLevel | undefined {
  const level = GRANT_LEVELS.find((each) => each === value)
  if (level === undefined && value !== null) throw badRequest('A level must be rw, ro, none or null.')
  return level
}

function readGrants(value: Json): ReadonlyMap<string, Grant> {
  const grants = new Map(
    Object.entries(requireObject(value, 'grants')).map(([database, given]): [string, Grant] => {
      const { level = null, collections = {} } = requireObject(given, 'Each of grants')
      return [database, { level: readLevel(level), collections: readCollections(collections) }]
    }),
  )
  requireGrants(grants)
  return grants
}

function readCollections(value: Json): ReadonlyMap<string, GrantLevel> {
  const entries = Object.entries(requireObject(value, 'collections'))
  return new Map(
    entries.flatMap(([collection, given]) => {
      const level = readLevel(given)
      return level === undefined ? [] : [[collection, level] as const]
    }),
  )
}

/** A list that limits a token. It must not be lost: the token would be valid for everything. */
function readNames(
  token: Readonly<Record<string, Json>>,
  key: 'databases' | 'services',
): Pick<AccessToken, 'databases' | 'services'> {
  const names = token[key]
  if (names === undefined) return {}
  return { [key]: requireList(names, `${key} of a token`).map((name) => requireText(name, `${key} of a token`)) }
}

/** A limit, too. */
function readAccess(access: Json | undefined): Pick<AccessToken, 'access'> {
  if (access === undefined) return {}
  if (access !== 'ro') throw badRequest('access of a token must be "ro"')
  return { access }
}

function readLink(value: Json): ExternalAccount {
  const link = requireObject(value, 'Each of links')
  return {
    issuer: requireText(link['issuer'], 'issuer of a link'),
    subject: requireText(link['subject'], 'subject of a link'),
    provider: requireText(link['provider'], 'provider of a link'),
    linkedAt: requireCount(link['linkedAt'], 'linkedAt of a link'),
  }
}

const PROOFS: readonly NonNullable<VerifiedAddress['provenBy']>[] = ['link', 'undo', 'provider']

function readVerifiedAddress(value: Json): VerifiedAddress {
  const { text, verifiedAt, provenBy } = requireObject(value, 'address')
  const address = readAddress(requireText(text, 'text of address'))
  if (address === undefined) throw badRequest('address must be an e-mail address.')
  const proof = PROOFS.find((each) => each === provenBy)
  if (provenBy !== undefined && !proof) throw badRequest(`provenBy of address must be ${PROOFS.join(', ')}.`)
  return {
    text: address,
    verifiedAt: requireCount(verifiedAt, 'verifiedAt of address'),
    ...(proof && { provenBy: proof }),
  }
}

/** A user without any has no list: others would take it for a second factor. */
function readPasskeys(value: Json): readonly Passkey[] | undefined {
  const passkeys = requireList(value, 'passkeys').map(readPasskey)
  const { maxPerUser } = PASSKEY_FORM
  if (passkeys.length > maxPerUser) throw badRequest(`A user has at most ${maxPerUser} passkeys.`)
  if (new Set(passkeys.map(toPasskeyKey)).size < passkeys.length) throw badRequest('A passkey is listed twice.')
  return passkeys.length === 0 ? undefined : passkeys
}

function readPasskey(value: Json): Passkey {
  const passkey = requireObject(value, 'Each of passkeys')
  const readValid = (member: string, isValid: (text: string) => boolean, given = passkey[member]) => {
    const text = requireText(given, `${member} of a passkey`)
    if (!isValid(text)) throw badRequest(`${member} of a passkey is not valid.`)
    return text
  }
  return {
    id: readValid('id', isBytes(PASSKEY_FORM.maxIdBytes)),
    publicKey: readValid('publicKey', isBytes(PASSKEY_FORM.maxKeyBytes)),
    label: readValid('label', isPasskeyLabel),
    createdAt: requireCount(passkey['createdAt'], 'createdAt of a passkey'),
    rpId: readValid('rpId', (host) => host !== ''),
    transports: requireList(passkey['transports'], 'transports of a passkey').map((each) =>
      readValid('transports', isTransport, each),
    ),
    isSynced: requireFlag(passkey['isSynced'], 'isSynced of a passkey'),
  }
}

const isTransport = (text: string): boolean => PASSKEY_FORM.transports.some((each) => each === text)

const isBytes = (max: number) => (text: string) => text !== '' && (readBase64Url(text)?.length ?? max + 1) <= max

function readToken(value: Json): AccessToken {
  const token = requireObject(value, 'Each of tokens')
  const { generation } = token
  return {
    id: requireCount(token['id'], 'id of a token'),
    name: requireText(token['name'], 'name of a token'),
    createdAt: requireCount(token['createdAt'], 'createdAt of a token'),
    validUntil: requireCount(token['validUntil'], 'validUntil of a token'),
    fingerprint: requireText(token['fingerprint'], 'fingerprint of a token'),
    digest: requireText(token['digest'], 'digest of a token'),
    ...readNames(token, 'databases'),
    ...readNames(token, 'services'),
    ...readAccess(token['access']),
    ...(generation === undefined
      ? {}
      : { generation: requireCount(generation, 'generation of a token', MAX_GENERATIONS) }),
  }
}
