import type { OperationName } from '../operations.ts'
import { type Description, flag, listOf, type Members, named, object, oneOf, text, whole } from './schema.ts'

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
    totp: object({ isEnabled: flag(), recoveryCodesLeft: whole() }),
    passwordRules: listOf(text(), 'What a new password must satisfy.'),
  }),
)

const SESSION_RECORD = named(
  'SessionRecord',
  object({
    id: text(),
    door: text('The door or listener that opened it.'),
    createdAt: whole('Seconds since the epoch, like the next two.'),
    seenAt: whole('Exact to the minute.'),
    expiresAt: whole('Unless it is used before.'),
    peer: text('Address of the client that used it last. Empty on a Unix socket.'),
    userAgent: text(),
    isCurrent: flag('Whether the request was sent with it.'),
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
    reply: object({ endedSessions: whole() }),
  },
  'user.sessions': { summary: 'List the sessions of a user or administrator', reply: object(SESSIONS) },
  'user.end-session': { summary: 'End one session of a user or administrator', reply: SESSION_RECORD },
} as const satisfies Partial<Record<OperationName, Description>>
