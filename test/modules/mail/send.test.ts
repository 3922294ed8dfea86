import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { getCACertificates, setDefaultCACertificates } from 'node:tls'
import { MAIL_CHECK } from '../../../src/modules/mail/checks.ts'
import { NotSentError, sendMessage } from '../../../src/modules/mail/send.ts'
import type { MailSettings } from '../../../src/modules/mail/settings.ts'
import { read } from '../../config/given.ts'
import { createAuthority } from '../../support/certificates.ts'
import { startBreakingServer, startMailServer } from '../../support/mail.ts'
import { createSharedScope, makeFolder } from '../../support/scope.ts'

const toSettings = (mail: Partial<MailSettings['mail']>): MailSettings => ({
  mail: {
    url: '',
    password: '',
    tls: 'required',
    from: 'Shop <no-reply@shop.example>',
    'reply-to': '',
    templates: '',
    'sign-up': 'off',
    'sign-in': 'off',
    'invitation-days': 7,
    'mailbox-requests-per-hour': 3,
    'client-requests-per-hour': 10,
    ...mail,
  },
  console: { name: '', 'public-url': 'https://db.example.com' },
})

const MESSAGE = { name: 'test', to: 'ada@example.com' } as const

describe('a message', () => {
  it('is sent with the password of the user, and names where replies go', async (t) => {
    const seen: unknown[] = []
    const server = await startMailServer(t, {
      allowInsecureAuth: true,
      onAuth({ username, password }, _session, done) {
        seen.push([username, password])
        done(null, { user: username })
      },
    })
    const url = server.url.replace('smtp://', 'smtp://shop%40mail@')
    await sendMessage(toSettings({ url, password: 'p@ss:word', 'reply-to': 'help@shop.example' }), MESSAGE)
    const [mail] = server.mails
    assert.deepEqual(seen, [['shop@mail', 'p@ss:word']])
    assert.equal(mail?.subject, 'A test message of db.example.com')
    assert.equal(mail?.replyTo?.[0]?.address, 'help@shop.example')
    assert.ok(mail?.headers.some(({ key, value }) => key === 'auto-submitted' && value === 'auto-generated'))
  })

  it('is not sent in clear to another machine', async (t) => {
    const server = await startMailServer(t)
    // leads to this machine, too, but its name does not say so
    const url = server.url.replace('127.0.0.1', '0.0.0.0')
    await assert.rejects(sendMessage(toSettings({ url }), MESSAGE), NotSentError)
    assert.equal(server.mails.length, 0)
    await sendMessage(toSettings({ url, tls: 'optional' }), MESSAGE)
    assert.equal(server.mails.length, 1)
  })

  describe('over TLS', () => {
    const authority = createAuthority(makeFolder(createSharedScope()), 'mail')
    const pair = authority.issue({ subject: '/CN=mail', usage: 'serverAuth', address: '0.0.0.0' })
    const WITH_STARTTLS = { disabledCommands: [], ...pair }
    const ROWS = [
      ['a local server', 'smtp://127.0.0.1', WITH_STARTTLS, 'self-signed'],
      ['a local server with smtps', 'smtps://127.0.0.1', { secure: true, ...pair }, 'self-signed'],
      ['another machine', 'smtp://0.0.0.0', WITH_STARTTLS, 'trusted'],
      ['another machine with smtps', 'smtps://0.0.0.0', { secure: true, ...pair }, 'trusted'],
    ] as const
    for (const [name, origin, options, certificate] of ROWS)
      it(`reaches ${name}, which has a ${certificate} certificate`, async (t) => {
        const seen: boolean[] = []
        const server = await startMailServer(t, {
          ...options,
          onMailFrom: (_address, { secure }, done) => [seen.push(secure), done()],
        })
        const settings = toSettings({ url: `${origin}:${server.port}` })
        if (certificate === 'trusted') {
          await assert.rejects(sendMessage(settings, MESSAGE), /certificate/)
          const before = getCACertificates('default')
          setDefaultCACertificates([...before, authority.cert])
          t.after(() => setDefaultCACertificates(before))
        }
        await sendMessage(settings, MESSAGE)
        assert.deepEqual(seen, [true])
      })
  })

  for (const [code, isFinal] of [
    [550, true],
    [451, false],
  ] as const)
    it(`that the server refuses with ${code} is ${isFinal ? 'not tried' : 'tried'} again, and no address is in the reason`, async (t) => {
      const server = await startMailServer(t, {
        onRcptTo({ address }, _session, done) {
          done(Object.assign(new Error(`unknown user <${address}>`), { responseCode: code }))
        },
      })
      await assert.rejects(sendMessage(toSettings({ url: server.url }), MESSAGE), (error) => {
        assert.ok(error instanceof NotSentError)
        assert.equal(error.isFinal, isFinal)
        assert.doesNotMatch(error.message, /ada@/)
        return true
      })
    })
})

