import type { OperationName } from '../operations.ts'
import {
  type Description,
  flag,
  integer,
  listOf,
  type Members,
  mapOf,
  named,
  nullable,
  object,
  oneOf,
  text,
} from './schema.ts'

const LEVEL = oneOf(['rw', 'ro', 'none'])
const EXPIRES = nullable(text(), 'A day or a time in UTC, as 2030-12-31T18:00:00Z; null: never.')

const GRANT = named('Grant', object({ 'level?': LEVEL, 'collections?': mapOf(LEVEL, 'By name of the collection.') }))

const USER_MEMBERS = {
  name: text(),
  active: flag(),
  'expires?': text('From then on the user cannot sign in; absent: never.'),
  'mustChangePassword?': flag(),
  roles: listOf(text()),
  grants: mapOf(GRANT, 'By name of the database.'),
  password: nullable(text(), 'The scheme of the stored password, in words; null: there is none.'),
  revision: text(),
  accessTokens: integer('How many access tokens the user has.'),
} as const satisfies Members

const LOCKOUT = named(
  'Lockout',
  object({
    addresses: integer('Client addresses that are locked out. 0: clients of every address have to wait.'),
    peers: listOf(text(), 'The first three of these addresses; of IPv6, the network.'),
    until: text('ISO 8601.'),
  }),
)

export const LAST_SIGN_IN = nullable(
  named('LastSignIn', object({ at: text('ISO 8601.'), peer: text('The address of the client.') })),
  'The last sign-in with the password; null: none is known.',
)

const LISTED_MEMBERS = {
  ...USER_MEMBERS,
  canEdit: flag('Whether the caller may change the user.'),
  isLocked: flag('Whether at least one client is locked out after too many failures.'),
  lastSignIn: LAST_SIGN_IN,
} as const satisfies Members

const DETAIL_MEMBERS = {
  ...LISTED_MEMBERS,
  totp: flag('Whether the user needs a one-time code.'),
  sessions: integer('Live sessions. The store keeps at most 1000 of a name.'),
  lockout: nullable(LOCKOUT, 'null: no client is locked out.'),
} as const satisfies Members

const USER = named('User', object(USER_MEMBERS))
const LISTED_USER = named('ListedUser', object(LISTED_MEMBERS))
const USER_DETAILS = named('UserDetails', object(DETAIL_MEMBERS))

const NEW_GRANT = named(
  'NewGrant',
  object({ database: text(), level: nullable(LEVEL, 'null removes the grant.'), 'collection?': text() }),
)

export const PAGE_QUERY = {
  'after?': text('The name after which the page begins: `next` of the previous page.'),
  'limit?': integer('Users on the page, at most 1000.'),
} as const satisfies Members

export const NEXT = text('The value of `after` for the next page; absent on the last one.')

/** For requests that may need a proof of the caller's own password. */
export const CURRENT_PASSWORD_MEMBER = {
  'current_password?': text('The password of the caller, to change its own account in an older session.'),
} as const satisfies Members

export const USER_DESCRIPTIONS = {
  'user.list': {
    summary: 'List users in the order of their names, or search them',
    query: {
      'prefix?': text('The beginning of the name or of a role. Case does not matter.'),
      'role?': text('A role. Case does not matter.'),
      'status?': oneOf(['locked', 'disabled', 'expired']),
      ...PAGE_QUERY,
    },
    reply: object({ users: listOf(LISTED_USER), 'next?': NEXT }),
  },
  'user.add': {
    summary: 'Create a user',
    body: object({
      name: text(),
      'password?': text(),
      'active?': flag(),
      'expires?': EXPIRES,
      'mustChangePassword?': flag(),
      'roles?': listOf(text()),
      'grants?': listOf(NEW_GRANT),
    }),
    reply: USER,
  },
  'user.show': { summary: 'Show a user with its sign-ins', reply: USER_DETAILS },
  'user.remove': {
    summary: 'Delete a user',
    body: object(CURRENT_PASSWORD_MEMBER),
    reply: object({ name: text(), revision: text('Of the deletion.') }),
  },
  'user.set-password': {
    summary: 'Set the password of a user',
    body: object({ password: text(), 'mustChangePassword?': flag(), ...CURRENT_PASSWORD_MEMBER }),
    reply: object({ ...USER_MEMBERS, passwordChanged: flag('false: it was this password already.') }),
  },
  'user.set-password-change': {
    summary: 'Require a user to change the password, or stop requiring it',
    body: object({ required: flag() }),
    reply: USER,
  },
  'user.set-expiry': {
    summary: 'Set the time from which a user cannot sign in',
    body: object({ 'expires?': EXPIRES }),
    reply: USER,
  },
  'user.set-roles': {
    summary: 'Change the roles of a user',
    body: object({
      'roles?': listOf(text(), 'Replaces all roles.'),
      'add?': listOf(text()),
      'remove?': listOf(text()),
    }),
    reply: USER,
  },
  'user.set-grant': { summary: 'Grant access to a database or a collection', body: NEW_GRANT, reply: USER },
  'user.set-active': {
    summary: 'Activate or deactivate a user',
    body: object({ active: flag(), ...CURRENT_PASSWORD_MEMBER }),
    reply: USER,
  },
  'user.sign-out': { summary: 'End all sessions and tokens of a user', reply: USER },
  'user.unlock': {
    summary: 'Forget the failed sign-ins of an account',
    reply: object({ name: text(), lockout: nullable(LOCKOUT, 'The lockout that was lifted.') }),
  },
  'user.reset-totp': {
    summary: 'Remove the second factor of a user',
    body: object(CURRENT_PASSWORD_MEMBER),
    reply: object({ ...DETAIL_MEMBERS, hadTotp: flag() }),
  },
} as const satisfies Partial<Record<OperationName, Description>>
