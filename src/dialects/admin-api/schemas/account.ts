// What the API shows a signed-in user of its own account.
import { flag, integer, listOf, namedObject, nullable, object, oneOf, type Static, text } from './schema.ts'

const RIGHTS = oneOf(['administrator', 'userAdmin', 'user'])
export type Rights = Static<typeof RIGHTS>

export const SESSION = namedObject('Session', {
  name: nullable(text(), 'null: not signed in.'),
  isAdministrator: flag(),
  'roles?': listOf(text()),
  'rights?': RIGHTS,
  'mustChangePassword?': flag(),
  'server?': text('Name and version of the server.'),
  'pageToken?': text('In the reply to a sign-in: the page sends it with its next requests.'),
})
export type Session = Static<typeof SESSION>

const PASSWORD_RULES = listOf(text(), 'What a new password must satisfy.')

export const ACCOUNT = namedObject('Account', {
  name: text(),
  isAdministrator: flag(),
  rights: RIGHTS,
  roles: listOf(text()),
  mustChangePassword: flag(),
  'expires?': text('From then on the user cannot sign in; absent: never.'),
  totp: object({ isEnabled: flag(), recoveryCodesLeft: integer() }),
  passwordRules: PASSWORD_RULES,
})
export type Account = Static<typeof ACCOUNT>

export const LINK_OWNER = object({ name: text(), passwordRules: PASSWORD_RULES })

export const SESSION_RECORD = namedObject('SessionRecord', {
  id: text(),
  door: text('The door or listener that opened it.'),
  createdAt: integer('Seconds since the epoch, like the next two.'),
  seenAt: integer('Exact to the minute.'),
  expiresAt: integer('When it ends, unless it is used before.'),
  peer: text('Address of the client that used it last. Empty on a Unix socket.'),
  userAgent: text(),
  isCurrent: flag('Whether the request was sent with it.'),
})
export type UserSession = Static<typeof SESSION_RECORD>

export const SESSIONS = object({ sessions: listOf(SESSION_RECORD, 'The newest first.') })
export const ENDED_SESSIONS = object({ endedSessions: integer('How many.') })
export const RECOVERY_CODES = object({ recoveryCodes: listOf(text(), 'Shown only once.') })

export const TOKEN_MEMBERS = {
  name: text(),
  createdAt: integer('Seconds since the epoch, like the other times.'),
  expiresAt: integer(),
  'usedAt?': integer('Exact to the minute; absent: it was not used yet.'),
  fingerprint: text(),
  isActive: flag(),
  'databases?': listOf(text()),
  'services?': listOf(text()),
}
export const TOKEN = namedObject('AccessToken', TOKEN_MEMBERS)
export type AccessToken = Static<typeof TOKEN>

const EXTERNAL_ACCOUNT = namedObject('ExternalAccount', {
  id: text('Names it in the path.'),
  provider: text('The name of the identity provider in the configuration.'),
  issuer: text(),
  subject: text('The id of the account at the provider.'),
  linkedAt: integer('Seconds since the epoch.'),
})
export const EXTERNAL_ACCOUNTS = object({ accounts: listOf(EXTERNAL_ACCOUNT) })
