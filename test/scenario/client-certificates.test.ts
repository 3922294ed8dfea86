import assert from 'node:assert/strict'
import { once } from 'node:events'
import { readFileSync, renameSync, writeFileSync } from 'node:fs'
import { Agent, request as httpsRequest } from 'node:https'
import { connect } from 'node:net'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { connect as connectTls } from 'node:tls'
import { fileURLToPath } from 'node:url'
import { createTestCardea, type LogFields } from '../../src/index.ts'
import { type Certificate, createAuthority } from '../support/certificates.ts'
import { sendHttp2 } from '../support/http2.ts'
import { createSharedScope, makeFolder } from '../support/scope.ts'
import { openBackend, UPSTREAM_SECRET } from '../support/upstream.ts'
import { waitUntil } from '../support/wait.ts'

const fixture = (name: string) => fileURLToPath(new URL(`../fixtures/tls/${name}`, import.meta.url))
const serverCa = readFileSync(fixture('cert.pem'))

const scope = createSharedScope()
const folder = makeFolder(scope)
const staff = createAuthority(folder, 'staff')
const other = createAuthority(folder, 'other')

const ada = staff.issue({ subject: '/CN=ada' })
const revoked = staff.issue({ subject: '/CN=ada' })
staff.revoke(revoked)

const place = (name: string, text: string): string => {
  const path = join(folder, name)
  writeFileSync(`${path}.new`, text)
  renameSync(`${path}.new`, path)
  return path
}

const basic = (name: string, password: string) => ({
  authorization: `Basic ${Buffer.from(`${name}:${password}`).toString('base64')}`,
})

interface Sent {
  readonly certificate?: Certificate | undefined
  readonly headers?: Readonly<Record<string, string>>
  readonly method?: string
  readonly body?: string
  readonly agent?: Agent | false
}

interface Received {
  readonly status: number
  readonly text: string
  readonly headers: NodeJS.Dict<string | string[]>
}

async function send(url: string, sent: Sent = {}): Promise<Received> {
  const { certificate, headers = {}, method = 'GET', body, agent = false } = sent
  const request = httpsRequest(url, { ca: serverCa, agent, method, headers, ...certificate })
  request.end(body)
  const [response] = await once(request, 'response')
  const text: string = await response.setEncoding('utf8').reduce((all: string, part: string) => all + part, '')
  return { status: response.statusCode, text, headers: response.headers }
}

async function sendOverHttp2(url: string, { certificate, headers = {}, method = 'GET', body }: Sent = {}) {
  const tls = { ca: serverCa, ...certificate }
  const { body: text, ...reply } = await sendHttp2(url, { method, headers, body, tls })
  return { ...reply, text }
}

const VERSIONS = [
  { version: '', sendBy: send },
  { version: ', over HTTP/2', sendBy: sendOverHttp2 },
]

async function openServer() {
  const events: LogFields[] = []
  const note = (_message: string, fields: LogFields = {}) => void events.push(fields)
  const backend = await openBackend(scope, (request, response) => {
    response.writeHead(200)
    if (request.url?.includes('slow')) response.write('\n')
    else response.end('{}')
  })
  const cardea = await createTestCardea({
    log: { debug: note, info: note, warn: note, error: note },
    options: {
      ssl: {
        enable: true,
        port: 0,
        cert_file: fixture('cert.pem'),
        key_file: fixture('key.pem'),
        keyfile: fixture('both.pem'),
        'client-ca': place('client-ca.pem', staff.cert),
        'client-crl': place('client-crl.pem', staff.listRevoked()),
      },
      server: { endpoint: 'ssl://127.0.0.1:0' },
      admin: { endpoint: 'ssl://127.0.0.1:0' },
      chttpd: { enable_cors: true },
      cors: { origins: '*' },
      upstream: { document: backend.url, 'document-secret': UPSTREAM_SECRET },
    },
  })
  scope.after(() => cardea.close())
  await cardea.users.create({ name: 'ada', password: 'a', roles: ['_metrics'], grants: { _system: 'ro' } })
  await cardea.users.create({ name: 'bob', password: 'b', grants: { _system: 'rw' } })
  await cardea.users.create({ name: 'gone', password: 'g', isActive: false })
  const { document, multiModel, admin } = await cardea.listen()
  return {
    cardea,
    events,
    backend,
    document: document[1] ?? '',
    multiModel: multiModel[0] ?? '',
    admin: admin[0] ?? '',
  }
}

const server = await openServer()

async function whoIs(sent: Sent, sendBy = send): Promise<readonly [status: number, name: unknown, by: unknown]> {
  const { status, text } = await sendBy(`${server.document}/_session`, sent)
  const { userCtx, info } = JSON.parse(text)
  return [status, userCtx?.name, info?.authenticated]
}

