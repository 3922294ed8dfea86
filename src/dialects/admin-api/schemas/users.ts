// What the API shows of users and administrators. Nothing that could be used to sign in as one of them.
import { FIELD_ROWS, type FieldName, GRANT_LEVELS, type UserFields } from '../../../directory/users/fields.ts'
import {
  count,
  flag,
  integer,
  listOf,
  mapOf,
  NEXT,
  namedObject,
  nullable,
  object,
  oneOf,
  type Schema,
  type Static,
  text,
} from './schema.ts'

export const LEVEL = oneOf(GRANT_LEVELS)
export type GrantLevelView = Static<typeof LEVEL>

export const NEW_GRANT = namedObject('NewGrant', {
  database: text('`*`: all.'),
  level: nullable(LEVEL, 'null removes the grant.'),
  'collection?': text('`*`: all.'),
})
export type NewGrantView = Static<typeof NEW_GRANT>

const GRANT = namedObject('Grant', { 'level?': LEVEL, 'collections?': mapOf(LEVEL, 'By name of the collection.') })
export type GrantView = Static<typeof GRANT>

/** Schemas by the type of a field. */
export type Forms = Readonly<Record<string, (help?: string) => Schema>>

/** A type without a schema is a mistake: an empty schema would accept every value. */
export function toForm(forms: Forms, type: string, help?: string): Schema {
  const form = forms[type]
  if (!form) throw new TypeError(`fields of the type ${type} have no schema here`)
  return form(help)
}

/** The members that fields have in a column of the table, with the schemas of their types. */
export const toMembers = (column: 'shown' | 'given', forms: Forms): Readonly<Record<string, Schema>> =>
  Object.fromEntries(
    FIELD_ROWS.flatMap(([, { type, help, [column]: member }]) =>
      member === undefined ? [] : [[member, toForm(forms, type, column === 'shown' ? help : undefined)]],
    ),
  )

const SHOWN = {
  address: text,
  flag,
  grants: (help?: string) => mapOf(GRANT, help),
  name: text,
  passkeys: integer,
  password: (help?: string) => nullable(text(), help),
  revision: text,
  roles: (help?: string) => listOf(text(), help),
  time: text,
  tokens: integer,
}

type ShownMembers = {
  readonly [N in FieldName as UserFields[N] extends { readonly shown: infer M extends string } ? M : never]: ReturnType<
    (typeof SHOWN)[UserFields[N]['type'] & keyof typeof SHOWN]
  >
}

// it is made of the same rows
export const USER_MEMBERS = toMembers('shown', SHOWN) as ShownMembers

export const USER = namedObject('User', USER_MEMBERS)
export type UserView = Static<typeof USER>

export const LOCKOUT = nullable(
  namedObject('Lockout', {
    addresses: integer('Client addresses that are locked out. 0: clients of every address have to wait.'),
    peers: listOf(text(), 'The first three of these addresses; of IPv6, the network.'),
    until: text('ISO 8601.'),
  }),
  'null: no client is locked out.',
)
export type LockoutView = NonNullable<Static<typeof LOCKOUT>>

export const LAST_SIGN_IN = nullable(
  namedObject('LastSignIn', { at: text('ISO 8601.'), peer: text('The address of the client.') }),
  'The last sign-in with the password, exact to the minute; null: none is known.',
)
export type LastSignInView = NonNullable<Static<typeof LAST_SIGN_IN>>

const LISTED_MEMBERS = {
  ...USER_MEMBERS,
  totp: flag('Whether the user needs a one-time code.'),
  canEdit: flag('Whether the caller may change the user.'),
  isLocked: flag('Whether at least one client is locked out after too many failures, as far as this node knows.'),
  lastSignIn: LAST_SIGN_IN,
}
const LISTED_USER = namedObject('ListedUser', LISTED_MEMBERS)
export type ListedUserView = Static<typeof LISTED_USER>

export const MAX_PAGE = 1000

export const PAGE_QUERY = {
  'after?': text('The name after which the page begins: `next` of the previous page.'),
  'limit?': count(MAX_PAGE, 'Users on the page, at most 1000.'),
}
const PAGE = object(PAGE_QUERY)
export type PageQueryView = Static<typeof PAGE>

export const USER_PAGE = object({
  users: listOf(LISTED_USER),
  'next?': NEXT,
  'total?': integer('How many there are in all. Absent after the first page, and where they are too many to count.'),
})
export type UserPageView = Static<typeof USER_PAGE>

