// What programs see and give of users: the types, and how they become the record of the directory and back.
import { badRequest } from '../base/errors.ts'
import { findMember, isJsonObject } from '../base/json.ts'
import { idOf } from '../directory/account.ts'
import { withGrant } from '../directory/grants.ts'
import { FIELD_ROWS, type Field, type FieldName, type UserFields } from '../directory/users/fields.ts'
import {
  type Grant,
  type GrantLevel,
  type Json,
  readField,
  TOTP_MEMBER,
  type User,
  type UserDraft,
  withDrafted,
  withField,
} from '../directory/users/user.ts'
import { readDocumentMembers } from '../transfer/draft.ts'
import { assertText, checkGrants, checkTexts, requireMembers, toDate } from './arguments.ts'

/** Rights at the multi-model door, by database; `*` is the default for all. */
export type Grants = Readonly<Record<string, GrantLevel>>

/** Those of a user whose type the program has not given. */
export type OtherMembers = Readonly<Record<string, unknown>>

type PlainName = {
  [N in FieldName]: UserFields[N] extends { readonly type: 'flag' | 'time'; readonly given: string } ? N : never
}[FieldName]

/** The fields of users that are a flag or a time, as the table of fields has them. */
type PlainFields = {
  readonly [N in keyof Pick<UserFields, PlainName>]: UserFields[N]['type'] extends 'flag' ? boolean : Date
}

export interface CardeaUser<Members extends object = OtherMembers> extends Partial<PlainFields> {
  /** Never changes, and no later user of the name has it. */
  readonly id: string
  readonly name: string
  readonly isActive: boolean
  readonly roles: readonly string[]
  readonly grants: Grants
  /** The other members of the user document. Users can change their own at the document door. */
  readonly members: Members
}

export interface NewUser<Members extends object = OtherMembers> extends Partial<PlainFields> {
  readonly name: string
  /** `null`: the user cannot sign in with a password. */
  readonly password: string | null
  readonly roles?: readonly string[]
  readonly grants?: Grants
  readonly members?: Members
}

/** Members that are left out stay as they are. `null` removes a flag or a time. */
export interface UserChange<Members extends object = OtherMembers>
  extends Readonly<{ [N in PlainName]?: PlainFields[N] | null }> {
  /** Replaces all roles. */
  readonly roles?: readonly string[]
  /** Replaces the levels of these databases; `null` removes one. */
  readonly grants?: Readonly<Record<string, GrantLevel | null>>
  /** Replaces these members; `null` removes one. */
  readonly members?: { readonly [M in keyof Members]?: Members[M] | null }
}

export function toCardeaUser<Members extends object>(user: User): CardeaUser<Members> {
  const { name, isActive, document, multiModel } = user
  const plain = PLAIN.flatMap(([field, { type }]) => {
    const value = readField(user, field)
    return value === undefined ? [] : [[field, type === 'time' ? toDate(Number(value)) : value]]
  })
  const grants = [...multiModel.grants].flatMap(([database, { level }]) => (level ? [[database, level] as const] : []))
  return {
    id: idOf(user),
    name,
    ...Object.fromEntries(plain),
    isActive,
    roles: [...document.roles],
    grants: Object.fromEntries(grants),
    // the program knows what it has stored
    members: Object.fromEntries(document.members.filter(([member]) => member !== TOTP_MEMBER)) as Members,
  }
}

export function readNewUser(user: NewUser<object>): UserDraft {
  requireMembers(user, 'a user', ['name', 'password', 'roles', 'grants', 'members', ...PLAIN_NAMES])
  const { name, password, roles, grants, members } = user
  assertText(name, 'name')
  // required, so that a request without one does not take the name
  if (password !== null) assertText(password, 'password')
  checkTexts(roles, 'roles')
  checkGrants(grants)
  const draft: UserDraft = {
    name,
    ...(password !== null && { password: { password } }),
    ...(roles && { roles }),
    members: withMembers([], members),
    multiModel: { grants: withGrants(new Map(), grants) },
  }
  return readPlain(user).reduce((all, [field, value]) => withDrafted(all, field, value), draft)
}

export function toChange(change: UserChange<object>): (user: User) => User {
  requireMembers(change, 'a change', ['roles', 'grants', 'members', ...PLAIN_NAMES])
  const { roles, grants, members } = change
  checkTexts(roles, 'roles')
  checkGrants(grants)
  const plain = readPlain(change)
  return (user) => ({
    ...plain.reduce((all, [field, value]) => withField(all, field, value), user),
    document: {
      ...user.document,
      roles: roles ?? user.document.roles,
      members: withMembers(user.document.members, members),
    },
    multiModel: { ...user.multiModel, grants: withGrants(user.multiModel.grants, grants) },
  })
}

const isPlain = ({ type, given }: Field): boolean => given !== undefined && (type === 'flag' || type === 'time')

const PLAIN = FIELD_ROWS.filter(([, field]) => isPlain(field))
const PLAIN_NAMES: readonly string[] = PLAIN.map(([name]) => name)

/** The plain fields that a program gives, as a record has them. */
const readPlain = (given: object): readonly (readonly [PlainName, number | boolean | undefined])[] =>
  PLAIN.flatMap(([name, field]) => {
    const value = findMember({ ...given }, name)
    // the names are those of plain fields
    return value === undefined ? [] : [[name as PlainName, readPlainValue(value, name, field)]]
  })

function readPlainValue(value: unknown, name: string, { type, isOptional }: Field): number | boolean | undefined {
  if (value === null && isOptional) return undefined
  if (type === 'flag' && typeof value === 'boolean') return value
  if (type === 'time' && value instanceof Date && !Number.isNaN(value.getTime()))
    return Math.floor(value.getTime() / 1000)
  throw badRequest(`${name} must be ${type === 'flag' ? 'true or false' : 'a Date'}.`)
}

type Member = readonly [name: string, value: Json]

/** The second factor is a member of the document too, which only its own operations change. */
function withMembers(before: readonly Member[], given: object = {}): readonly Member[] {
  if (!isJsonObject(given) || TOTP_MEMBER in given) throw badRequest('members must be an object, without totp.')
  // also leaves out what JSON does not have
  const members = readDocumentMembers(Object.entries(JSON.parse(JSON.stringify(given))))
  const kept = before.filter(([name]) => !Object.hasOwn(given, name))
  return [...kept, ...members.filter(([, value]) => value !== null)]
}

function withGrants(
  before: ReadonlyMap<string, Grant>,
  grants: Readonly<Record<string, GrantLevel | null>> | undefined,
): ReadonlyMap<string, Grant> {
  let after = before
  for (const [database, level] of Object.entries(grants ?? {})) {
    after = withGrant(after, level ?? undefined, { database, collection: undefined })
  }
  return after
}
