/** Sends messages to the mail server of the operator. `nodemailer` is loaded with the first one. */
import { PassThrough } from 'node:stream'
import { messageOf } from '../../base/errors.ts'
import type { MessageName } from './messages.ts'
import { type MessageValues, renderMessage } from './render.ts'
import { type MailSettings, toProduct } from './settings.ts'

export interface MailMessage {
  readonly name: MessageName
  /** The address of the receiver. */
  readonly to: string
  readonly values?: MessageValues
}

/** Why a message was not sent. `isFinal`: the server will not accept it later either. */
export class NotSentError extends Error {
  override readonly name = 'NotSentError'
  readonly isFinal: boolean
  /** The server has the whole message, and did not say whether it accepts it. */
  readonly isUncertain: boolean

  /** `error`: of the library. Its message is that of the server, and may quote addresses. */
  constructor(error: unknown, isGiven: boolean) {
    super(
      messageOf(error)
        .replace(/[\p{C}\s]+/gu, ' ')
        .replace(/\S+@\S+/g, '…')
        .slice(0, 200),
      { cause: error },
    )
    const status = error instanceof Error && 'responseCode' in error ? Number(error.responseCode) : 0
    this.isFinal = status >= 550 && status < 560
    this.isUncertain = isGiven && status === 0
  }
}

/**
 * Connects, sends and disconnects: messages are rare, and servers close connections that are kept. Without the connection a
 * slow server does not get the message that the next attempt sends, too.
 */
export async function sendMessage(
  settings: MailSettings,
  { name, to, values }: MailMessage,
  signal?: AbortSignal,
): Promise<void> {
  const { mail, console } = settings
  const product = toProduct(settings)
  const rendered = await renderMessage(name, { product, url: console['public-url'], ...values }, mail.templates)
  const transport = await createTransport(settings)
  let isGiven = false
  const watched = new PassThrough().once('end', () => {
    isGiven = true
  })
  transport.use('stream', ({ message }, done) => {
    message.transform(watched)
    done()
  })
  try {
    await transport.sendMail({
      from: mail.from,
      // an object: a text would be read as a list of addresses
      to: { name: '', address: to },
      ...(mail['reply-to'] !== '' && { replyTo: mail['reply-to'] }),
      // no program should reply that its owner is on holiday
      headers: { 'Auto-Submitted': 'auto-generated', 'X-Auto-Response-Suppress': 'All' },
      ...(signal && { signal }),
      disableFileAccess: true,
      disableUrlAccess: true,
      ...rendered,
    })
  } catch (error) {
    throw new NotSentError(error, isGiven)
  } finally {
    transport.close()
  }
}

/** Connects and signs in without sending anything. */
export async function checkMailServer(settings: MailSettings): Promise<void> {
  const transport = await createTransport(settings)
  try {
    await transport.verify()
  } finally {
    transport.close()
  }
}

const CONNECT_MS = 10_000
/** Servers look at a message before they accept it. */
const REPLY_MS = 45_000
const THIS_MACHINE = /^(?:localhost|127(?:\.\d{1,3}){3}|\[::1\])$/

async function createTransport({ mail }: Pick<MailSettings, 'mail'>) {
  const nodemailer = await import('nodemailer')
  const { protocol, hostname, port, username } = new URL(mail.url)
  const user = decodeURIComponent(username)
  const isHere = THIS_MACHINE.test(hostname)
  return nodemailer.createTransport({
    host: hostname.replace(/^\[|\]$/g, ''),
    secure: protocol === 'smtps:',
    ...(port !== '' && { port: Number(port) }),
    ...(user !== '' && { auth: { user, pass: mail.password } }),
    // links to set a password must not be readable on the network
    requireTLS: mail.tls === 'required' && protocol === 'smtp:' && !isHere,
    // what does not leave this machine needs no certificate, and those of local servers are made by themselves
    ...(isHere && { tls: { rejectUnauthorized: false } }),
    connectionTimeout: CONNECT_MS,
    greetingTimeout: CONNECT_MS,
    socketTimeout: REPLY_MS,
  })
}