describe('cardea check', () => {
  const check = async (...more: readonly string[]) => {
    const { settings, problems } = read({
      argv: ['--mail.from', 'a@example.com', '--console.public-url', 'https://db.example.com', ...more],
    })
    assert.deepEqual(problems, [])
    assert.ok(MAIL_CHECK.isConfigured(settings, {}))
    return (await MAIL_CHECK.find(settings, { hasStore: false, findDatabase: () => assert.fail(), flags: {} })).map(
      ({ level, message }) => `${level} ${message}`,
    )
  }

  it('connects to the mail server', async (t) => {
    const server = await startMailServer(t)
    assert.deepEqual(await check('--mail.url', server.url), [])
    await server.close()
    const [problem = ''] = await check('--mail.url', server.url)
    assert.match(problem, /^problem the mail server does not accept Cardea: .*ECONNREFUSED/)
  })

  it('finds placeholders that stay empty', async (t) => {
    const server = await startMailServer(t)
    const folder = makeFolder(t)
    writeFileSync(join(folder, 'password-reset.txt'), 'Dear {{name}}')
    assert.deepEqual(await check('--mail.url', server.url, '--mail.templates', folder), [
      'warning the template of password-reset has {{name}}, which stays empty',
    ])
  })
})

describe('the options', () => {
  const FLAWS: Readonly<Record<string, readonly string[]>> = {
    'a password in the URL': ['--mail.url', 'smtp://ann:secret@mail.example.com'],
    'another scheme': ['--mail.url', 'https://mail.example.com'],
    'a path': ['--mail.url', 'smtp://mail.example.com/x'],
    'a sender that is no address': ['--mail.from', 'Shop'],
    'a sender with a line break': ['--mail.from', 'Shop\nBcc: <eve@example.com>'],
    'a server without a sender': ['--mail.url', 'smtp://mail.example.com', '--console.public-url', 'https://a.example'],
    'a server without a public URL': ['--mail.url', 'smtp://mail.example.com', '--mail.from', 'a@example.com'],
    'verified sign-up without a server': ['--mail.sign-up', 'verified'],
  }
  for (const [name, argv] of Object.entries(FLAWS))
    it(`refuse ${name}`, () => assert.equal(read({ argv }).problems.length, 1))
})

it('a message is not sent after its signal, and the connection ends', async (t) => {
  const stop = new AbortController()
  const closed = Promise.withResolvers<void>()
  const server = await startMailServer(t, {
    // never answers
    onMailFrom: () => stop.abort(),
    onClose: () => closed.resolve(),
  })
  await assert.rejects(sendMessage(toSettings({ url: server.url }), MESSAGE, stop.signal), NotSentError)
  await closed.promise
  assert.equal(server.mails.length, 0)
})

it('a message that a server has received, without saying so, is known as uncertain', async (t) => {
  const { port } = await startBreakingServer(t)
  await assert.rejects(
    sendMessage(toSettings({ url: `smtp://127.0.0.1:${port}` }), MESSAGE),
    (error) => error instanceof NotSentError && error.isUncertain && !error.isFinal,
  )
})
