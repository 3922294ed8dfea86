import type { OperationName } from '../operations.ts'
import { BATCH_ACTIONS } from '../users/user-batch.ts'
import {
  type Description,
  flag,
  integer,
  listOf,
  type Members,
  named,
  nullable,
  object,
  oneOf,
  text,
} from './schema.ts'
import { CURRENT_PASSWORD_MEMBER } from './users.ts'

export const RIGHTS = oneOf(['administrator', 'userAdmin', 'user'])

const ACCOUNT = named(
  'Account',
  object({
    name: text(),
    isAdministrator: flag(),
    rights: RIGHTS,
    roles: listOf(text()),
    mustChangePassword: flag(),
    'expires?': text('From then on the user cannot sign in; absent: never.'),
    totp: object({ isEnabled: flag(), recoveryCodesLeft: integer() }),
    passwordRules: listOf(text(), 'What a new password must satisfy.'),
  }),
)

const SESSION_RECORD = named(
  'SessionRecord',
  object({
    id: text(),
    door: text('The door or listener that opened it.'),
    createdAt: integer('Seconds since the epoch, like the next two.'),
    seenAt: integer('Exact to the minute.'),
    expiresAt: integer('When it ends, unless it is used before.'),
    peer: text('Address of the client that used it last. Empty on a Unix socket.'),
    userAgent: text(),
    isCurrent: flag('Whether the request was sent with it.'),
  }),
)

const RECOVERY_CODES = object({ recoveryCodes: listOf(text(), 'Shown only once.') })

const TOKEN_MEMBERS = {
  name: text(),
  createdAt: integer('Seconds since the epoch, like the other times.'),
  expiresAt: integer(),
  'usedAt?': integer('Exact to the minute; absent: it was not used yet.'),
  fingerprint: text(),
  isActive: flag(),
  'databases?': listOf(text()),
  'services?': listOf(text()),
} as const satisfies Members

const TOKEN = named('AccessToken', object(TOKEN_MEMBERS))

const RULE = named(
  'AccessRule',
  object({
    what: text(),
    isAllowed: nullable(flag(), 'null: the database behind the door decides.'),
    because: text(),
  }),
)

const SESSIONS = { sessions: listOf(SESSION_RECORD, 'The newest first.') } as const satisfies Members

export const ACCOUNT_DESCRIPTIONS = {
  'account.show': { summary: 'Show your account', reply: ACCOUNT },
  'account.check-password': {
    summary: 'Check a new password by the rules of the server',
    body: object({ password: text() }),
    reply: object({ problems: listOf(text(), 'A sentence for each rule that it breaks.') }),
  },
  'account.sessions': { summary: 'List your sessions', reply: object(SESSIONS) },
  'account.end-session': { summary: 'End one of your sessions', reply: SESSION_RECORD },
  'account.end-other-sessions': {
    summary: 'End all your sessions except the current one',
    reply: object({ endedSessions: integer() }),
  },
  'account.set-password': {
    summary: 'Change your password',
    body: object({ password: text(), 'current_password?': text('Required for a session.') }),
    reply: object({ endedSessions: integer('0: it was this password already.') }),
  },
  'account.create-totp': {
    summary: 'Create a secret for an authenticator app, which takes effect when it is confirmed',
    reply: object({ secret: text('In base32.'), uri: text('As a QR code for the app.') }),
  },
  'account.confirm-totp': {
    summary: 'Require one-time codes of this secret from now on',
    body: object({ secret: text(), code: text('The current code of the app.'), ...CURRENT_PASSWORD_MEMBER }),
    reply: RECOVERY_CODES,
  },
  'account.remove-totp': {
    summary: 'Remove your second factor',
    body: object(CURRENT_PASSWORD_MEMBER),
    reply: object({ isEnabled: flag() }),
  },
  'account.replace-recovery-codes': {
    summary: 'Replace your recovery codes',
    body: object(CURRENT_PASSWORD_MEMBER),
    reply: RECOVERY_CODES,
  },
  'account.tokens': { summary: 'List your access tokens', reply: object({ tokens: listOf(TOKEN) }) },
  'account.create-token': {
    summary: 'Create an access token',
    body: object({
      name: text(),
      expires: text('A day or a time in UTC, as 2030-12-31T18:00:00Z.'),
      'databases?': listOf(text(), 'The databases it is valid for. Without either list: everything.'),
      'services?': listOf(text()),
      ...CURRENT_PASSWORD_MEMBER,
    }),
    reply: object({ ...TOKEN_MEMBERS, token: text('Its text. It is shown only once.') }),
  },
  'account.remove-token': {
    summary: 'Remove an access token',
    body: object(CURRENT_PASSWORD_MEMBER),
    reply: object({ name: text() }),
  },
  'user.create-password-link': {
    summary: 'Create a link with which the user sets a password once, within an hour',
    reply: object({
      url: text('Begins with console.public-url; without it, a path.'),
      expiresAt: integer('Seconds since the epoch.'),
    }),
  },
  'password-link.find': {
    summary: 'Show the user of a password link',
    body: object({ token: text() }),
    reply: object({ name: text(), passwordRules: listOf(text()) }),
  },
  'password-link.use': {
    summary: 'Set a password with a link',
    body: object({ token: text(), password: text() }),
    reply: object({ name: text() }),
  },
  'user.batch': {
    summary: 'Change several users in the same way',
    body: object({
      names: listOf(text(), 'At most 1000.'),
      action: oneOf(BATCH_ACTIONS),
      'roles?': listOf(text(), 'For addRoles and removeRoles.'),
    }),
    reply: object({
      outcomes: listOf(object({ name: text(), ok: flag(), 'reason?': text('Why it was not changed.') })),
    }),
  },
  'user.access': {
    summary: 'Show what a user may reach at each door, and why',
    query: { 'database?': text('_system if it is left out.') },
    reply: object({
      name: text(),
      signIn: RULE,
      doors: listOf(object({ door: text(), rules: listOf(RULE) }), 'Empty if the user cannot sign in.'),
    }),
  },
  'user.sessions': { summary: 'List the sessions of a user or administrator', reply: object(SESSIONS) },
  'user.end-sessions': {
    summary: 'End all sessions of a user or administrator except the one of the request',
    reply: object({ endedSessions: integer() }),
  },
  'user.end-session': { summary: 'End one session of a user or administrator', reply: SESSION_RECORD },
} as const satisfies Partial<Record<OperationName, Description>>
