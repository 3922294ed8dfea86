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
export type RightsView = Static<typeof RIGHTS>

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
export type SessionView = Static<typeof SESSION>

export const PASSWORD_RULES = listOf(text(), 'What a new password must satisfy.')

export const ACCOUNT = namedObject('Account', {
  name: text(),
  id: text('Never changes, and no later user of the name has it.'),
  isAdministrator: flag(),
  rights: RIGHTS,
  roles: listOf(text()),
  hasPassword: flag('Otherwise you sign in with a passkey, or at an identity provider.'),
  mustChangePassword: flag(),
  'mustSetUpFactor?': flag(),
  'expires?': text('From then on the user cannot sign in; absent: never.'),
  'needsPasskey?': flag('A role of yours needs a second factor, and your passkeys are it.'),
  totp: object({ isEnabled: flag(), recoveryCodesLeft: integer() }),
  'database?': text('The name of your own database at the document door, if you may use it.'),
  passwordRules: PASSWORD_RULES,
})
export type AccountView = Static<typeof ACCOUNT>

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
export type UserSessionView = Static<typeof SESSION_RECORD>

export const SESSIONS = object({ sessions: listOf(SESSION_RECORD, 'The newest first.') })
const LISTED_SESSION = namedObject('ListedSession', {
  name: text(),
  isAdministrator: flag('Whether an administrator has the name.'),
  client: text('Browser and system, as the user agent names them; that of another program as it is.'),
  ...SESSION_MEMBERS,
})
export type ListedSessionView = Static<typeof LISTED_SESSION>

export const SESSION_PAGE = object({ sessions: listOf(LISTED_SESSION), 'next?': NEXT })
export type SessionPageView = Static<typeof SESSION_PAGE>

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
export const SESSION_BATCH = {
  'ids?': listOf(text(), `Sessions to end, at most ${MAX_LISTED_SESSIONS}.`),
  'all?': flag('Whether all sessions end that the other members select; with none of them, every session.'),
  ...SESSION_FILTER,
}
export type SessionFilterView = Omit<Static<typeof SESSION_QUERY>, 'limit'>

export const ENDED_PAGE = object({ endedSessions: integer('How many.'), 'next?': NEXT })
export type EndedPageView = Static<typeof ENDED_PAGE>

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
  'access?': oneOf(['ro'], 'It can only read its databases, at the document door.'),
}
export const TOKEN = namedObject('AccessToken', TOKEN_MEMBERS)
export type AccessTokenView = Static<typeof TOKEN>
