// Headers that decide who a client is, sent twice to a program that uses Cardea, whatever version the client claims.
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer, type ServerResponse } from 'node:http'
import { createServer as createHttp2Server } from 'node:http2'
import type { AddressInfo, Server } from 'node:net'
import { after, before, describe, it } from 'node:test'
import Fastify from 'fastify'
import { account, authenticate, type WithUser } from '../../../src/express.ts'
import { registerAccount, registerCardea } from '../../../src/fastify.ts'
import { type Cardea, createTestCardea } from '../../../src/index.ts'
import { exchange, request as toFrame } from '../../support/frames.ts'
import { sendRaw } from '../../support/raw.ts'
import { express } from './server.ts'

const ADA = { name: 'ada', password: 'analytical engine' }
const RIGHT = `Basic ${btoa(`${ADA.name}:${ADA.password}`)}`
const WRONG = `Basic ${btoa('eve:guess')}`

const TWICE: readonly { name: string; headers: readonly [string, string][] }[] = [
  {
    name: 'Authorization',
    headers: [
      ['authorization', RIGHT],
      ['authorization', WRONG],
    ],
  },
  {
    name: 'Host',
    headers: [
      ['authorization', RIGHT],
      ['host', 'evil.example'],
    ],
  },
]

const SHOW_USER = ({ user }: WithUser, response: ServerResponse) => void response.end(`user ${user?.name ?? 'none'}`)

const FRAMEWORKS: Readonly<Record<string, (cardea: Cardea) => Promise<Server>>> = {
  async Express(cardea) {
    const app = express()
    app.use('/account', account(cardea))
    app.use(authenticate(cardea))
    app.get('/me', SHOW_USER)
    return createServer(app)
  },
  async Fastify(cardea) {
    const fastify = Fastify()
    await fastify.register(registerAccount, { prefix: '/account', cardea })
    await fastify.register(registerCardea as never, cardea as never)
    fastify.get('/me', async ({ user }) => `user ${user?.name ?? 'none'}`)
    await fastify.ready()
    return fastify.server
  },
}

async function listen(server: Server): Promise<number> {
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return (server.address() as AddressInfo).port
}

for (const [framework, create] of Object.entries(FRAMEWORKS))
  describe(`repeated headers in ${framework}`, () => {
    let cardea: Cardea
    let server: Server
    let port = 0
    before(async () => {
      cardea = await createTestCardea()
      await cardea.users.create(ADA)
      server = await create(cardea)
      port = await listen(server)
    })
    after(async () => {
      server?.close()
      await cardea?.close()
    })

    const ask = (path: string, version: string, headers: readonly (readonly string[])[]) => {
      const lines = headers.map(([name, value]) => `${name}: ${value}\r\n`).join('')
      return sendRaw(port, `GET ${path} HTTP/${version}\r\nHost: localhost\r\nConnection: close\r\n${lines}\r\n`)
    }

    it('accepts each of them once', async () => {
      const once = [['authorization', RIGHT]]
      assert.match((await ask('/account/session', '1.1', once)).body, /"name":"ada"/)
      assert.match((await ask('/me', '1.1', once)).body, /user ada/)
    })

    it('refuses a version that the connection does not speak', async () => {
      assert.equal((await ask('/account/session', '2.0', [])).status, 400)
    })

    for (const version of ['1.1', '2.0'])
      for (const { name, headers } of TWICE)
        it(`refuses two ${name} headers after HTTP/${version}`, async () => {
          assert.equal((await ask('/account/session', version, headers)).status, 400)
          assert.match((await ask('/me', version, headers)).body, /user none/)
        })
  })

describe('repeated headers over HTTP/2 in a program', () => {
  let cardea: Cardea
  let port = 0
  const server = createHttp2Server(async (request, response) => {
    if (request.url !== '/me') return cardea.handleAccount(request as never, response as never)
    const user = await cardea.authenticate(request as never)
    response.writeHead(user ? 200 : 404)
    response.end()
  })
  before(async () => {
    cardea = await createTestCardea()
    await cardea.users.create(ADA)
    port = await listen(server)
  })
  after(async () => {
    server.close()
    await cardea?.close()
  })

  it('accepts each of them once', async () => {
    assert.equal(await exchange(port, [toFrame('/session', [['authorization', RIGHT]])]), '200')
    assert.equal(await exchange(port, [toFrame('/me', [['authorization', RIGHT]])]), '200')
  })

  for (const { name, headers } of TWICE)
    it(`refuses two ${name} headers`, async () => {
      assert.equal(await exchange(port, [toFrame('/session', headers)]), '400')
      assert.equal(await exchange(port, [toFrame('/me', headers)]), '404')
    })
})
