/**
 * One-time links with which a user sets a password, or links an account at an identity provider. Tests:
 * `test/scenario/password-links.test.ts`, `test/contract/store-password-links.ts`. Guide:
 * `docs/guides/first-day.md`. Page of the console: `console/src/modules/password-links/`.
 */
import { renderUtcTime } from '../../base/clock.ts'
import { EVENT } from '../../observe/security-event-table.ts'
import { defineModule, type UserCommand } from '../module.ts'
import { createPasswordLinks, type PasswordLinks } from './library.ts'
import { removeLinksOf } from './links.ts'
import { PASSWORD_LINK_OPERATIONS } from './operations.ts'

const { done, number, USER } = EVENT

const EVENTS = {
  'password-link.created': done(
    'link to set a password created',
    'A link to set the password of {subject} was created',
    { ...USER, seconds: number('For how long it can be used.') },
  ),
  'password-link.used': done('password set with a link', '{subject} set a password with a link', USER),
}

const COMMAND: UserCommand<'user.create-password-link'> = {
  name: 'password-link',
  description: 'print a one-time link with which the user sets a password',
  operation: 'user.create-password-link',
  print: ({ url }) => url,
  note: ({ expiresAt }) => `Valid once, until ${renderUtcTime(expiresAt)}. Treat it as a password.`,
  // without a URL of the server there is no link
  explainsConflict: true,
}

export const passwordLinks = defineModule({
  name: 'password-links',
  events: EVENTS,
  operations: PASSWORD_LINK_OPERATIONS,
  store: { onUserChange: removeLinksOf },
  userCommands: [COMMAND],
  library: createPasswordLinks,
})

type Events = typeof EVENTS
type Operations = typeof PASSWORD_LINK_OPERATIONS

declare module '../../observe/security-event-table.ts' {
  interface EventRows extends Events {}
}
declare module '../../dialects/admin-api/operations.ts' {
  interface OperationRows extends Operations {}
}
declare module '../module.ts' {
  interface LibraryMembers {
    readonly passwordLinks: PasswordLinks
  }
}
