import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import Fastify from 'fastify'
import { authenticate } from '../../../src/express.ts'
import { registerCardea } from '../../../src/fastify.ts'
import type { Cardea } from '../../../src/index.ts'
import { send } from '../../support/request.ts'
import type { Scope } from '../../support/scope.ts'
import { express, makeCookie, openCardea, serve } from './server.ts'

type Serve = (scope: Scope, cardea: Cardea) => Promise<string>

/** Programs that respond with the name of the user. */
const PROGRAMS: Readonly<Record<string, Serve>> = {
  Express: (scope, cardea) => {
    const app = express()
    app.use(authenticate(cardea))
    app.get('/', (request: { user?: { name: string } }, response: { json(value: unknown): void }) =>
      response.json(request.user?.name),
    )
    return serve(scope, app)
  },
  Fastify: async (scope, cardea) => {
    const fastify = Fastify()
    scope.after(() => fastify.close())
    await fastify.register(registerCardea, cardea)
    fastify.get('/', async ({ user }) => JSON.stringify(user?.name))
    return fastify.listen({ port: 0, host: '127.0.0.1' })
  },
  'node:http': (scope, cardea) =>
    serve(scope, async (request, response) => {
      const user = await cardea.authenticate(request, { response })
      response.end(JSON.stringify(user?.name))
    }),
}

describe('a session that is used only through the library', () => {
  for (const [program, open] of Object.entries(PROGRAMS)) {
    it(`is renewed with ${program}, as at the document door`, async (t) => {
      const { cardea, document } = await openCardea(t)
      const base = await open(t, cardea)
      const ask = async (ageSeconds: number) =>
        send(base, { path: '/', headers: { Cookie: await makeCookie(document, ageSeconds) } })
      const renewed = await ask(70)
      assert.equal(renewed.body, '"ada"')
      const [line = '', ...others] = renewed.lines['set-cookie'] ?? []
      assert.match(line, /^AuthSession=[\w-]+; Version=1; Expires=[^;]+; Max-Age=600; Path=\/; HttpOnly$/)
      assert.deepEqual(others, [])
      const again = await send(document, { path: '/_session', headers: { Cookie: line.split(';')[0] ?? '' } })
      assert.equal(JSON.parse(again.body).userCtx.name, 'ada')
      const fresh = await ask(50)
      assert.deepEqual([fresh.body, fresh.lines['set-cookie']], ['"ada"', undefined])
      const expired = await ask(600)
      assert.deepEqual([expired.body, expired.lines['set-cookie']], ['', undefined])
    })
  }

  it('is renewed in the headers of a web Response, and the user holds no cookie', async (t) => {
    const { cardea, document } = await openCardea(t)
    const request = new Request('http://app.example/', { headers: { Cookie: await makeCookie(document, 70) } })
    const headers = new Headers()
    const user = await cardea.authenticate(request, { response: headers })
    const { id, sessionId } = user ?? assert.fail()
    assert.deepEqual(user, { id, name: 'ada', roles: ['reader'], isAdmin: false, by: 'cookie', sessionId })
    assert.match(headers.getSetCookie().join(), /^AuthSession=/)
  })

  it('is not renewed in a response that was sent already', async (t) => {
    const { cardea, document } = await openCardea(t)
    const base = await serve(t, async (request, response) => {
      response.flushHeaders()
      response.end((await cardea.authenticate(request, { response }))?.name)
    })
    const answer = await send(base, { path: '/', headers: { Cookie: await makeCookie(document, 70) } })
    assert.deepEqual([answer.body, answer.lines['set-cookie']], ['ada', undefined])
  })

  it('ends where cardea.handle signs out behind the middleware', async (t) => {
    const { cardea, document } = await openCardea(t)
    const app = express()
    app.use(authenticate(cardea))
    app.use((...[request, response]: Parameters<Cardea['handle']>) => void cardea.handle(request, response))
    const base = await serve(t, app)
    const headers = { Cookie: await makeCookie(document, 70) }
    const answer = await send(base, { method: 'DELETE', path: '/_session', headers })
    assert.equal(answer.lines['set-cookie']?.length, 1)
    assert.match(answer.lines['set-cookie']?.[0] ?? '', /^AuthSession=;/)
  })
})
