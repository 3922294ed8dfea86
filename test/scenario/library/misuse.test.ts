// Mistakes of a program that would otherwise make requests hang, or reject every user.
import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { IncomingMessage, ServerResponse } from 'node:http'
import { Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { promisify } from 'node:util'
import Fastify, { type FastifyReply, type FastifyRequest } from 'fastify'
import { authenticate, requireRole, requireUser } from '../../../src/express.ts'
import * as fastifyModule from '../../../src/fastify.ts'
import { type Cardea, createCardea, createTestCardea } from '../../../src/index.ts'
import { send } from '../../support/request.ts'
import { createSharedScope } from '../../support/scope.ts'
import { express, openCardea, serve } from './server.ts'

// a program without types may give anything
const untyped = authenticate as (...given: unknown[]) => unknown
const register = fastifyModule.registerCardea as (...given: unknown[]) => Promise<unknown>

const WRONG_OPTIONS: readonly (readonly [options: unknown, message: RegExp])[] = [
  [{ door: 'documents' }, /^door must be 'document' or 'multi-model'$/],
  [{ doors: 'document' }, /^the options have no member doors: \{ door, service, origins, response \}$/],
  ['document', /^the options must be an object/],
]

it('invalid arguments are reported at once', async (t) => {
  const { cardea } = await openCardea(t)
  for (const wrong of [undefined, null, {}, 'x'])
    assert.throws(() => untyped(wrong), { name: 'TypeError', message: /^authenticate takes a Cardea/ })
  for (const [options, message] of WRONG_OPTIONS) {
    assert.throws(() => untyped(cardea, options), { name: 'TypeError', message })
    await assert.rejects(register(Fastify(), cardea, options), { name: 'TypeError', message })
  }
  for (const require of [requireUser, fastifyModule.requireUser] as ((given: unknown) => unknown)[])
    for (const wrong of [null, 'x', { challenge: 1 }, { chalenge: false }])
      assert.throws(() => require(wrong), { name: 'TypeError', message: /requireUser\(\)/ })
})

type Failure = Error & { status?: number }

it('Express: requireUser without parentheses, or before authenticate, is an error', async (t) => {
  const { cardea } = await openCardea(t)
  const app = express()
  app.get('/before', requireUser())
  app.get('/before-role', requireRole('reader'))
  app.use(authenticate(cardea))
  app.get('/uncalled', requireUser)
  app.get('/quiet', requireUser({ challenge: false }))
  app.get('/loud', requireUser())
  app.use((error: Failure, _request: unknown, response: { end(text: string): void }, _next: unknown) =>
    response.end(error.message),
  )
  const base = await serve(t, app)
  const ask = (path: string) => send(base, { path })
  for (const path of ['/before', '/before-role'])
    assert.equal((await ask(path)).body, 'authenticate(cardea) has not run for this request')
  assert.match((await ask('/uncalled')).body, /^requireUser must be called: requireUser\(\)/)
  const [quiet, loud] = [await ask('/quiet'), await ask('/loud')]
  assert.deepEqual([quiet.status, quiet.headers['www-authenticate']], [401, undefined])
  assert.deepEqual([loud.status, loud.headers['www-authenticate']], [401, 'Basic realm="Cardea", charset="UTF-8"'])
})

it('Fastify: requireUser without parentheses, or without the plug-in, is an error', async (t) => {
  const { cardea } = await openCardea(t)
  const bare = Fastify()
  bare.get('/', { preHandler: fastifyModule.requireUser() }, async () => 'x')
  bare.get('/role', { preHandler: fastifyModule.requireRole('reader') }, async () => 'x')
  for (const url of ['/', '/role'])
    assert.match((await bare.inject({ url })).body, /registerCardea has not run for this request/)
  const fastify = Fastify()
  await fastify.register(fastifyModule.registerCardea, cardea)
  const uncalled = fastifyModule.requireUser as unknown as fastifyModule.PreHandler
  fastify.get('/uncalled', { preHandler: uncalled }, async () => 'x')
  fastify.get('/quiet', { preHandler: fastifyModule.requireUser({ challenge: false }) }, async () => 'x')
  assert.match((await fastify.inject({ url: '/uncalled' })).body, /requireUser must be called: requireUser\(\)/)
  const { statusCode, headers } = await fastify.inject({ url: '/quiet' })
  assert.deepEqual([statusCode, headers['www-authenticate']], [401, undefined])
})

it('the reply of a framework in place of the response is an error that says what to give', async (t) => {
  const { cardea } = await openCardea(t)
  const fastify = Fastify()
  const rows: Readonly<Record<string, (request: FastifyRequest, reply: FastifyReply) => Promise<unknown>>> = {
    '/create': (_request, reply) => cardea.sessions.create('ada', { response: reply as never }),
    '/clear': (_request, reply) => cardea.sessions.clearCookie(reply as never),
    '/authenticate': ({ raw }, reply) => cardea.authenticate(raw, { response: reply as never }),
    '/handle': ({ raw }, reply) => cardea.handle(raw, reply as never),
    '/account': ({ raw }, reply) => cardea.handleAccount(raw, reply as never),
  }
  for (const [url, handle] of Object.entries(rows)) fastify.get(url, handle)
  for (const url of Object.keys(rows))
    assert.match((await fastify.inject({ url })).json().message, /give reply\.raw of Fastify/, url)
  assert.deepEqual((await cardea.sessions.list('ada')).sessions, [])
})

it('a failure in the routes of registerAccount is for the log of the program, not for its clients', async () => {
  const cause = new Error('/var/lib/cardea/secret cannot be read')
  const logged: unknown[] = []
  const cardea = { authenticate: async () => undefined, handleAccount: async () => Promise.reject(cause) }
  const fastify = Fastify()
  fastify.addHook('onRequest', async (request) => {
    request.log = { ...request.log, error: (error: unknown) => void logged.push(error) } as never
  })
  await fastify.register(fastifyModule.registerAccount, { prefix: '/account', cardea })
  const { statusCode, body } = await fastify.inject({ url: '/account/session' })
  assert.deepEqual([statusCode, body], [500, '{"error":"internal"}'])
  assert.deepEqual(logged, [cause])
})

it('a request without a socket is an error, and does not end a program that ignores it', async (t) => {
  const { cardea } = await openCardea(t)
  const ignored = cardea.handle(JSON.parse('{"headers":{}}'), new ServerResponse(new IncomingMessage(new Socket())))
  const message = /^handle takes a request of Node, with its socket\. For a web Request call cardea\.fetch$/
  await assert.rejects(ignored, { name: 'TypeError', message })
  await assert.rejects(cardea.handle(new Request('http://a/') as never, undefined as never), { message })
})

it('a closed Cardea says so', async () => {
  const cardea = await createTestCardea()
  await cardea.close()
  const request = new Request('http://a/')
  const closed = { name: 'StartError', message: 'This Cardea is closed: create another' }
  for (const work of [
    () => cardea.users.find('ada'),
    () => cardea.users.checkPassword('ada', 'pw'),
    () => cardea.sessions.list('ada'),
    () => cardea.accessTokens.list('ada'),
    () => cardea.passwordLinks.create('ada'),
    () => cardea.mail.setAddress('ada', null),
    () => cardea.authenticate(request),
    () => cardea.fetch(request, { peer: '192.0.2.1' }),
    () => cardea.fetch(new Request('http://a/_up'), { peer: '192.0.2.1', door: 'document' }),
  ])
    await assert.rejects(work, closed, String(work))
})

describe('a store in a file', () => {
  const scope = createSharedScope()
  const folder = mkdtempSync(join(tmpdir(), 'cardea-misuse-'))
  scope.after(() => rmSync(folder, { recursive: true }))
  const store = { url: `sqlite:${join(folder, 'cardea.db')}` }

  it('has one Cardea in a program', async () => {
    const first = await createTestCardea({ options: { store } })
    const message =
      /^This program uses the store already, with another Cardea\..* \(globalThis\.cardea \?\?= createCardea\(…\)\)$/
    await assert.rejects(createTestCardea({ options: { store } }), { name: 'StartError', message })
    await first.close()
    await (await createTestCardea({ options: { store } })).close()
  })

  it('does not keep a program running that forgets to close it', { timeout: 120_000 }, async () => {
    const program = `
      import { createTestCardea } from ${JSON.stringify(new URL('../../../src/index.ts', import.meta.url).href)}
      const cardea = await createTestCardea({ options: { store: ${JSON.stringify(store)} } })
      await cardea.users.create({ name: 'ada', password: 'pw' })
      await cardea.users.verifyPassword('ada', 'wrong')
      const request = new Request('http://a/_up')
      console.log((await cardea.fetch(request, { peer: '192.0.2.1', door: 'document' })).status)`
    const { stdout } = await promisify(execFile)(process.execPath, ['--input-type=module', '--eval', program])
    assert.equal(stdout, '200\n')
  })
})

describe('a forgotten await', () => {
  it('of createCardea is named by every member', async () => {
    const options = { store: { url: 'sqlite::memory:' }, admins: { admin: 'an engine of numbers' } }
    const message = 'createCardea returns a promise: const cardea = await createCardea(…)'
    const promise = createCardea({ options })
    for (const read of [
      (cardea: Cardea) => cardea.users.find('ada'),
      (cardea: Cardea) => cardea.authenticate(new Request('http://app.example/')),
      (cardea: Cardea) => cardea.close(),
    ])
      assert.throws(() => read(promise as never), { name: 'TypeError', message })
    const cardea = await promise
    const unnamed = Object.keys(cardea).filter((member) => !Object.getOwnPropertyDescriptor(promise, member)?.get)
    assert.deepEqual(unnamed, [])
    await cardea.close()
  })

  it('before an argument is named', async (t) => {
    const { cardea } = await openCardea(t)
    const { users, sessions, accessTokens } = cardea
    const promised = <T>(value: T) => Promise.resolve(value) as never
    for (const run of [
      () => users.find(promised('ada')),
      () => users.create(promised({ name: 'bob', password: 'pw' })),
      () => users.update('ada', promised({ roles: [] })),
      () => sessions.create(promised({ name: 'ada' })),
      () => sessions.create('ada', promised({})),
      () => sessions.revokeOthers(promised({ name: 'ada', sessionId: 'x' })),
      () => accessTokens.list(promised('ada')),
      () => cardea.authenticate(new Request('http://app.example/'), promised({})),
      async () => authenticate(promised(cardea)),
    ])
      await assert.rejects(run, { name: 'TypeError', message: /is a promise: write await before/ })
  })
})

it('an unknown user is named', async (t) => {
  const { users, sessions, mail, passwordLinks, accessTokens } = (await openCardea(t)).cardea
  for (const run of [
    () => users.update('bob', { roles: [] }),
    () => users.setPassword('bob', 'analytical'),
    () => users.disable('bob'),
    () => users.remove('bob'),
    () => passwordLinks.create('bob'),
    () => mail.setAddress('bob', null),
    () => accessTokens.list('bob'),
    () => sessions.create('bob'),
  ])
    await assert.rejects(run, { code: 'not_found', message: /^No (active )?user has the name bob\.$/ })
  await assert.rejects(passwordLinks.use('secret', 'analytical'), ({ message }) => !message.includes('secret'))
})
