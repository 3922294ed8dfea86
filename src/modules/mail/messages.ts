/** The messages that Cardea sends, one row each. A folder of the operator can replace every text: `mail.templates`. */

export interface MessageRow {
  readonly subject: string
  /** Paragraphs before the link. */
  readonly before: readonly string[]
  /** What the button says. Left out: the message has no link. */
  readonly action?: string
  /** Paragraphs after the link. */
  readonly after: readonly string[]
}

/**
 * The placeholders of all texts: `product` is the name of this installation and `url` its address, `user` the name of the
 * user, `token` the secret of the link, for a page of your own, `lifetime` how long it works, `providers` where the user
 * signs in.
 */
export const PLACEHOLDERS = ['product', 'url', 'user', 'link', 'token', 'lifetime', 'providers'] as const
export type Placeholder = (typeof PLACEHOLDERS)[number]

const NOT_ME = 'This was not me'
const TAKEN_BACK =
  'If not, the link gives you the account back, within {{lifetime}}: you choose a new password, this address counts, all sessions and access tokens end, and what was added since to sign in is removed.'

export const MESSAGES = {
  'password-reset': {
    subject: 'Choose a new password for {{product}}',
    before: ['A new password was requested for the account {{user}} at {{product}}.'],
    action: 'Choose a new password',
    after: [
      'The link works once, within {{lifetime}}. A new password ends all sessions of the account.',
      'If you did not ask for it, ignore this message: nothing has changed.',
    ],
  },
  'no-password': {
    subject: 'Your account at {{product}}',
    before: [
      'A new password was requested for the account {{user}} at {{product}}.',
      'The account has no password here. Sign in with {{providers}}.',
    ],
    after: ['If you did not ask for it, ignore this message: nothing has changed.'],
  },
  // without the name: the receiver may be a stranger, to whom a user could send any text as a name
  'verify-address': {
    subject: 'Confirm your address for {{product}}',
    before: ['This address was given for an account at {{product}}.'],
    action: 'Confirm the address',
    after: ['The link works once, within {{lifetime}}.', 'If it is not your account, ignore this message.'],
  },
  'address-changed': {
    subject: 'Your address at {{product}} was changed',
    before: ['The account {{user}} at {{product}} has another e-mail address now. Messages no longer come here.'],
    action: NOT_ME,
    after: ['If you changed it, you need not do anything.', TAKEN_BACK],
  },
  // without a link: the one to whom it is sent may be a thief
  'address-restored': {
    subject: 'Your address at {{product}} was changed back',
    before: [
      'The account {{user}} at {{product}} has its earlier e-mail address again, by a link that was sent there. Messages no longer come here.',
    ],
    after: ['If it is your account and you did not do this, ask the people who run {{product}} for help.'],
  },
  'password-changed': {
    subject: 'Your password at {{product}} was changed',
    before: ['The account {{user}} at {{product}} has another password now. All its sessions have ended.'],
    action: NOT_ME,
    after: ['If you know of it, you need not do anything.', TAKEN_BACK],
  },
  'factor-removed': {
    subject: 'A second factor of your account at {{product}} was removed',
    before: ['One-time codes or a passkey of the account {{user}} at {{product}} were removed or replaced.'],
    action: NOT_ME,
    after: ['If you know of it, you need not do anything.', TAKEN_BACK],
  },
  'sign-in-added': {
    subject: 'A new way into your account at {{product}}',
    before: [
      'The account {{user}} at {{product}} has a new access token, a new passkey, or a new account of an identity provider that signs in.',
    ],
    action: NOT_ME,
    after: ['If you added it, you need not do anything.', TAKEN_BACK],
  },
  'sign-up': {
    subject: 'Create your account at {{product}}',
    before: ['This address was given for a new account at {{product}}.'],
    action: 'Create the account',
    after: ['The link works once, within {{lifetime}}.', 'If you do not want an account, ignore this message.'],
  },
  invitation: {
    subject: 'Your invitation to {{product}}',
    before: ['You are invited to create an account at {{product}}.'],
    action: 'Accept the invitation',
    after: ['The link works once, within {{lifetime}}.', 'If you do not want an account, ignore this message.'],
  },
  'has-account': {
    subject: 'You have an account at {{product}}',
    before: [
      'This address was given for a new account at {{product}}, but it belongs to the account {{user}} already.',
      'Sign in with that name. If you forgot the password, the sign-in page sends you a link; if none comes, ask the people who run {{product}}.',
    ],
    after: ['If you did not ask for it, ignore this message: nothing has changed.'],
  },
  test: {
    subject: 'A test message of {{product}}',
    before: ['Messages of {{product}} arrive. You need not do anything.'],
    after: [],
  },
} as const satisfies Readonly<Record<string, MessageRow>>

export type MessageName = keyof typeof MESSAGES