const SESSIONS = integer('Live sessions. The store keeps at most 1000 of a name.')

export const DETAIL_MEMBERS = {
  ...LISTED_MEMBERS,
  sessions: SESSIONS,
  lockout: LOCKOUT,
}
export const USER_DETAILS = namedObject('UserDetails', DETAIL_MEMBERS)
export type UserDetailsView = Static<typeof USER_DETAILS>

export const BATCH_REPORT = object({
  outcomes: listOf(object({ name: text(), ok: flag(), 'reason?': text('Why it was not changed.') })),
})
export type BatchReportView = Static<typeof BATCH_REPORT>

const RULE = namedObject('AccessRule', {
  what: text(),
  isAllowed: nullable(flag(), 'null: the database behind the door decides.'),
  because: text(),
})
export const ACCESS_REPORT = object({
  name: text(),
  signIn: RULE,
  doors: listOf(object({ door: text(), rules: listOf(RULE) }), 'Empty if the user cannot sign in.'),
})
export type AccessReportView = Static<typeof ACCESS_REPORT>

export const ROLE_QUERY = object({
  'search?': text('The beginning of a role. Case does not matter.'),
  'after?': text('`next` of the previous page.'),
  'limit?': count(500, 'Roles on the page, at most 500.'),
})
const ROLE = namedObject('Role', {
  name: text('As its first member has it: roles that differ only in case are one row.'),
  members: integer(
    'At most 10000 are counted. Of 2000 external accounts, roles that their issuer no longer gives are left out.',
  ),
})
export type RoleView = Static<typeof ROLE>
export const ROLE_PAGE = object({ roles: listOf(ROLE), 'next?': NEXT })
export type RolePageView = Static<typeof ROLE_PAGE>

const GRANT_COUNT = namedObject('GrantCount', {
  database: text('`*`: all databases.'),
  rw: integer('Members who read and write, like the next two.'),
  ro: integer(),
  none: integer(),
  other: integer('Members with grants on collections only.'),
})
export const ROLE_DETAILS = namedObject('RoleDetails', {
  name: text(),
  isUserAdmin: flag('Whether its members manage users: the role that admin.user-admin-role names.'),
  rules: listOf(RULE, 'What the role allows at the document door.'),
  grants: listOf(GRANT_COUNT, 'What the members were granted at the multi-model door, where roles do not count.'),
  examined: integer('Members whose grants were counted: the first 500.'),
  isComplete: flag('Whether these are all members.'),
})
export type RoleDetailsView = Static<typeof ROLE_DETAILS>

const UNPROTECTED = namedObject('UnprotectedAccount', {
  name: text(),
  isAdministrator: flag(),
  roles: listOf(text(), 'Its roles that need a second factor.'),
  lastSignIn: LAST_SIGN_IN,
})
export type UnprotectedAccountView = Static<typeof UNPROTECTED>
export const FACTOR_POLICY = object({
  roles: listOf(text(), 'Roles whose members need a second factor: admin.second-factor-roles.'),
  missing: listOf(UNPROTECTED, 'Accounts that need a second factor and have none; of each role the first 200.'),
  isComplete: flag('Whether these are all.'),
})
export type FactorPolicyView = Static<typeof FACTOR_POLICY>

export const ADMINISTRATOR_MEMBERS = {
  name: text(),
  password: nullable(text(), 'The scheme of the stored password, in words; null: it cannot be read.'),
  totp: flag('Whether the administrator needs a one-time code.'),
  'passkeys?': integer('How many passkeys the administrator has; absent: none.'),
}
export const ADMINISTRATOR = namedObject('Administrator', ADMINISTRATOR_MEMBERS)
export type AdministratorView = Static<typeof ADMINISTRATOR>

export const LISTED_ADMINISTRATOR = namedObject('ListedAdministrator', {
  ...ADMINISTRATOR_MEMBERS,
  sessions: SESSIONS,
  lastSignIn: LAST_SIGN_IN,
})
export type ListedAdministratorView = Static<typeof LISTED_ADMINISTRATOR>

/** What users can be filtered by; empty: all. */
export const USER_STATUSES = ['locked', 'disabled', 'expired', 'idle', 'second-factor', 'no-second-factor', ''] as const
