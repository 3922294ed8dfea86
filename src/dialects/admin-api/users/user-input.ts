// What requests say about users: a new user, grants and expiry.
import { readUtcTime } from '../../../base/clock.ts'
import { withGrant } from '../../../directory/grants.ts'
import type { Grant } from '../../../directory/users/user.ts'
import type { UserDraft } from '../../../directory/users/user-directory.ts'
import { badRequest } from '../json.ts'
import { flag, listOf, named, nullable, object, type Static, text } from '../schemas/schema.ts'
import { LEVEL } from '../schemas/users.ts'

export const EXPIRES = nullable(text(), 'A day or a time in UTC, as 2030-12-31T18:00:00Z; null: never.')

export const NEW_GRANT = named(
  'NewGrant',
  object({
    database: text('`*`: all.'),
    level: nullable(LEVEL, 'null removes the grant.'),
    'collection?': text('`*`: all.'),
  }),
)

export const DRAFT = object({
  name: text(),
  'password?': text(),
  'active?': flag(),
  'expires?': EXPIRES,
  'mustChangePassword?': flag(),
  'roles?': listOf(text()),
  'grants?': listOf(NEW_GRANT),
})

export function toDraft({ password, active, expires, grants = [], ...same }: Static<typeof DRAFT>): UserDraft {
  const expiresAt = toExpiry(expires)
  return {
    ...same,
    ...(password !== undefined && { password: { password } }),
    ...(active !== undefined && { isActive: active }),
    ...(expiresAt !== undefined && { expiresAt }),
    multiModel: { grants: grants.reduce(addGrant, new Map()) },
  }
}

/** In seconds since the epoch; `undefined`: never. */
export const toExpiry = (text: string | null | undefined): number | undefined =>
  text === null || text === undefined ? undefined : requireTime(text)

/** A day or a time in UTC, in seconds since the epoch. */
export function requireTime(text: string): number {
  const seconds = readUtcTime(text)
  if (seconds !== undefined) return seconds
  throw badRequest('expires must be a day or a time in UTC, as 2030-12-31T18:00:00Z.')
}

type NewGrant = Static<typeof NEW_GRANT>

function addGrant(grants: ReadonlyMap<string, Grant>, grant: NewGrant): ReadonlyMap<string, Grant> {
  const { level, ...place } = toPlace(grant)
  return withGrant(grants, level, place)
}

/** Without a level, the grant is removed. */
export const toPlace = ({ database, level, collection }: NewGrant) => ({
  database,
  level: level ?? undefined,
  collection,
})
