import type { OperationName } from '../operations.ts'
import { type Description, flag, integer, listOf, type Members, named, nullable, object, text } from './schema.ts'
import { CURRENT_PASSWORD_MEMBER, LAST_SIGN_IN } from './users.ts'

const ADMINISTRATOR_MEMBERS = {
  name: text(),
  password: nullable(text(), 'The scheme of the stored password, in words; null: it cannot be read.'),
  totp: flag('Whether the administrator needs a one-time code.'),
} as const satisfies Members

const ADMINISTRATOR = named('Administrator', object(ADMINISTRATOR_MEMBERS))
const LISTED_ADMINISTRATOR = named(
  'ListedAdministrator',
  object({
    ...ADMINISTRATOR_MEMBERS,
    sessions: integer('Live sessions. The store keeps at most 1000 of a name.'),
    lastSignIn: LAST_SIGN_IN,
  }),
)

const NEW_PASSWORD = {
  'password?': text('It is hashed before it is stored.'),
  'stored?': text('A password hash in the form of [admins], instead of the password.'),
} as const satisfies Members

export const ADMINISTRATOR_DESCRIPTIONS = {
  'admin.list': {
    summary: 'List administrators with their sign-ins',
    reply: object({ administrators: listOf(LISTED_ADMINISTRATOR) }),
  },
  'admin.add': {
    summary: 'Create an administrator',
    body: object({ name: text(), ...NEW_PASSWORD }),
    reply: ADMINISTRATOR,
  },
  'admin.set': {
    summary: 'Create an administrator, or set the password of one that exists',
    body: object({ ...NEW_PASSWORD, ...CURRENT_PASSWORD_MEMBER }),
    reply: ADMINISTRATOR,
  },
  'admin.set-password': {
    summary: 'Set the password of an administrator that exists',
    body: object({ ...NEW_PASSWORD, ...CURRENT_PASSWORD_MEMBER }),
    reply: ADMINISTRATOR,
  },
  'admin.reset-totp': {
    summary: 'Remove the second factor of an administrator',
    body: object(CURRENT_PASSWORD_MEMBER),
    reply: object({ ...ADMINISTRATOR_MEMBERS, hadTotp: flag() }),
  },
  'admin.remove': {
    summary: 'Remove an administrator',
    body: object(CURRENT_PASSWORD_MEMBER),
    reply: ADMINISTRATOR,
  },
} as const satisfies Partial<Record<OperationName, Description>>
