// Writes documents of ArangoDB's collection of users.
import { digestHex } from '../base/encoding.ts'
import { findMember, isJsonObject } from '../base/json.ts'
import {
  findTotp,
  type Grant,
  type GrantLevel,
  hasLimits,
  type Json,
  type JsonObject,
  type User,
} from '../directory/users/user.ts'
import { toSimpleAuthData } from '../passwords/password.ts'
import type { PasswordMembers } from '../passwords/schemes/scheme.ts'
import { isUsable } from '../passwords/schemes.ts'
import { type Loss, renderObject, type Written } from './records.ts'

export function writeMultiModelUser(user: User): Written {
  const { name, isActive, multiModel } = user
  const losses = findLosses(user)
  const simple = losses.some((loss) => NO_PASSWORD.has(loss)) ? undefined : toSimpleAuthData(user.password)
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

const NO_PASSWORD: ReadonlySet<Loss> = new Set(['password', 'second_factor', 'limits'])

/** Derived from the name, so that a second restore finds the same user; a name can contain characters a key cannot. */
const toKey = (name: string): string => digestHex('sha256', name).slice(0, 32)

/** ArangoDB ignores users without a hash. No known password has this one. */
const NO_AUTH_DATA = Object.freeze({ method: 'sha256', salt: '', hash: '0'.repeat(64) })

/** Whether this is the placeholder above, not a password. */
export const isNoAuthData = (simple: unknown): boolean =>
  isJsonObject(simple) && Object.entries(NO_AUTH_DATA).every(([member, value]) => findMember(simple, member) === value)

const toAuthData = ({ method, salt, hash }: PasswordMembers = NO_AUTH_DATA): JsonObject => ({
  hash: String(hash),
  salt: String(salt),
  method: String(method),
})

function findLosses(user: User): readonly Loss[] {
  const { password, document, multiModel } = user
  const losses: Loss[] = []
  const isAbsent = !isUsable(password) && password.reason === 'absent'
  if (!isAbsent && !toSimpleAuthData(password)) losses.push('password')
  else if (findTotp({ document }) !== undefined) losses.push('second_factor')
  if (hasLimits(user)) losses.push('limits')
  if (multiModel.tokens.length > 0) losses.push('access_tokens')
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
