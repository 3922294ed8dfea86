// Mistakes of a program that would otherwise make requests hang, or reject every user.
import assert from 'node:assert/strict'
import { it } from 'node:test'
import Fastify from 'fastify'
import { authenticate, requireRole, requireUser } from '../../../src/express.ts'
import * as fastifyModule from '../../../src/fastify.ts'
import { send } from '../../support/request.ts'
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
