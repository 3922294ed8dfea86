// Reads users, grants and roles from the bodies of requests.
import { readUtcTime } from '../../../base/clock.ts'
import { Refusal } from '../../../base/errors.ts'
import { findMember } from '../../../base/json.ts'
import { withGrant } from '../../../directory/grants.ts'
import type { Grant, GrantLevel, User } from '../../../directory/users/user.ts'
import type { UserDraft } from '../../../directory/users/user-directory.ts'
import { FLAG, findArgument, findText, LIST, type Members, readMembers, requireText, TEXT_LIST } from '../json.ts'

export function readDraft(body: unknown): UserDraft {
  const members = readMembers(body, ['name', 'password', 'active', EXPIRES, MUST_CHANGE, 'roles', 'grants'])
  const expiresAt = readExpiry(members)
  const mustChangePassword = findArgument(members, MUST_CHANGE, FLAG)
  const password = findText(members, 'password')
  const isActive = findArgument(members, 'active', FLAG)
  const roles = findArgument(members, 'roles', TEXT_LIST)
  return {
    name: requireText(members, 'name'),
    ...(password !== undefined && { password: { password } }),
    ...(isActive !== undefined && { isActive }),
    ...(expiresAt !== undefined && { expiresAt }),
    ...(mustChangePassword !== undefined && { mustChangePassword }),
    ...(roles && { roles }),
    multiModel: { grants: readGrants(findArgument(members, 'grants', LIST) ?? []) },
  }
}

export const EXPIRES = 'expires'
export const MUST_CHANGE = 'mustChangePassword'

/** A day or a time in UTC, in seconds since the epoch; `null` and a missing member: never. */
export function readExpiry(members: Members): number | undefined {
  const text = findMember(members, EXPIRES) ?? null
  if (text === null) return undefined
  const seconds = typeof text === 'string' ? readUtcTime(text) : undefined
  if (seconds === undefined)
    throw new Refusal('bad_request', { about: 'expires must be a day or a time in UTC, as 2030-12-31T18:00:00Z.' })
  return seconds
}

function readGrants(list: readonly unknown[]): ReadonlyMap<string, Grant> {
  let grants: ReadonlyMap<string, Grant> = new Map()
  for (const item of list) {
    const { level, ...place } = readGrant(item, 'A grant')
    grants = withGrant(grants, level, place)
  }
  return grants
}

interface GrantArguments {
  readonly database: string
  /** `undefined`: the grant is removed. */
  readonly level: GrantLevel | undefined
  readonly collection: string | undefined
}

const LEVELS: ReadonlyMap<unknown, GrantLevel | undefined> = new Map<unknown, GrantLevel | undefined>([
  ['rw', 'rw'],
  ['ro', 'ro'],
  ['none', 'none'],
  [null, undefined],
])

export function readGrant(value: unknown, what: string): GrantArguments {
  const members = readMembers(value, ['database', 'level', 'collection'], what)
  if (!LEVELS.has(members['level'])) throw new Refusal('bad_request', { about: 'level must be rw, ro, none or null.' })
  return {
    database: requireText(members, 'database'),
    level: LEVELS.get(members['level']),
    collection: findText(members, 'collection'),
  }
}

/** `roles` replaces all roles; `add` and `remove` keep the others. */
export function readRoleChange(body: unknown): (user: User) => User {
  const members = readMembers(body, ['roles', 'add', 'remove'])
  const roles = findArgument(members, 'roles', TEXT_LIST)
  const added = findArgument(members, 'add', TEXT_LIST) ?? []
  const removed = findArgument(members, 'remove', TEXT_LIST) ?? []
  return (user) => {
    const kept = (roles ?? user.document.roles).filter((role) => !removed.includes(role))
    return { ...user, document: { ...user.document, roles: [...new Set([...kept, ...added])] } }
  }
}
