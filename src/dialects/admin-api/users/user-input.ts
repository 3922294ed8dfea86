// What requests say about users: a new user, grants and expiry.

import { readUtcTime } from '../../../base/clock.ts'
import { badRequest } from '../../../base/errors.ts'
import { withGrant } from '../../../directory/grants.ts'
import { type Field, GIVEN_FIELDS } from '../../../directory/users/fields.ts'
import { type Grant, type UserDraft, withDrafted } from '../../../directory/users/user.ts'
import { flag, listOf, nullable, object, type Schema, text } from '../schemas/schema.ts'
import { type Forms, NEW_GRANT, type NewGrantView, toMembers } from '../schemas/users.ts'

/** The schemas of what requests give for a field, by its type. */
export const GIVEN: Forms = {
  flag,
  grants: () => listOf(NEW_GRANT),
  name: text,
  password: text,
  roles: () => listOf(text()),
  time: () => nullable(text(), 'A day or a time in UTC, as 2030-12-31T18:00:00Z; null: never.'),
}

/** The name is the one member that is always given. */
export const DRAFT = object(toMembers('given', GIVEN)) as Schema<{ readonly name: string }>

/** How what is given becomes the value of a draft; without a row it is the value. */
const READERS: Readonly<Partial<Record<Field['type'], (given: never, member: string) => unknown>>> = {
  grants: (grants: readonly NewGrantView[]) => grants.reduce(addGrant, new Map()),
  password: (password: string) => ({ password }),
  time: (text: string | null, member: string) => (text === null ? undefined : requireTime(text, member)),
}

/** The value of a field for what a request gives. The schema of its type has checked it, which the compiler cannot see. */
export function readGiven(type: Field['type'], member: string, given: unknown): unknown {
  const read = READERS[type]
  return read ? read(given as never, member) : given
}

export function readUserDraft(body: { readonly name: string }): UserDraft {
  let draft: UserDraft = { name: body.name }
  for (const [member, given] of Object.entries(body)) {
    const field = GIVEN_FIELDS.get(member)
    const value = field && readGiven(field.type, member, given)
    if (field && value !== undefined) draft = withDrafted(draft, field.name, value)
  }
  return draft
}

/** A day or a time in UTC, in seconds since the epoch. */
export function requireTime(text: string, member: string): number {
  const seconds = readUtcTime(text)
  if (seconds !== undefined) return seconds
  throw badRequest(`${member} must be a day or a time in UTC, as 2030-12-31T18:00:00Z.`)
}

/** Without a level, the grant is removed. */
export const addGrant = (grants: ReadonlyMap<string, Grant>, { level, ...place }: NewGrantView): typeof grants =>
  withGrant(grants, level ?? undefined, place)
