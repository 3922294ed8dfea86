// A form on a page of another site makes a browser send the cookie of a user: the middleware rejects it as the doors do.
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import Fastify from 'fastify'
import { authenticate } from '../../../src/express.ts'
import { registerCardea } from '../../../src/fastify.ts'
import { type AuthenticateOptions, type Cardea, CardeaError } from '../../../src/index.ts'
import { send } from '../../support/request.ts'
import type { Scope } from '../../support/scope.ts'
import { createSharedScope } from '../../support/scope.ts'
import { express, makeCookie, openCardea, serve } from './server.ts'

const OTHER = 'https://other.example'
const FRIEND = 'https://friend.example'
const FORM = { 'Content-Type': 'application/x-www-form-urlencoded' }

type Serve = (scope: Scope, cardea: Cardea, options?: AuthenticateOptions) => Promise<string>

/** Programs that respond with the name of the user. */
const PROGRAMS: Readonly<Record<string, Serve>> = {
  Express: (scope, cardea, options) => {
    const app = express()
    app.use(authenticate(cardea, options))
    app.all('/', (request: { user?: { name: string } }, response: { json(value: unknown): void }) =>
      response.json(request.user?.name ?? null),
    )
    return serve(scope, app)
  },
  Fastify: async (scope, cardea, options) => {
    const fastify = Fastify()
    scope.after(() => fastify.close())
    fastify.addContentTypeParser('*', (_request, payload, done) => void payload.resume().on('end', () => done(null)))
    await registerCardea(fastify, cardea, options)
    fastify.all('/', async ({ user }) => JSON.stringify(user?.name ?? null))
    return fastify.listen({ port: 0, host: '127.0.0.1' })
  },
}

const ROWS: readonly [name: string, headers: Readonly<Record<string, string>>, status: number][] = [
  ['a form of another site', { ...FORM, Origin: OTHER, 'Sec-Fetch-Site': 'cross-site' }, 403],
  ['a form of another site in an old browser', { ...FORM, Origin: OTHER }, 403],
  ['a form of another origin of the site', { ...FORM, Origin: OTHER, 'Sec-Fetch-Site': 'same-site' }, 403],
  ['text of another site', { 'Content-Type': 'text/plain', Origin: OTHER }, 403],
  ['a sandboxed frame', { ...FORM, Origin: 'null', 'Sec-Fetch-Site': 'cross-site' }, 403],
  ['a form without Origin', { ...FORM, 'Sec-Fetch-Site': 'cross-site' }, 403],
  ['an allowed origin', { ...FORM, Origin: FRIEND, 'Sec-Fetch-Site': 'cross-site' }, 200],
  ['an origin that begins with an allowed one', { ...FORM, Origin: `${FRIEND}.evil.example` }, 403],
  ['the own origin', { ...FORM, 'Sec-Fetch-Site': 'same-origin' }, 200],
  ['JSON, which needs a preflight', { 'Content-Type': 'application/json', Origin: OTHER }, 200],
  ['a program', FORM, 200],
]

const scope = createSharedScope()
const { cardea, document } = await openCardea(scope)

for (const [program, open] of Object.entries(PROGRAMS))
  describe(`${program}, a POST with the cookie of a user`, async () => {
    const base = await open(scope, cardea, { origins: [FRIEND] })
    const post = (headers: Readonly<Record<string, string>>, method = 'POST') =>
      send(base, { method, path: '/', headers, ...(method === 'POST' && { body: 'null' }) })

    for (const [name, headers, status] of ROWS)
      it(`is ${status} for ${name}`, async () => {
        const reply = await post({ ...headers, Cookie: await makeCookie(document, 10) })
        assert.equal(reply.status, status, reply.body)
        if (status === 200) assert.equal(reply.body, '"ada"')
      })

    it('is anonymous without the cookie, whatever its origin', async () => {
      const reply = await post({ ...FORM, Origin: OTHER })
      assert.deepEqual([reply.status, reply.body], [200, 'null'])
    })

    it('may be read from another site by a link', async () => {
      const headers = { 'Sec-Fetch-Site': 'cross-site', Cookie: await makeCookie(document, 10) }
      assert.equal((await post(headers, 'GET')).status, 200)
    })

    it('is rejected for every other origin without a list', async (t) => {
      const closed = await open(t, cardea)
      const headers = { ...FORM, Origin: FRIEND, Cookie: await makeCookie(document, 10) }
      assert.equal((await send(closed, { method: 'POST', path: '/', headers, body: 'null' })).status, 403)
    })
  })

it('cardea.authenticate rejects it with a CardeaError', async () => {
  const headers = { ...FORM, Origin: OTHER, Cookie: await makeCookie(document, 10) }
  const request = new Request('http://app.example/', { method: 'POST', headers })
  await assert.rejects(cardea.authenticate(request), (error: unknown) => {
    assert.ok(error instanceof CardeaError)
    assert.deepEqual([error.code, error.status, error.statusCode], ['cross_origin', 403, 403])
    return true
  })
  // no header `Origin: null` is ever allowed: every page can make a frame with that origin
  const framed = new Request(request, { headers: { ...headers, Origin: 'null' } })
  await assert.rejects(cardea.authenticate(framed, { origins: ['null'] }), { code: 'cross_origin' })
  const text = { origins: `${OTHER}.example` } as unknown as AuthenticateOptions
  await assert.rejects(cardea.authenticate(request, text), TypeError)
})

for (const origins of [
  'https://a.example',
  [1],
  ['*'],
  ['null'],
  ['a.example'],
  ['https://a.example/'],
  ['https://A.example'],
])
  it(`rejects origins that no browser sends: ${JSON.stringify(origins)}`, () =>
    assert.throws(() => authenticate(cardea, { origins } as unknown as AuthenticateOptions), TypeError))
