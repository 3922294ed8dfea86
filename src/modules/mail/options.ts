import { type Codec, oneWordOf, path, secretText, textThat, whole } from '../../config/codecs.ts'
import { live } from '../../config/option-table.ts'
import type { ModuleOptions, Rule } from '../../config/options.ts'
import { readAddress } from '../../directory/users/address.ts'

const SERVER = 'smtp://HOST or smtps://HOST, with a user and a port if needed, without a password'

const serverUrl: Codec<string> = textThat(SERVER, (value) => {
  if (value === '') return true
  const url = /^smtps?:\/\/[^\s/?#]+\/?$/.test(value) && URL.canParse(value) ? new URL(value) : undefined
  return url !== undefined && url.password === '' && url.hostname !== ''
})

/** `Shop <shop@example.com>` or the address alone. */
const sender: Codec<string> = textThat('an e-mail address, or a name and <an e-mail address>', (value) => {
  if (value === '') return true
  const [, address = value] = /^[^<>@\p{C}]*<([^<>]+)>$/u.exec(value) ?? []
  return readAddress(address) === address
})

const SECRET_BYTES = 4096
/** An administrator who could change them would get the links of every user. */
const FIXED = 'it decides who can read links to set passwords'

const ROWS = {
  'mail.url': live(serverUrl, '', {
    help: 'The mail server that messages are given to.',
    more: 'For example smtps://shop@mail.example.com. It needs mail.from and console.public-url. Empty: Cardea sends no messages.',
    fixed: FIXED,
  }),
  'mail.password': live(secretText(SECRET_BYTES), '', {
    help: 'Password of the user in mail.url.',
    secret: true,
    fixed: FIXED,
  }),
  'mail.tls': live(oneWordOf(['required', 'optional']), 'required', {
    help: 'Whether a server at smtp:// must offer STARTTLS.',
    more: 'A server on this machine need not offer it, and its certificate is not verified. smtps:// always uses TLS.',
    fixed: FIXED,
  }),
  'mail.from': live(sender, '', 'Sender of the messages, for example Shop <no-reply@example.com>.'),
  'mail.reply-to': live(sender, '', { help: 'Where replies go.', more: 'Empty: to the sender.' }),
  'mail.templates': live(path, '', {
    help: 'Folder with texts of your own for the messages.',
    more: 'A file such as password-reset.txt or password-reset.html replaces the text of that message.',
    fixed: 'it names a file of this machine',
  }),
  'mail.sign-up': live(oneWordOf(['off', 'verified']), 'off', {
    help: 'Whether people can create an account for an e-mail address that is theirs.',
    more: 'verified: they give a name and an address, and choose the password with the link that is sent there. A name with @ must be the address. It needs mail.url. chttpd_auth.allow_sign_up must be false: it creates users without such a proof.',
  }),
  'mail.sign-in': live(oneWordOf(['off', 'verified']), 'off', {
    help: 'Whether users can sign in with their verified e-mail address in place of the name.',
    more: 'At every place that takes a name and a password. A name wins over an address that looks like it. With verified, only administrators and imports create names with @ that are not the address of the user, and no name can be the address of another user.',
  }),
  'mail.invitation-days': live(whole(1, 365), 7, 'How many days the link of an invitation works.'),
  'mail.mailbox-requests-per-hour': live(whole(0), 3, {
    help: 'Messages that can be asked for in an hour for one mailbox, before the response is 429.',
    more: 'Requests count whether or not the address has an account; those of administrators do not count. 0 switches the limit off.',
  }),
  'mail.client-requests-per-hour': live(whole(0), 10, {
    help: 'Messages that clients of one address can ask for in an hour, before the response is 429.',
    more: 'IPv6 addresses are counted by /64 network. 0 switches the limit off.',
  }),
}

const RULES: readonly Rule[] = [
  {
    about: ['mail.url', 'mail.from', 'console.public-url'],
    check: ({ values: { mail, console } }) =>
      mail.url !== '' && (mail.from === '' || console['public-url'] === '')
        ? 'mail.url needs mail.from, and console.public-url, with which links begin'
        : undefined,
  },
  {
    about: ['mail.sign-up', 'mail.url', 'chttpd_auth.allow_sign_up'],
    check: ({ values: { mail, chttpd_auth: auth } }) =>
      mail['sign-up'] === 'verified' && (mail.url === '' || auth.allow_sign_up)
        ? 'mail.sign-up = verified needs mail.url, and chttpd_auth.allow_sign_up = false'
        : undefined,
  },
]

export const mailOptions = {
  sections: { mail: 'Messages to users by e-mail. Without mail.url none is sent.' },
  rows: ROWS,
  rules: RULES,
} satisfies ModuleOptions
