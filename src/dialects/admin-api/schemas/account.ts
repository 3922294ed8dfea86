// What the API shows a signed-in user of its own account.
import { SESSION_KEYS, type SessionKey } from '../../../directory/store-port/sessions.ts'
import {
  count,
  flag,
  integer,
  listOf,
  NEXT,
  namedObject,
  nullable,
  object,
  oneOf,
  type Static,
  text,
} from './schema.ts'

/** `Object.keys` loses the names of the table. */
const SESSION_KEY_NAMES = Object.keys(SESSION_KEYS) as SessionKey[]

const RIGHTS = oneOf(['administrator', 'userAdmin', 'user'])
export type Rights = Static<typeof RIGHTS>

export const SESSION = namedObject('Session', {
  name: nullable(text(), 'null: not signed in.'),
  isAdministrator: flag(),
  'roles?': listOf(text()),
  'rights?': RIGHTS,
  'mustChangePassword?': flag(),
  'mustSetUpFactor?': flag('Whether nothing else can be done before a second factor is set up.'),
  'server?': text('Name and version of the server.'),
  'pageToken?': text('In the reply to a sign-in: the page sends it with its next requests.'),
})
export type Session = Static<typeof SESSION>

const PASSWORD_RULES = listOf(text(), 'What a new password must satisfy.')

export const ACCOUNT = namedObject('Account', {
  name: text(),
  id: text('Never changes, and no later user of the name has it.'),
  isAdministrator: flag(),
  rights: RIGHTS,
  roles: listOf(text()),
  mustChangePassword: flag(),
  'mustSetUpFactor?': flag(),
  'expires?': text('From then on the user cannot sign in; absent: never.'),
  totp: object({ isEnabled: flag(), recoveryCodesLeft: integer() }),
  passwordRules: PASSWORD_RULES,
})
export type Account = Static<typeof ACCOUNT>

export const LINK_OWNER = object({
  name: text(),
  passwordRules: PASSWORD_RULES,
  'canLink?': flag('Whether the user can link an account at an identity provider instead.'),
})

const SESSION_MEMBERS = {
  id: text(),
  door: text('The door or listener that opened it.'),
  createdAt: integer('Seconds since the epoch, like the next two.'),
  seenAt: integer('Exact to the minute.'),
  expiresAt: integer('When it ends, unless it is used before.'),
  peer: text('Address of the client that used it last. Empty on a Unix socket.'),
  userAgent: text(),
  isCurrent: flag('Whether the request was sent with it.'),
}
export const SESSION_RECORD = namedObject('SessionRecord', SESSION_MEMBERS)
export type UserSession = Static<typeof SESSION_RECORD>

export const SESSIONS = object({ sessions: listOf(SESSION_RECORD, 'The newest first.') })
const LISTED_SESSION = namedObject('ListedSession', {
  name: text(),
  isAdministrator: flag('Whether an administrator has the name.'),
  client: text('Browser and system, as the user agent names them; that of another program as it is.'),
  ...SESSION_MEMBERS,
})
export type ListedSession = Static<typeof LISTED_SESSION>

export const SESSION_PAGE = object({ sessions: listOf(LISTED_SESSION), 'next?': NEXT })
export type SessionPage = Static<typeof SESSION_PAGE>

export const MAX_LISTED_SESSIONS = 500
/** Which sessions are listed or ended. */
const SESSION_FILTER = {
  'by?': oneOf(SESSION_KEY_NAMES, 'What `search` is the beginning of; user if it is left out.'),
  'search?': text('Only sessions whose value begins so. They are ordered by it then, otherwise by age.'),
  'minAge?': integer('Only sessions opened at least so many seconds ago.'),
  'maxAge?': integer('Only sessions opened at most so many seconds ago.'),
  'after?': text('`next` of the previous page.'),
}
export const SESSION_QUERY = object({
  ...SESSION_FILTER,
  'limit?': count(MAX_LISTED_SESSIONS, `Sessions on the page, at most ${MAX_LISTED_SESSIONS}.`),
})
export const SESSION_BATCH = object({
  'ids?': listOf(text(), `Sessions to end, at most ${MAX_LISTED_SESSIONS}.`),
  'all?': flag('Whether all sessions end that the other members select; with none of them, every session.'),
  ...SESSION_FILTER,
})
export type SessionFilter = Omit<Static<typeof SESSION_BATCH>, 'ids' | 'all'>

export const ENDED_PAGE = object({ endedSessions: integer('How many.'), 'next?': NEXT })
export type EndedPage = Static<typeof ENDED_PAGE>

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
  'roles?': listOf(text(), 'Roles that the provider gave at the last sign-in of a browser.'),
})
export type ExternalAccount = Static<typeof EXTERNAL_ACCOUNT>
export const EXTERNAL_ACCOUNTS = object({ accounts: listOf(EXTERNAL_ACCOUNT) })
