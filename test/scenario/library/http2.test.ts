// A program with an HTTP/2 server of its own.
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { type ClientHttp2Session, connect, createServer, type OutgoingHttpHeaders } from 'node:http2'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import { after, before, describe, it } from 'node:test'
import Fastify from 'fastify'
import { idOf } from '../../../src/directory/account.ts'
import { registerAccount, registerCardea, requireUser } from '../../../src/fastify.ts'
import { type Cardea, createTestCardea } from '../../../src/index.ts'

const ADA = { name: 'ada', password: 'analytical engine' }

async function ask(session: ClientHttp2Session, headers: OutgoingHttpHeaders, body?: string) {
  const stream = session.request(headers, { endStream: body === undefined })
  if (body !== undefined) stream.end(body)
  const [received] = await once(stream, 'response')
  return { status: received[':status'], headers: received, body: await text(stream) }
}

describe('HTTP/2', () => {
  let cardea: Cardea
  const fastify = Fastify({ http2: true })
  const server = createServer((request, response) => void cardea.handle(request as never, response as never))
  let session: ClientHttp2Session
  let bare: ClientHttp2Session
  let origin = ''
  before(async () => {
    cardea = await createTestCardea()
    await cardea.users.create(ADA)
    await fastify.register(registerAccount, { prefix: '/account', cardea } as never)
    await fastify.register(registerCardea as never, cardea as never)
    fastify.post('/me', { preHandler: requireUser() as never }, async ({ user }) => user?.name)
    origin = await fastify.listen({ host: '127.0.0.1', port: 0 })
    session = connect(origin)
    server.listen(0, '127.0.0.1')
    await once(server, 'listening')
    bare = connect(`http://127.0.0.1:${(server.address() as AddressInfo).port}`)
  })
  after(async () => {
    session?.destroy()
    bare?.destroy()
    server.close()
    await fastify.close()
    await cardea?.close()
  })

  it('serves the account routes, and a form of the own origin', async () => {
    const signIn = { ':path': '/account/sign-in', ':method': 'POST', 'content-type': 'application/json' }
    const { status, headers } = await ask(session, signIn, JSON.stringify(ADA))
    assert.equal(status, 200)
    assert.equal(headers.connection, undefined)
    const cookie = headers['set-cookie'][0].split(';')[0]
    const shown = await ask(session, { ':path': '/account/session', cookie })
    assert.deepEqual(JSON.parse(shown.body), { name: 'ada', roles: [], id: idOf({ name: 'ada' }) })
    const form = { ':path': '/me', ':method': 'POST', cookie }
    const own = await ask(session, { ...form, origin }, '')
    assert.deepEqual([own.status, own.body], [200, 'ada'])
    assert.equal((await ask(session, { ...form, origin: 'https://evil.example' }, '')).status, 403)
  })

  it('refuses the forms of another origin in the account routes', async () => {
    const type = { 'content-type': 'application/x-www-form-urlencoded' }
    const form = { ':path': '/account/sign-in', ':method': 'POST', ...type }
    const body = new URLSearchParams(ADA).toString()
    assert.equal((await ask(session, { ...form, origin }, body)).status, 200)
    assert.equal((await ask(session, { ...form, origin: 'https://evil.example' }, body)).status, 403)
  })

  it('serves the account routes after a body parser, and no door', async (t) => {
    const parsing = createServer(async (request, response) => {
      const body = await text(request)
      const parsed = Object.assign(request, body === '' ? {} : { body: JSON.parse(body) }) as never
      if (request.url === '/_session') await cardea.handle(parsed, response as never)
      else await cardea.handleAccount(parsed, response as never)
    })
    parsing.listen(0, '127.0.0.1')
    await once(parsing, 'listening')
    const own = connect(`http://127.0.0.1:${(parsing.address() as AddressInfo).port}`)
    t.after(() => {
      own.destroy()
      parsing.close()
    })
    const json = { ':method': 'POST', 'content-type': 'application/json' }
    const body = JSON.stringify(ADA, undefined, 4)
    for (const length of [{}, { 'content-length': body.length }]) {
      const signedIn = await ask(own, { ...json, ...length, ':path': '/sign-in' }, body)
      assert.equal(signedIn.status, 200, signedIn.body)
      const cookie = signedIn.headers['set-cookie'][0].split(';')[0]
      assert.equal(JSON.parse((await ask(own, { ':path': '/session', cookie })).body).name, 'ada')
      const refused = await ask(own, { ...json, ...length, ':path': '/_session' }, body)
      assert.deepEqual([refused.status, /Call cardea.handle before/.test(refused.body)], [500, true], refused.body)
    }
  })

  it('serves a door', async () => {
    const { status, body } = await ask(bare, { ':path': '/_session' })
    assert.deepEqual([status, JSON.parse(body).ok], [200, true])
    assert.equal((await ask(bare, { ':path': '/_up', ':method': 'HEAD' })).status, 200)
    const authorization = `Basic ${btoa(`${ADA.name}:${ADA.password}`)}`
    // the body is part of this request, though its length is not given
    const signOut = { ':path': '/_session', ':method': 'DELETE', authorization }
    assert.equal((await ask(bare, signOut, 'GET /_up HTTP/1.1\r\nHost: a\r\n\r\n')).status, 200)
  })
})
