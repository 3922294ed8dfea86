/**
 * Messages to users by e-mail: links with which they choose a new password or confirm their address. Tests:
 * `test/modules/mail/`, `test/scenario/mail.test.ts`. Guide: `docs/guides/mail.md`. Pages of the console:
 * `console/src/modules/mail/`.
 */
import { EVENT } from '../../observe/security-event-table.ts'
import { defineModule } from '../module.ts'
import { passwordLinks } from '../password-links/index.ts'
import { MAIL_CHECK } from './checks.ts'
import { MAIL_COMMANDS } from './commands.ts'
import { createMailJobs } from './jobs.ts'
import { createMail, type Mail } from './library.ts'
import { addNotices } from './notices.ts'
import { MAIL_OPERATIONS } from './operations.ts'
import { mailOptions } from './options.ts'
import { doAddressesSignIn, isMailOn, type StoredWith } from './settings.ts'

const { done, normal, failure, text, USER } = EVENT

const MESSAGE = { message: text('Which one.') } as const
const REASON = { reason: text('What the mail server said, or why it was not reached.') } as const

const EVENTS = {
  'user.invited': done('user invited', 'An invitation for {subject} was asked for', USER),
  'user.uninvited': done('invitation withdrawn', 'An invitation for {subject} was withdrawn', USER),
  'mail.sent': normal('message sent', 'The message {message} was sent to {subject}', { ...USER, ...MESSAGE }),
  'mail.rejected': failure(
    'message rejected',
    'The mail server rejected the message {message} to {subject}: {reason}',
    {
      ...USER,
      ...MESSAGE,
      ...REASON,
    },
  ),
  'mail.given-up': failure('message given up', 'A message could not be sent for a day ({message}): {reason}', {
    ...MESSAGE,
    ...REASON,
  }),
}

export const mail = defineModule({
  name: 'mail',
  needs: [passwordLinks],
  options: mailOptions,
  events: EVENTS,
  operations: MAIL_OPERATIONS,
  store: { onUserChange: addNotices },
  jobs: createMailJobs,
  addressesSignIn: doAddressesSignIn,
  checks: [MAIL_CHECK],
  userCommands: MAIL_COMMANDS,
  library: createMail,
  signInPage: (settings) => ({
    passwordReset: isMailOn(settings),
    addressSignIn: doAddressesSignIn(settings),
    mailSignUp: settings.mail['sign-up'] === 'verified',
  }),
})

type Events = typeof EVENTS
type Operations = typeof MAIL_OPERATIONS

declare module '../../observe/security-event-table.ts' {
  interface EventRows extends Events {}
}
declare module '../../dialects/admin-api/operations.ts' {
  interface OperationRows extends Operations {}
}
declare module '../module.ts' {
  interface LibraryMembers {
    readonly mail: Mail
  }
}
declare module '../../store/create-store.ts' {
  interface StoreSettings extends StoredWith {}
}
