import { isDeepStrictEqual } from 'node:util'
import type { SecurityEvents } from '../../observe/security-events.ts'
import type { DirectoryDeps } from '../deps.ts'
import { FIELD_ROWS } from './fields.ts'
import { findTotp, type Grant, type GrantLevel, readField, TOTP_MEMBER, type User, type UserRecord } from './user.ts'

type Grants = ReadonlyMap<string, Grant>

/** Records what a write changed, by comparing the user before and after it. `undefined`: there was no such user. */
export function recordUserChange(
  { events, recordFurther }: Pick<DirectoryDeps, 'events' | 'recordFurther'>,
  before: User | undefined,
  after: UserRecord,
): void {
  const subject = after.name
  if (after.kind === 'tombstone') {
    events.record('user.removed', { subject })
    events.record('session.revoked', { subject, reason: 'user removed' })
    return
  }
  const changed = before ? listChanged(before, after) : []
  if (!before) events.record('user.created', { subject })
  else if (changed.length > 0) events.record('user.changed', { subject, changed })
  recordGrants(events, before, after)
  recordAccessTokens(events, before, after)
  recordFurther(events, before, after)
  if (before && after.sessionEpoch.generation > before.sessionEpoch.generation)
    events.record('session.revoked', { subject, reason: describeRevocation(changed) })
}

/** Reads the fields by their names in the event. The second factor is one of the members of the document. */
const REPORTED: ReadonlyMap<string, (user: User) => unknown> = new Map([
  ...FIELD_ROWS.flatMap(([name, { event }]) =>
    event ? [[event, (user: User) => readField(user, name)] as const] : [],
  ),
  ['totp', findTotp],
  ['members', ({ document }: User) => document.members.filter(([name]) => name !== TOTP_MEMBER)],
])

const listChanged = (before: User, after: User): readonly string[] =>
  [...REPORTED].flatMap(([event, read]) => (isDeepStrictEqual(read(before), read(after)) ? [] : [event]))

function describeRevocation(changed: readonly string[]): string {
  if (changed.includes('password')) return 'password changed'
  if (changed.includes('active')) return 'user deactivated'
  if (changed.includes('totp')) return 'second factor set'
  return changed.includes('passkeys') ? 'passkeys changed' : 'signed out by a request'
}

function recordGrants(events: SecurityEvents, before: User | undefined, after: User): void {
  const subject = after.name
  const earlier = toLevels(before?.multiModel.grants ?? new Map())
  const now = toLevels(after.multiModel.grants)
  for (const [place, { database, collection, access }] of now) {
    const old = earlier.get(place)?.access
    if (old === undefined) events.record('grant.created', { subject, database, collection, access })
    else if (old !== access) events.record('grant.changed', { subject, database, collection, access, old })
  }
  for (const [place, { database, collection, access: old }] of earlier)
    if (!now.has(place)) events.record('grant.removed', { subject, database, collection, old })
}

interface LevelEntry {
  readonly database: string
  readonly collection: string | undefined
  readonly access: GrantLevel
}

/** Every level by database and collection. */
function toLevels(grants: Grants): ReadonlyMap<string, LevelEntry> {
  const levels = new Map<string, LevelEntry>()
  const add = (database: string, collection: string | undefined, access: GrantLevel | undefined) =>
    access && levels.set(JSON.stringify([database, collection]), { database, collection, access })
  for (const [database, { level, collections }] of grants) {
    add(database, undefined, level)
    for (const [collection, access] of collections) add(database, collection, access)
  }
  return levels
}

/** Tokens are compared by digest: an id or name may be used again. */
function recordAccessTokens(events: SecurityEvents, before: User | undefined, after: User): void {
  const subject = after.name
  const old = before?.multiModel.tokens ?? []
  const now = after.multiModel.tokens
  for (const { name: token, digest } of now)
    if (!old.some((other) => other.digest === digest)) events.record('access-token.created', { subject, token })
  for (const { name: token, digest } of old)
    if (!now.some((other) => other.digest === digest)) events.record('access-token.removed', { subject, token })
}
