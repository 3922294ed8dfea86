// Reads a draft of a user from JSON and checks every member: the text is untrusted.
import { requireGrants, requireName, requireRoles } from '../directory/users/check-user.ts'
import type { AccessToken, Grant, GrantLevel, Json, MultiModelPayload, SessionEpoch } from '../directory/users/user.ts'
import type { NewPassword, UserDraft } from '../directory/users/user-directory.ts'
import { readDocumentPassword } from '../passwords/password.ts'
import { PASSWORD_MEMBERS } from '../passwords/schemes.ts'
import {
  isRevision,
  refuse,
  requireCount,
  requireFlag,
  requireList,
  requireObject,
  requireText,
  requireTexts,
} from './require.ts'

type Reader = (value: Json) => Partial<UserDraft>

const payload = (multiModel: Partial<MultiModelPayload>): Partial<UserDraft> => ({ multiModel })

/** Every member of a draft. An unknown member is an error. */
const MEMBERS: ReadonlyMap<string, Reader> = new Map<string, Reader>([
  ['name', (value) => ({ name: readName(value) })],
  ['active', (value) => ({ isActive: requireFlag(value, 'active') })],
  ['expiresAt', (value) => ({ expiresAt: requireCount(value, 'expiresAt') })],
  ['mustChangePassword', (value) => ({ mustChangePassword: requireFlag(value, 'mustChangePassword') })],
  ['password', (value) => ({ password: readPassword(value) })],
  ['keepsPassword', (value) => ({ keepsPassword: requireFlag(value, 'keepsPassword') })],
  ['revision', (value) => ({ revision: readRevisionText(value) })],
  ['sessionsFrom', (value) => ({ sessionEpoch: readSessionEpoch(value) })],
  ['roles', (value) => ({ roles: readRoles(value) })],
  ['members', (value) => ({ members: readMembers(value) })],
  ['grants', (value) => payload({ grants: readGrants(value) })],
  ['extra', (value) => payload({ extra: requireObject(value, 'extra') })],
  ['config', (value) => payload({ config: requireObject(value, 'config') })],
  ['tokens', (value) => payload({ tokens: requireList(value, 'tokens').map(readToken) })],
])

/** Throws a `Refusal` that says what is wrong. */
export function readDraft(value: unknown): UserDraft {
  let draft: UserDraft = { name: readName(requireObject(value, 'user')['name'] ?? null) }
  for (const [member, given] of Object.entries(requireObject(value, 'user'))) {
    const read = MEMBERS.get(member)
    if (!read) throw refuse('A user has an unknown member.')
    const part = read(given)
    draft = { ...draft, ...part, ...(part.multiModel ? payload({ ...draft.multiModel, ...part.multiModel }) : {}) }
  }
  return draft
}

function readName(value: Json): string {
  const name = requireText(value, 'name')
  requireName(name)
  return name
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
  if (!isRevision(text)) throw refuse('revision must be a number, a hyphen and 32 hexadecimal digits.')
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
const TAKEN_MEMBERS: ReadonlySet<string> = new Set(['name', 'type', 'roles', ...PASSWORD_MEMBERS])

function readMembers(value: Json): readonly (readonly [string, Json])[] {
  const members = requireList(value, 'members').map(readMember)
  if (new Set(members.map(([name]) => name)).size < members.length) throw refuse('A member is duplicated.')
  return members
}

function readMember(value: Json): readonly [string, Json] {
  const [name, content] = requireList(value, 'Each of members')
  if (typeof name !== 'string' || content === undefined) throw refuse('Each of members must be a name and a value.')
  const isClear = name === 'password' && content !== null
  if (name.startsWith('_') || TAKEN_MEMBERS.has(name) || isClear) throw refuse('A member has a reserved name.')
  return [name, content]
}

const LEVELS: ReadonlyMap<Json, GrantLevel | undefined> = new Map<Json, GrantLevel | undefined>([
  ['rw', 'rw'],
  ['ro', 'ro'],
  ['none', 'none'],
  [null, undefined],
])

function readLevel(value: Json): GrantLevel | undefined {
  if (!LEVELS.has(value)) throw refuse('A level must be rw, ro, none or null.')
  return LEVELS.get(value)
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
    ...(generation === undefined
      ? {}
      : { generation: requireCount(generation, 'generation of a token', MAX_GENERATIONS) }),
  }
}
