// Reads and writes documents of ArangoDB's collection of users.

import { digestHex } from '../base/encoding.ts'
import { badRequest } from '../base/errors.ts'
import { findMember, isJsonObject } from '../base/json.ts'
import { toFingerprint, toTokenDigest } from '../directory/access-token.ts'
import { requireGrants, requireName } from '../directory/users/check-user.ts'
import { GRANT_LEVELS } from '../directory/users/fields.ts'
import {
  type AccessToken,
  findTotp,
  type Grant,
  type GrantLevel,
  type Json,
  type JsonObject,
  type MultiModelPayload,
  type User,
} from '../directory/users/user.ts'
import type { PasswordMembers } from '../passwords/schemes/scheme.ts'
import { isUsable, readSimpleAuthData, toSimpleAuthData } from '../passwords/schemes.ts'
import { findCommonLosses, type Loss } from './losses.ts'
import { type RecordReader, type RecordReading, renderObject, type Written } from './records.ts'
import { requireCount, requireFlag, requireList, requireObject, requireText, requireUsable } from './require.ts'

/** Reads documents as they are, or in the envelopes of older dumps, `{"type":2300,"data":{…}}`. */
export const MULTI_MODEL_READER: RecordReader = {
  read: (value) => readLine(requireObject(value, 'The record')),
  label: (value) => ({ id: findId(value), heading: 'users' }),
}

const DOCUMENT = 2300
const REMOVAL = 2302

const findId = (value: unknown): string | undefined => {
  if (!isJsonObject(value)) return undefined
  const data = findMember(value, 'data')
  const user = isJsonObject(data) ? findMember(data, 'user') : findMember(value, 'user')
  return typeof user === 'string' ? user : undefined
}

function readLine(line: JsonObject): RecordReading {
  const { type, data } = line
  if (data === undefined || Object.hasOwn(line, 'user')) return readDocument(line)
  if (type === REMOVAL) return { kind: 'passed', reason: 'deleted' }
  if (type !== DOCUMENT) throw badRequest(`type must be ${DOCUMENT}.`)
  return readDocument(requireObject(data, 'data'))
}

function readDocument(document: JsonObject): RecordReading {
  const name = requireText(document['user'], 'user')
  requireName(name)
  const authData = requireObject(document['authData'], 'authData')
  const { grants, notes } = readGrants(document['databases'])
  requireGrants(grants)
  const isLost = isNoAuthData(authData['simple'])
  const stored = isLost ? undefined : requireUsable(readSimpleAuthData(authData['simple']))
  const multiModel: MultiModelPayload = {
    grants,
    extra: readData(document['userData'], 'userData'),
    config: readData(document['configData'], 'configData'),
    tokens: requireList(document['accessTokens'] ?? [], 'accessTokens').map(readAccessToken),
  }
  const isActive = requireFlag(authData['active'], 'authData.active')
  const draft = {
    ...{ name, isActive, multiModel },
    ...(stored ? { password: { stored } } : {}),
    ...(isLost ? { keepsPassword: true } : {}),
  }
  return { kind: 'user', id: name, draft, notes: isLost ? [...notes, LOST] : notes }
}

const LOST = 'The dump does not contain the password: an existing user keeps its own.'

/** `null` and an absent member mean no data. */
const readData = (value: Json | undefined, what: string): JsonObject => requireObject(value ?? {}, what)

function readGrants(databases: Json | undefined) {
  const grants = new Map<string, Grant>()
  const notes: string[] = []
  for (const [database, value] of Object.entries(requireObject(databases ?? {}, 'databases'))) {
    const { grant, hasSystemCollections } = typeof value === 'string' ? readWord(value) : readGrant(value)
    if (hasSystemCollections) notes.push('Grants on system collections are not imported: they have no effect.')
    if (grant.level !== undefined || grant.collections.size > 0) grants.set(database, grant)
  }
  return { grants, notes: [...new Set(notes)] }
}

interface GrantReading {
  readonly grant: Grant
  readonly hasSystemCollections: boolean
}

function readGrant(value: Json): GrantReading {
  const { permissions, collections = {} } = requireObject(value, 'A database of databases')
  const entries = Object.entries(requireObject(collections, 'collections'))
  const levels = entries.flatMap(([collection, given]): [string, GrantLevel][] => {
    const level = readLevel(requireObject(given, 'A collection of collections')['permissions'])
    return level === undefined || collection.startsWith('_') ? [] : [[collection, level]]
  })
  return {
    grant: { level: readLevel(permissions), collections: new Map(levels) },
    hasSystemCollections: entries.some(([collection]) => collection.startsWith('_')),
  }
}

