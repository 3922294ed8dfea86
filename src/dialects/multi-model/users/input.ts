import { Refusal } from '../../../base/errors.ts'
import { findMember, isJsonObject } from '../../../base/json.ts'
import type { GrantLevel, JsonObject } from '../../../directory/user.ts'
import type { Members } from '../body.ts'

/** A user as a request describes it. What was left out is `undefined`, and so is `null`. */
export interface UserInput {
  readonly passwd: string | undefined
  readonly active: boolean | undefined
  readonly extra: JsonObject | undefined
}

export const readUserInput = (members: Members): UserInput => ({
  passwd: readMember(members, 'passwd', 'a string', isString),
  active: readMember(members, 'active', 'true or false', isBoolean),
  extra: readMember(members, 'extra', 'an object', isObject),
})

// quirk: reference multi-model 7.2: a change applies what it understands and passes over the rest
export function readUserChange(members: Members): UserInput {
  const passwd = findMember(members, 'passwd')
  const active = findMember(members, 'active')
  const extra = findMember(members, 'extra')
  return {
    passwd: isString(passwd) ? passwd : undefined,
    active: isBoolean(active) ? active : undefined,
    extra: isObject(extra) ? extra : undefined,
  }
}

/** What a password is checked against: it has to be there. */
export function readPassword(members: Members): string {
  const passwd = findMember(members, 'passwd')
  if (isString(passwd)) return passwd
  throw new Refusal('bad_request', { about: "'passwd' must be a string" })
}

const LEVELS: ReadonlyMap<unknown, GrantLevel> = new Map([
  ['rw', 'rw'],
  ['ro', 'ro'],
  ['none', 'none'],
  ['', 'none'],
])

export function readGrant(members: Members): GrantLevel {
  const level = LEVELS.get(findMember(members, 'grant'))
  if (level) return level
  throw new Refusal('bad_request', { about: "expecting access type 'rw', 'ro' or 'none'" })
}

function readMember<T>(
  members: Members,
  name: string,
  expected: string,
  isRight: (value: unknown) => value is T,
): T | undefined {
  const value = findMember(members, name) ?? undefined
  if (value === undefined || isRight(value)) return value
  throw new Refusal('bad_request', { about: `'${name}' must be ${expected}` })
}

/** What is kept for a user beside its rights travels through memory with it, and users may set it themselves. */
const MAX_KEPT_BYTES = 65_536

export function requireSmall(kept: JsonObject): JsonObject {
  if (Buffer.byteLength(JSON.stringify(kept)) <= MAX_KEPT_BYTES) return kept
  throw new Refusal('bad_request', { about: `no more than ${MAX_KEPT_BYTES} bytes are kept for a user` })
}

const isString = (value: unknown): value is string => typeof value === 'string'
const isBoolean = (value: unknown): value is boolean => typeof value === 'boolean'
// whatever stands inside came from JSON too
const isObject = (value: unknown): value is JsonObject => isJsonObject(value)
