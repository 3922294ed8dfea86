// The routes for sign-up, sign-in and the own account, mounted in a program.
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { after, before, describe, it } from 'node:test'
import Fastify from 'fastify'
import { idOf } from '../../../src/directory/account.ts'
import { createTotpSecret } from '../../../src/directory/second-factor/second-factor.ts'
import { account, authenticate, type Middleware, requireUser, type WithUser } from '../../../src/express.ts'
import { registerAccount } from '../../../src/fastify.ts'
import { type Cardea, createTestCardea } from '../../../src/index.ts'
import { type Reply, send } from '../../support/request.ts'
import { express } from './server.ts'

const ADA = { name: 'ada', password: 'analytical engine' }
const JSON_TYPE = { 'Content-Type': 'application/json' }

const post = (base: string, path: string, body: unknown, headers: Record<string, string> = {}): Promise<Reply> =>
  send(base, { method: 'POST', path, headers: { ...JSON_TYPE, ...headers }, body: JSON.stringify(body) })

const cookieOf = ({ lines }: Reply): Record<string, string> => ({
  Cookie: lines['set-cookie']?.[0]?.split(';')[0] ?? '',
})

async function listen(server: Server): Promise<string> {
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

/** A program that reads the body first, as most do. */
function createExpress(cardea: Cardea, ...parsers: unknown[]): Server {
  const app = express()
  app.use(...parsers, authenticate(cardea))
  app.use('/account', account(cardea))
  app.get('/me', requireUser(), SHOW_USER)
  return createServer(app)
}

const SHOW_USER = ({ user }: WithUser, response: ServerResponse) => void response.end(JSON.stringify(user))

const noParser: Middleware = (_request, _response, next) => next()

const FRAMEWORKS: Readonly<Record<string, (cardea: Cardea) => Promise<Server>>> = {
  Express: async (cardea) => createExpress(cardea, noParser),
  'Express, after its body parsers': async (cardea) =>
    createExpress(cardea, express.json(), express.urlencoded({ extended: false })),
  async Fastify(cardea) {
    const fastify = Fastify()
    await fastify.register(registerAccount, { prefix: '/account', cardea })
    await fastify.ready()
    return fastify.server
  },
  'a function from Request to Response': async (cardea) =>
    createServer(async (request, response) => {
      const { method = '', url, socket } = request
      const chunks: Buffer[] = []
      for await (const chunk of request) chunks.push(chunk)
      const headers = request.headers as Record<string, string>
      const body = chunks.length > 0 ? { body: Buffer.concat(chunks) } : {}
      const sent = new Request(`http://${headers['host']}${url}`, { method, headers, ...body })
      const answer = await cardea.fetch(sent, { peer: socket.remoteAddress ?? '', path: '/account' })
      response.writeHead(answer.status, [...answer.headers].flat())
      response.end(Buffer.from(await answer.arrayBuffer()))
    }),
}

for (const [name, create] of Object.entries(FRAMEWORKS)) {
  describe(`the account routes in ${name}`, () => {
    let cardea: Cardea
    let server: Server
    let base = ''
    before(async () => {
      cardea = await createTestCardea({ options: { chttpd_auth: { allow_sign_up: true, timeout: 50 } } })
      server = await create(cardea)
      base = await listen(server)
    })
    after(async () => {
      server?.close()
      await cardea?.close()
    })

    it('sign up, in and out', async () => {
      assert.equal((await post(base, '/account/sign-up', ADA)).status, 201)
      assert.equal((await post(base, '/account/sign-up', ADA)).status, 409)
      assert.equal((await post(base, '/account/sign-up', { ...ADA, roles: ['_admin'] })).status, 400)
      const wrong = await post(base, '/account/sign-in', { ...ADA, password: 'wrong' })
      assert.deepEqual([wrong.status, JSON.parse(wrong.body).error], [401, 'credential_refused'])
      const signedIn = await post(base, '/account/sign-in', ADA)
      assert.deepEqual(
        [signedIn.status, JSON.parse(signedIn.body)],
        [200, { name: 'ada', roles: [], id: idOf({ name: 'ada' }) }],
      )
      // the client reads here how long the cookie is valid
      assert.equal(signedIn.headers['x-cardea-session-timeout'], '50')
      const cookie = cookieOf(signedIn)
      const session = await send(base, { path: '/account/session', headers: cookie })
      assert.equal(session.headers['x-cardea-session-timeout'], '50')
      const show = async () => JSON.parse((await send(base, { path: '/account/session', headers: cookie })).body)
      assert.deepEqual(await show(), { name: 'ada', roles: [], id: idOf({ name: 'ada' }) })
      assert.equal(JSON.parse((await send(base, { path: '/account', headers: cookie })).body).rights, 'user')
      const signedOut = await post(base, '/account/sign-out', {}, cookie)
      assert.match(signedOut.lines['set-cookie']?.join() ?? '', /^AuthSession=;/)
      assert.deepEqual(await show(), { name: null })
    })

    it('sign out everywhere', async () => {
      const cookies = [
        cookieOf(await post(base, '/account/sign-in', ADA)),
        cookieOf(await post(base, '/account/sign-in', ADA)),
      ]
      assert.equal((await post(base, '/account/sign-out', { everywhere: true }, cookies[0])).status, 200)
      for (const headers of cookies)
        assert.equal((await send(base, { path: '/account/session', headers })).body, '{"name":null}\n')
    })

    it('sign out everywhere with a form', async () => {
      const cookies = [
        cookieOf(await post(base, '/account/sign-in', ADA)),
        cookieOf(await post(base, '/account/sign-in', ADA)),
      ]
      const signOut = (body: string) =>
        send(base, {
          method: 'POST',
          path: '/account/sign-out',
          headers: { 'Content-Type': 'application/x-www-form-urlencoded', ...cookies[0] },
          body,
        })
      const wrong = await signOut('everywhere=yes')
      assert.deepEqual([wrong.status, JSON.parse(wrong.body).reason], [400, 'everywhere must be true or false.'])
      assert.equal((await signOut('everywhere=on')).status, 200)
      for (const headers of cookies)
        assert.equal((await send(base, { path: '/account/session', headers })).body, '{"name":null}\n')
    })

    it('take a form, and lead to the next page', async () => {
      const form = (fields: Record<string, string>, headers = {}) =>
        send(base, {
          method: 'POST',
          path: '/account/sign-in?next=/home&fail=/sign-in%3Fa=1%23form',
          headers: { 'Content-Type': 'application/x-www-form-urlencoded', ...headers },
          body: new URLSearchParams(fields).toString(),
        })
      const { status, lines } = await form({ ...ADA, submit: 'Sign in' })
      assert.deepEqual([status, lines['location']], [302, ['/home']])
      assert.match(lines['set-cookie']?.join() ?? '', /^AuthSession=\w/)
      const failed = await form({ ...ADA, password: 'wrong' })
      assert.deepEqual(failed.lines['location'], ['/sign-in?a=1&error=credential_refused#form'])
      const stranger = await form(ADA, { Origin: 'https://evil.example', 'Sec-Fetch-Site': 'cross-site' })
      assert.deepEqual(stranger.lines['location'], ['/sign-in?a=1&error=cross_origin#form'])
      assert.equal(stranger.lines['set-cookie'], undefined)
    })

    it('refuse forms of another origin', async () => {
      const foreign = { Origin: 'https://evil.example', 'Sec-Fetch-Site': 'cross-site' }
      for (const row of ['sign-up', 'sign-in', 'sign-out']) {
        const refused = await send(base, {
          method: 'POST',
          path: `/account/${row}`,
          headers: { 'Content-Type': 'application/x-www-form-urlencoded', ...foreign },
          body: row === 'sign-out' ? '' : new URLSearchParams({ ...ADA, name: 'eve' }).toString(),
        })
        assert.deepEqual([refused.status, refused.lines['set-cookie']], [403, undefined], row)
      }
    })

    it('change the password, and keep the session', async () => {
      const cookie = cookieOf(await post(base, '/account/sign-in', ADA))
      const change = { password: 'difference engine', current_password: ADA.password }
      const body = JSON.stringify(change)
      const changed = await send(base, {
        method: 'PUT',
        path: '/account/password',
        headers: { ...JSON_TYPE, ...cookie },
        body,
      })
      assert.equal(changed.status, 200)
      const { body: shown } = await send(base, { path: '/account/session', headers: cookieOf(changed) })
      assert.equal(JSON.parse(shown).name, 'ada')
      await cardea.users.setPassword('ada', ADA.password)
    })

    it('ask for the code of a second factor', async () => {
      const cookie = cookieOf(await post(base, '/account/sign-in', ADA))
      const enrolled = await post(base, '/account/totp', {}, cookie)
      assert.equal(enrolled.status, 200, enrolled.body)
      assert.equal(JSON.parse(enrolled.body).secret.length, createTotpSecret().length)
      const wrong = { secret: JSON.parse(enrolled.body).secret, code: '000000' }
      assert.match(String((await post(base, '/account/totp/confirm', wrong, cookie)).status), /^4/)
    })

    it('have no other paths', async () => {
      for (const path of [
        '/account/nothing',
        '/account/token',
        '/account/token/renew',
        '/account/../_users',
        '/accounts',
      ])
        assert.match(String((await send(base, { path })).status), /^40[014]$/, path)
    })
  })
}

for (const parser of ['raw', 'text']) {
  it(`the account routes in Express, after express.${parser} for every type`, async (t) => {
    const cardea = await createTestCardea()
    t.after(() => cardea.close())
    await cardea.users.create(ADA)
    const server = createExpress(cardea, express[parser]({ type: '*/*' }))
    t.after(() => server.close())
    const base = await listen(server)
    assert.equal((await post(base, '/account/sign-in', ADA)).status, 200)
    const headers = { 'Content-Type': 'application/x-www-form-urlencoded' }
    const body = new URLSearchParams(ADA).toString()
    assert.equal((await send(base, { method: 'POST', path: '/account/sign-in', headers, body })).status, 200)
  })
}

it('the account routes in Fastify, below a prefix with a parameter', async (t) => {
  const cardea = await createTestCardea()
  t.after(() => cardea.close())
  const fastify = Fastify()
  await fastify.register(registerAccount, { prefix: '/:tenant/account', cardea })
  t.after(() => fastify.close())
  const base = await fastify.listen({ host: '127.0.0.1', port: 0 })
  for (const [path, status] of [
    ['/a/account/session', 200],
    ['/a-long-tenant/account/session?x=/y', 200],
    ['/a-long-tenant/account', 401],
  ] as const)
    assert.equal((await send(base, { path })).status, status, path)
})

it('the account routes in Fastify, for requests that a test injects', async (t) => {
  const cardea = await createTestCardea({ options: { chttpd_auth: { allow_sign_up: true } } })
  t.after(() => cardea.close())
  const fastify = Fastify()
  await fastify.register(registerAccount, { prefix: '/account', cardea })
  const signUp = await fastify.inject({ method: 'POST', url: '/account/sign-up', payload: ADA })
  assert.deepEqual([signUp.statusCode, signUp.json()], [201, { name: 'ada' }])
  const signIn = await fastify.inject({ method: 'POST', url: '/account/sign-in', payload: ADA })
  const [{ name = '', value = '' } = {}] = signIn.cookies
  const session = await fastify.inject({ url: '/account/session', cookies: { [name]: value } })
  assert.deepEqual(session.json(), { name: 'ada', roles: [], id: idOf({ name: 'ada' }) })
})

describe('cardea.fetch', () => {
  let cardea: Cardea
  before(async () => {
    cardea = await createTestCardea()
  })
  after(() => cardea?.close())

  it('serves a door', async () => {
    const response = await cardea.fetch(new Request('http://a/_up'), { peer: '192.0.2.1', door: 'document' })
    assert.deepEqual([response.status, JSON.parse(await response.text()).status], [200, 'ok'])
    const head = new Request('http://a/_up', { method: 'HEAD' })
    assert.equal(await (await cardea.fetch(head, { peer: '192.0.2.1', door: 'document' })).text(), '')
  })

  it('rejects a door that does not exist', async () => {
    const options = { peer: '192.0.2.1', door: 'documents' as 'document' }
    await assert.rejects(cardea.fetch(new Request('http://a/_up'), options), /There is no door "documents"/)
  })

  it('keeps sign-up closed unless the options open it', async () => {
    const request = new Request('http://a/_cardea/account/sign-up', {
      method: 'POST',
      headers: JSON_TYPE,
      body: JSON.stringify(ADA),
    })
    assert.equal((await cardea.fetch(request, { peer: '192.0.2.1' })).status, 403)
  })

  it('marks the cookie of a request over TLS as secure', async () => {
    await cardea.users.create(ADA)
    const request = new Request('https://a/_cardea/account/sign-in', {
      method: 'POST',
      headers: JSON_TYPE,
      body: JSON.stringify(ADA),
    })
    const response = await cardea.fetch(request, { peer: '192.0.2.1' })
    assert.match(response.headers.get('set-cookie') ?? '', /; Secure;/)
    const { cookie } = await cardea.sessions.create('ada', { request: new Request('https://a/') })
    assert.match(cookie, /; Secure;/)
  })

  it('locks out the client of the wrong passwords, and no other', async () => {
    const guess = (peer: string, password: string) =>
      cardea.fetch(
        new Request('http://a/_cardea/account/sign-in', {
          method: 'POST',
          headers: JSON_TYPE,
          body: JSON.stringify({ ...ADA, password }),
        }),
        { peer },
      )
    let status = 0
    for (let attempts = 0; attempts < 30 && status !== 403; attempts += 1)
      status = (await guess('192.0.2.9', 'x')).status
    assert.equal(status, 403, 'locked')
    assert.equal((await guess('192.0.2.1', ADA.password)).status, 200)
  })

  const request = new Request('http://a/_cardea/account/session')
  const misuses: readonly [name: string, work: () => Promise<unknown>, says: RegExp][] = [
    ['no peer', () => cardea.fetch(request, JSON.parse('{}')), /fetch needs the address of the client: \{ peer/],
    ['a host in place of the peer', () => cardea.fetch(request, { peer: 'localhost' }), /address of the client/],
    [
      'a path without its slash',
      () => cardea.fetch(request, { peer: '192.0.2.1', path: 'account' }),
      /^path must be the path where your program mounts the routes: '\/account'$/,
    ],
    ['a path that is no text', () => cardea.fetch(request, JSON.parse('{"peer":"192.0.2.1","path":42}')), /^path must/],
    [
      'an unknown option of fetch',
      () => cardea.fetch(request, JSON.parse('{"peer":"192.0.2.1","mount":"/account"}')),
      /^the option object of fetch has no member mount: \{ peer, path, door \}$/,
    ],
    [
      'an unknown option of authenticate',
      () => cardea.authenticate(request, JSON.parse('{"services":"shop"}')),
      /^the option object of authenticate has no member services: \{ door, service, origins, response, peer \}$/,
    ],
    [
      'a body that was read',
      async () => {
        const read = new Request(request.url, { method: 'POST', body: '{}' })
        await read.text()
        return cardea.fetch(read, { peer: '192.0.2.1' })
      },
      /^fetch takes a Request whose body is unread/,
    ],
    ['no Request', () => cardea.fetch(JSON.parse('{}'), { peer: '192.0.2.1' }), /takes a Request/],
    [
      'a web Request with a password, without its peer',
      () => cardea.authenticate(new Request('http://a/', { headers: { Authorization: 'Basic YTpi' } })),
      /authenticate needs the address of the client/,
    ],
    [
      'verifyPassword without the peer',
      () => cardea.users.verifyPassword('ada', 'x', { request }),
      /verifyPassword needs the address of the client/,
    ],
  ]
  for (const [name, work, message] of misuses) {
    it(`reports ${name}`, () => assert.rejects(work, { name: 'TypeError', message }))
  }
})
