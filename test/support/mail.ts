/** A mail server of a test, on loopback, and its messages as a person reads them. */
import { type AddressInfo, createServer } from 'node:net'
import { createInterface } from 'node:readline'
import PostalMime, { type Email } from 'postal-mime'
import { SMTPServer, type SMTPServerOptions } from 'smtp-server'
import type { Scope } from './scope.ts'
import { waitUntil } from './wait.ts'

export interface ReceivedMail extends Email {
  /** The receiver of the envelope. */
  readonly receiver: string
}

export interface MailServer {
  readonly url: string
  readonly port: number
  readonly mails: readonly ReceivedMail[]
  /** The next message to this address that was not taken before. */
  take(receiver: string): Promise<ReceivedMail>
  close(): Promise<void>
}

export async function startMailServer(
  scope: Scope,
  options: SMTPServerOptions & { port?: number } = {},
): Promise<MailServer> {
  const mails: ReceivedMail[] = []
  const taken = new Set<ReceivedMail>()
  const server = new SMTPServer({
    authOptional: true,
    disabledCommands: ['STARTTLS'],
    async onData(stream, session, done) {
      const chunks: Buffer[] = []
      for await (const chunk of stream) chunks.push(chunk)
      const email = await PostalMime.parse(Buffer.concat(chunks))
      for (const { address } of session.envelope.rcptTo) mails.push({ ...email, receiver: address })
      done()
    },
    ...options,
  })
  server.on('error', () => {})
  await new Promise<void>((resolve) => server.listen(options.port ?? 0, '127.0.0.1', resolve))
  const { port } = server.server.address() as AddressInfo
  let isOpen = true
  const close = async () => {
    if (!isOpen) return
    isOpen = false
    await new Promise<void>((resolve) => server.close(() => resolve()))
  }
  scope.after(close)
  const find = (receiver: string) => mails.find((mail) => mail.receiver === receiver && !taken.has(mail))
  return {
    url: `smtp://127.0.0.1:${port}`,
    port,
    mails,
    async take(receiver) {
      await waitUntil(() => find(receiver) !== undefined)
      const mail = find(receiver)
      if (!mail) throw new Error('unreachable')
      taken.add(mail)
      return mail
    },
    close,
  }
}

/** Gets messages, and breaks the connection instead of a reply to each: the sender cannot know whether they were accepted. */
export async function startBreakingServer(scope: Scope, port = 0): Promise<{ port: number; received(): number }> {
  let received = 0
  const server = createServer((socket) => {
    const replies = ['250 hello', '250 ok', '250 ok', '354 go on'].values()
    socket.on('error', () => {}).write('220 ready\r\n')
    createInterface({ input: socket }).on('line', (text) => {
      if (text === '.') {
        received += 1
        return void socket.destroy()
      }
      const { value } = replies.next()
      if (value !== undefined) socket.write(`${value}\r\n`)
    })
  })
  await new Promise<void>((resolve) => server.listen(port, '127.0.0.1', resolve))
  scope.after(() => new Promise<void>((resolve) => server.close(() => resolve())))
  return { port: (server.address() as AddressInfo).port, received: () => received }
}

/** The secret of the link in a message. */
export const tokenOf = ({ text = '' }: Pick<Email, 'text'>): string => /#\/[a-z-]+\/([\w-]{43})$/m.exec(text)?.[1] ?? ''