const PROXY_HEADERS: readonly string[] = [
  'Via',
  'Forwarded',
  'X-Real-IP',
  'X-Forwarded',
  'X-Forwarded-For',
  'X-Forwarded-Port',
  'X-Forwarded-Ssl',
  'x-forwarded-client-cert',
]

describe('a client certificate', () => {
  const accepted: readonly (readonly [name: string, sent: Sent, who: readonly unknown[]])[] = [
    [
      'that the authority signed authenticates the user of its common name',
      { certificate: ada },
      ['ada', 'certificate'],
    ],
    ['is optional', {}, [null, undefined]],
    ['is optional beside a password', { headers: basic('bob', 'b') }, ['bob', 'default']],
    [
      'is used only if the request has no other credential',
      { certificate: ada, headers: basic('bob', 'b') },
      ['bob', 'default'],
    ],
    ...PROXY_HEADERS.map(
      (name) =>
        [
          `of a proxy that adds ${name} does not authenticate the clients of the proxy`,
          { certificate: ada, headers: { [name]: '192.0.2.1' } },
          [null, undefined],
        ] as const,
    ),
  ]
  for (const { version, sendBy } of VERSIONS)
    for (const [name, sent, who] of accepted)
      it(name + version, async () => assert.deepEqual(await whoIs(sent, sendBy), [200, ...who]))

  const refused: readonly (readonly [name: string, certificate: Certificate, reason: RegExp])[] = [
    ['of another authority', other.issue({ subject: '/CN=ada' }), /UNABLE_TO_(?:VERIFY|GET)|DEPTH_ZERO/],
    ['that is revoked', revoked, /CERT_REVOKED/],
    [
      'that has expired',
      staff.issue({ subject: '/CN=ada', from: '20200101000000Z', to: '20200201000000Z' }),
      /CERT_HAS_EXPIRED/,
    ],
    [
      'that is not valid yet',
      staff.issue({ subject: '/CN=ada', from: '20900101000000Z', to: '20910101000000Z' }),
      /CERT_NOT_YET_VALID/,
    ],
    ['for servers', staff.issue({ subject: '/CN=ada', usage: 'serverAuth' }), /INVALID_PURPOSE/],
    ['of an unknown user', staff.issue({ subject: '/CN=eve' }), /no active user/],
    ['of a deactivated user', staff.issue({ subject: '/CN=gone' }), /no active user/],
    ['with the name of an administrator', staff.issue({ subject: '/CN=admin' }), /that of an administrator/],
    ['with two common names', staff.issue({ subject: '/CN=ada/CN=bob' }), /exactly one common name/],
    ['without a common name', staff.issue({ subject: '/O=ada' }), /exactly one common name/],
    ['with a name that no user can have', staff.issue({ subject: '/CN=_ada' }), /exactly one common name/],
  ]
  for (const [name, certificate, reason] of refused)
    it(`is rejected: one ${name}`, async () => {
      server.events.length = 0
      const reply = await send(`${server.document}/_session`, { certificate })
      assert.equal((await sendOverHttp2(`${server.document}/_session`, { certificate })).status, 401)
      assert.deepEqual(
        [reply.status, JSON.parse(reply.text)],
        [401, { error: 'unauthorized', reason: 'The client certificate is not accepted.' }],
      )
      const { detail } = server.events.find((fields) => fields['code'] === 'certificate_refused') ?? {}
      assert.match(String(detail), reason)
    })

  it('is listed among the handlers', async () => {
    const { text } = await send(`${server.document}/_session`, { certificate: ada })
    assert.deepEqual(JSON.parse(text).info.authentication_handlers, [
      'jwt',
      'proxy',
      'cookie',
      'default',
      'certificate',
    ])
  })

  it('is accepted at the multi-model door, where a wrong one leaves the request anonymous', async () => {
    const get = async (certificate?: Certificate) =>
      (await send(`${server.multiModel}/_api/database/current`, { certificate })).status
    assert.deepEqual([await get(ada), await get(), await get(revoked)], [200, 401, 401])
  })

  it('decides the identity of forwarded requests', async () => {
    await send(`${server.document}/db/doc`, { certificate: ada })
    const [, claims = ''] = server.backend.seen.at(-1)?.header('authorization')?.split('.') ?? []
    assert.equal(JSON.parse(Buffer.from(claims, 'base64url').toString()).sub, 'ada')
  })

  it('does not prove the password', async () => {
    const body = JSON.stringify({ name: 'ada', password: 'new', roles: ['_metrics'], type: 'user' })
    const url = `${server.document}/_users/org.couchdb.user:ada`
    const { text } = await send(url, { certificate: ada })
    const headers = { 'if-match': JSON.parse(text)._rev, 'content-type': 'application/json' }
    assert.equal((await send(url, { certificate: ada, method: 'PUT', body, headers })).status, 403)
  })
})