/** The first member that is `true` decides; if none is, there is no access. */
const LEVELS: readonly (readonly [member: string, level: GrantLevel | undefined])[] = [
  ['write', 'rw'],
  ['read', 'ro'],
  ['undefined', undefined],
]

function readLevel(permissions: Json | undefined): GrantLevel | undefined {
  const given = requireObject(permissions ?? {}, 'permissions')
  const answer = LEVELS.find(([member]) => given[member] === true)
  return answer ? answer[1] : 'none'
}

/** Old records have one word instead of permissions; it applies to all collections as well. */
function readWord(word: string): GrantReading {
  const level = GRANT_LEVELS.find((each) => each !== 'none' && each === word.toLowerCase())
  const collections = new Map(level ? [['*', level]] : [])
  return { grant: { level, collections }, hasSystemCollections: false }
}

/** Reads an access token, which ArangoDB stores in clear. Only its digest is imported. */
function readAccessToken(value: Json): AccessToken {
  const entry = requireObject(value, 'An access token')
  const token = requireText(entry['token'], 'token of an access token')
  return {
    id: requireCount(entry['id'], 'id of an access token'),
    name: requireText(entry['name'], 'name of an access token'),
    createdAt: readTime(entry, 'created_at'),
    validUntil: readTime(entry, 'valid_until'),
    fingerprint: toFingerprint(token),
    digest: toTokenDigest(token),
  }
}

/** Seconds, possibly with a fraction; absent means 0, which has expired. */
function readTime(entry: JsonObject, member: string): number {
  const time = entry[member] ?? 0
  return requireCount(typeof time === 'number' ? Math.floor(time) : time, `${member} of an access token`)
}

// Writes documents of ArangoDB's collection of users.

export function writeMultiModelUser(user: User): Written {
  const { name, isActive, multiModel } = user
  const losses = findLosses(user)
  const simple = losses.some((loss) => LOSES_PASSWORD.has(loss)) ? undefined : toSimpleAuthData(user.password)
  const members: readonly (readonly [string, Json])[] = [
    ['_key', toKey(name)],
    ['user', name],
    ['source', 'LOCAL'],
    ['authData', { active: isActive, simple: toAuthData(simple) }],
    ['databases', Object.fromEntries([...multiModel.grants].map(([database, grant]) => [database, toEntry(grant)]))],
    ['userData', multiModel.extra],
    ['configData', multiModel.config],
    ['accessTokens', []],
  ]
  return { text: renderObject(members), losses }
}

const LOSES_PASSWORD: ReadonlySet<Loss> = new Set(['password', 'second_factor', 'limits'])

/** Derived from the name, so that a second restore finds the same user; a name can contain characters a key cannot. */
const toKey = (name: string): string => digestHex('sha256', name).slice(0, 32)

/** ArangoDB ignores users without a hash. No known password has this one. */
const NO_AUTH_DATA = Object.freeze({ method: 'sha256', salt: '', hash: '0'.repeat(64) })

/** Whether this is the placeholder above, not a password. */
const isNoAuthData = (simple: unknown): boolean =>
  isJsonObject(simple) && Object.entries(NO_AUTH_DATA).every(([member, value]) => findMember(simple, member) === value)

const toAuthData = ({ method, salt, hash }: PasswordMembers = NO_AUTH_DATA): JsonObject => ({
  hash: String(hash),
  salt: String(salt),
  method: String(method),
})

function findLosses(user: User): readonly Loss[] {
  const { password, document } = user
  const losses = findCommonLosses(user)
  const isAbsent = !isUsable(password) && password.reason === 'absent'
  if (!isAbsent && !toSimpleAuthData(password)) losses.push('password')
  else if (findTotp({ document }) !== undefined) losses.push('second_factor')
  if (document.roles.length > 0) losses.push('roles')
  if (document.members.length > 0) losses.push('members')
  return losses
}

const toEntry = ({ level, collections }: Grant): JsonObject => ({
  permissions: toPermissions(level),
  collections: Object.fromEntries([...collections].map(([name, each]) => [name, { permissions: toPermissions(each) }])),
})

const PERMISSIONS: Readonly<Record<GrantLevel, JsonObject>> = {
  rw: { read: true, write: true },
  ro: { read: true, write: false },
  none: { read: false, write: false },
}

const toPermissions = (level: GrantLevel | undefined): JsonObject =>
  level === undefined ? { undefined: true } : PERMISSIONS[level]
