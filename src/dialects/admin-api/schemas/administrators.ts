import type { OperationName } from '../operations.ts'
import { type Description, flag, listOf, type Members, named, nullable, object, text } from './schema.ts'
import { CURRENT_PASSWORD_MEMBER } from './users.ts'

const ADMINISTRATOR = named(
  'Administrator',
  object({
    name: text(),
    password: nullable(text(), 'The scheme of the stored password, in words; null: it cannot be read.'),
    totp: flag('Whether the administrator needs a one-time code.'),
  }),
)

const NEW_PASSWORD = {
  'password?': text('It is hashed before it is stored.'),
  'stored?': text('A password hash in the form of [admins], instead of the password.'),
} as const satisfies Members

export const ADMINISTRATOR_DESCRIPTIONS = {
  'admin.list': { summary: 'List administrators', reply: object({ administrators: listOf(ADMINISTRATOR) }) },
  'admin.add': {
    summary: 'Create an administrator',
    body: object({ name: text(), ...NEW_PASSWORD }),
    reply: ADMINISTRATOR,
  },
  'admin.set': {
    summary: 'Set the password of an administrator',
    body: object({ ...NEW_PASSWORD, ...CURRENT_PASSWORD_MEMBER }),
    reply: ADMINISTRATOR,
  },
  'admin.reset-totp': {
    summary: 'Remove the second factor of an administrator',
    body: object(CURRENT_PASSWORD_MEMBER),
    reply: object({ name: text(), password: nullable(text()), totp: flag(), hadTotp: flag() }),
  },
  'admin.remove': {
    summary: 'Remove an administrator',
    body: object(CURRENT_PASSWORD_MEMBER),
    reply: ADMINISTRATOR,
  },
} as const satisfies Partial<Record<OperationName, Description>>