describe('a client certificate of a browser', () => {
  const CROSS_SITE = { 'sec-fetch-site': 'cross-site', origin: 'https://evil.example', 'content-type': 'text/plain' }

  it('is not accepted for changes from pages of other origins, even if CORS allows every origin', async () => {
    for (const url of [`${server.document}/db`, `${server.multiModel}/_api/gharial`]) {
      const reply = await send(url, { certificate: ada, method: 'POST', headers: CROSS_SITE, body: '{}' })
      assert.equal(reply.status, 403, url)
    }
  })

  it('is not accepted by the admin API, but that of a program is', async () => {
    const url = `${server.document}/_cardea/metrics`
    assert.equal((await send(url, { certificate: ada })).status, 200)
    assert.equal((await send(url, { certificate: ada, headers: { 'sec-fetch-site': 'same-origin' } })).status, 401)
    const headers = { 'sec-fetch-site': 'same-origin', 'x-cardea-control': '1', authorization: 'Unknown x' }
    const { text } = await send(`${server.document}/_cardea/api/session`, { certificate: ada, headers })
    assert.equal(JSON.parse(text).name, null)
  })

  it('is not accepted by the forward-auth endpoint, whose client is a proxy', async () => {
    assert.equal((await send(`${server.document}/_gate`, { certificate: ada })).status, 401)
    assert.equal((await send(`${server.multiModel}/_gate`, { certificate: ada })).status, 401)
  })

  it('is not asked for by other listeners', async () => {
    const reply = await send(`${server.admin}/_cardea/metrics`, { certificate: ada })
    assert.equal(reply.status, 401)
  })
})

describe('replaced authorities', () => {
  it('close connections that were verified with the old ones, and clients connect again', async () => {
    const agent = new Agent({ keepAlive: true, maxSockets: 1, ca: serverCa, ...ada })
    scope.after(() => agent.destroy())
    const ask = async () => JSON.parse((await send(`${server.document}/_session`, { agent })).text).userCtx?.name
    assert.equal(await ask(), 'ada')
    const [socket] = Object.values(agent.freeSockets).flatMap((sockets) => sockets ?? [])
    const isClosed = once(socket ?? assert.fail(), 'close')
    place('client-crl.pem', staff.listRevoked())
    assert.deepEqual((await server.cardea.reload()).problems, [])
    await isClosed
    assert.equal(await ask(), 'ada')
  })

  it('end responses that are being sent, and connections whose handshake began before', async () => {
    const feed = httpsRequest(`${server.document}/db/slow-attachment`, { ca: serverCa, agent: false, ...ada })
    feed.end()
    const [stream] = await once(feed, 'response')
    await once(stream, 'data')
    const isCut = once(stream, 'close').catch(() => {})
    const stalled = connect(Number(new URL(server.document).port), '127.0.0.1')
    stalled.on('error', () => {})
    await once(stalled, 'connect')
    // the server has accepted it when a later connection is served
    await whoIs({})

    staff.revoke(ada)
    place('client-crl.pem', staff.listRevoked())
    await isCut
    assert.equal((await whoIs({ certificate: ada }))[0], 401)
    // otherwise its certificate would be verified with the old list now
    const isEnded = await new Promise((resolve) => {
      if (stalled.closed) return resolve(true)
      stalled.once('close', () => resolve(true))
      connectTls({ socket: stalled, ca: serverCa, servername: 'localhost', ...ada }, () => resolve(false))
    })
    assert.ok(isEnded)
  })

  it('are used when their files change', async () => {
    const eve = other.issue({ subject: '/CN=ada' })
    assert.equal((await whoIs({ certificate: eve }))[0], 401)
    place('client-crl.pem', staff.listRevoked() + other.listRevoked())
    place('client-ca.pem', staff.cert + other.cert)
    // a handshake that the replacement ends fails
    const isAccepted = async () => (await whoIs({ certificate: eve }).catch(() => [0]))[0] === 200
    await waitUntil(isAccepted)
    assert.deepEqual(await whoIs({ certificate: eve }), [200, 'ada', 'certificate'])
  })

  it('with a bad file change nothing, and the reload says why', async () => {
    place('client-ca.pem', ada.cert)
    const report = await server.cardea.reload()
    assert.equal(report.isApplied, false)
    assert.match(report.problems.join(), /^ssl\.client-ca: .*: a certificate in it is not that of an authority$/)
  })
})
