import { RIGHTS } from './account.ts'
import { type Description, flag, listOf, named, nullable, object, text } from './schema.ts'

const SESSION = named(
  'Session',
  object({
    name: nullable(text(), 'null: not signed in.'),
    isAdministrator: flag(),
    'roles?': listOf(text()),
    'rights?': RIGHTS,
    'mustChangePassword?': flag(),
    'server?': text('Name and version of the server.'),
  }),
)

/** By method of `/session`. */
export const SESSION_DESCRIPTIONS = {
  GET: { summary: 'Show who is signed in', reply: SESSION },
  POST: {
    summary: 'Sign a browser in',
    body: object({ name: text(), password: text(), 'code?': text('A one-time code.') }),
    reply: SESSION,
  },
  DELETE: { summary: 'Sign a browser out', reply: object({ name: { type: 'null' } }) },
} as const satisfies Record<string, Description>
