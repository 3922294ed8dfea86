import assert from 'node:assert/strict'
import { createHmac } from 'node:crypto'
import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { test } from 'node:test'
import { createBrowser } from '../support/browser.ts'
import { ADMIN, basic, type Reply, type Request, send } from '../support/request.ts'
import { type RecordedEvent, renderLogLine, type Server, startServer } from '../support/server.ts'

const JSON_TYPE = { 'Content-Type': 'application/json' }
const SECRET = 'a-secret-of-proxies-and-cookies'
const JWT_SECRET = 'a-secret-of-json-web-tokens'
const OTHER_JWT_SECRET = 'another-secret-of-json-web-tokens'

const OPTIONS = {
  chttpd_auth: { iterations: 1, secret: SECRET },
  jwt_keys: { 'hmac:_default': Buffer.from(JWT_SECRET).toString('base64') },
}

const post = (path: string, body: object, headers = {}): Request => ({
  method: 'POST',
  path,
  headers: { ...JSON_TYPE, ...headers },
  body: JSON.stringify(body),
})

const put = (path: string, body: unknown, headers: Record<string, string> = ADMIN): Request => ({
  ...post(path, {}, headers),
  method: 'PUT',
  body: JSON.stringify(body),
})

const userDocument = (name: string, password: string) => ({ name, password, roles: ['reader'], type: 'user' })

async function createUser({ document, takeEvents }: Server, name: string, password: string): Promise<void> {
  const path = `/_users/org.couchdb.user:${name}`
  assert.equal((await send(document, put(path, userDocument(name, password)))).status, 201)
  takeEvents()
}

function mintJwt(claims: object, { secret = JWT_SECRET, ...header }: { secret?: string; kid?: string } = {}): string {
  const part = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url')
  const signed = `${part({ alg: 'HS256', typ: 'JWT', ...header })}.${part(claims)}`
  return `${signed}.${createHmac('sha256', secret).update(signed).digest('base64url')}`
}

const proxyHeaders = (name: string, token = createHmac('sha256', SECRET).update(name).digest('hex')) => ({
  'X-Auth-CouchDB-UserName': name,
  'X-Auth-CouchDB-Roles': 'reader',
  'X-Auth-CouchDB-Token': token,
})

/** Most rows are requests of the administrator, and are about what the request changes. */
const isAdministratorSignIn = ({ event, subject }: RecordedEvent) => event === 'sign-in.accepted' && subject === 'admin'

/** What a row expects of each event, in order; fields that are not named may be anything. */
type Expected = readonly (readonly [event: string, fields: Readonly<Record<string, unknown>>])[]

function assertEvents(server: Server, expected: Expected): void {
  const events = server.takeEvents().filter((event) => !isAdministratorSignIn(event))
  assert.deepEqual(
    events.map(({ event }) => event),
    expected.map(([event]) => event),
  )
  for (const [at, [, fields]] of expected.entries())
    for (const [name, value] of Object.entries(fields)) assert.deepEqual(events[at]?.[name], value, name)
}

interface Row {
  readonly name: string
  readonly door?: 'document' | 'multiModel'
  readonly send: Request
  readonly status: number
  readonly events: Expected
}

const FROM = { peer: '127.0.0.1', outcome: 'success', node: 'cardea@127.0.0.1' }
const REFUSED = { ...FROM, outcome: 'failure', level: 'warn' }

const WRONG_TOKEN = `v1.${Buffer.from('{"u":"jo"}').toString('hex')}`

const exp = Math.floor(Date.now() / 1000) + 600

/** Each on a server of its own, with a user jo. */
const ROWS: readonly Row[] = [
  {
    name: 'a session opened with a password',
    send: post('/_session', { name: 'jo', password: 'right' }),
    status: 200,
    events: [
      ['sign-in.accepted', { ...FROM, subject: 'jo', actor: 'jo', door: 'document', opened: 'session', level: 'info' }],
    ],
  },
  {
    name: 'a wrong password in the body, with the reason that the client does not see',
    send: post('/_session', { name: 'jo', password: 'wrong' }),
    status: 401,
    events: [
      [
        'sign-in.refused',
        { ...REFUSED, subject: 'jo', reason: 'wrong password', handler: '_session', actor: undefined },
      ],
    ],
  },
  {
    name: 'an unknown name',
    send: post('/_session', { name: 'mallory', password: 'wrong' }),
    status: 401,
    events: [['sign-in.refused', { ...REFUSED, subject: '(unknown name)', reason: 'no active user of this name' }]],
  },
  {
    name: 'a wrong Basic password at the document door',
    send: { path: '/', headers: { Authorization: basic('jo', 'wrong') } },
    status: 401,
    events: [['sign-in.refused', { ...REFUSED, subject: 'jo', reason: 'wrong password', handler: 'default' }]],
  },
  {
    name: 'a wrong access token in place of the password',
    send: { path: '/', headers: { Authorization: basic('jo', WRONG_TOKEN), 'X-Couch-Request-ID': 'mine' } },
    status: 401,
    events: [['sign-in.refused', { ...REFUSED, subject: 'jo', door: 'document', handler: 'default', request: 'mine' }]],
  },
  {
    name: 'a wrong Basic password at the multi-model door',
    door: 'multiModel',
    send: { path: '/_api/version', headers: { Authorization: basic('jo', 'wrong') } },
    status: 401,
    events: [
      [
        'sign-in.refused',
        { ...REFUSED, subject: 'jo', reason: 'wrong password', handler: 'basic', door: 'multi-model' },
      ],
    ],
  },
  {
    name: 'a token issued for a password',
    door: 'multiModel',
    send: post('/_open/auth', { username: 'jo', password: 'right' }),
    status: 200,
    events: [['sign-in.accepted', { ...FROM, subject: 'jo', opened: 'token', handler: '_open/auth' }]],
  },
  {
    name: 'a wrong password for a token',
    door: 'multiModel',
    send: post('/_open/auth', { username: 'jo', password: 'wrong' }),
    status: 401,
    events: [['sign-in.refused', { ...REFUSED, subject: 'jo', reason: 'wrong password', handler: '_open/auth' }]],
  },
  {
    name: 'a token that was not issued here',
    door: 'multiModel',
    send: { path: '/_api/version', headers: { Authorization: `bearer ${mintJwt({ iss: 'arangodb' })}` } },
    status: 401,
    events: [['sign-in.refused', { ...REFUSED, handler: 'bearer', subject: undefined }]],
  },
  {
    name: 'the first use of a JSON Web Token',
    send: { path: '/_session', headers: { Authorization: `Bearer ${mintJwt({ sub: 'anna', exp })}` } },
    status: 200,
    events: [['sign-in.accepted', { ...FROM, subject: 'anna', opened: 'first use', handler: 'jwt' }]],
  },
  {
    name: 'a JSON Web Token that has expired',
    send: { path: '/_session', headers: { Authorization: `Bearer ${mintJwt({ sub: 'anna', exp: 1 })}` } },
    status: 401,
    events: [['sign-in.refused', { ...REFUSED, reason: 'exp not in future', handler: 'jwt' }]],
  },
  {
    name: 'the first use of proxy headers',
    send: { path: '/_session', headers: proxyHeaders('anna') },
    status: 200,
    events: [['sign-in.accepted', { ...FROM, subject: 'anna', opened: 'first use', handler: 'proxy' }]],
  },
  {
    name: 'proxy headers without a right token',
    send: { path: '/_session', headers: proxyHeaders('anna', '00') },
    status: 200,
    events: [['sign-in.refused', { ...REFUSED, handler: 'proxy' }]],
  },
  {
    name: 'a user created at the multi-model door',
    door: 'multiModel',
    send: post('/_api/user', { user: 'mo', passwd: 'a-password' }, ADMIN),
    status: 201,
    events: [['user.created', { ...FROM, subject: 'mo', actor: 'admin', handler: 'basic', door: 'multi-model' }]],
  },
  {
    name: 'a changed password, which revokes the sessions',
    door: 'multiModel',
    send: { ...post('/_api/user/jo', { passwd: 'another' }, ADMIN), method: 'PATCH' },
    status: 200,
    events: [
      ['user.changed', { ...FROM, subject: 'jo', actor: 'admin', changed: ['password'] }],
      ['session.revoked', { ...FROM, subject: 'jo', reason: 'password changed' }],
    ],
  },
  {
    name: 'a grant',
    door: 'multiModel',
    send: put('/_api/user/jo/database/shop', { grant: 'ro' }),
    status: 200,
    events: [['grant.created', { ...FROM, subject: 'jo', actor: 'admin', database: 'shop', access: 'ro' }]],
  },
  {
    name: 'an access token',
    door: 'multiModel',
    send: post('/_api/token/jo', { name: 'backup' }, { Authorization: basic('jo', 'right') }),
    status: 200,
    events: [
      ['sign-in.accepted', { subject: 'jo' }],
      ['access-token.created', { ...FROM, subject: 'jo', actor: 'jo', token: 'backup' }],
    ],
  },
  {
    name: 'a removed user',
    door: 'multiModel',
    send: { method: 'DELETE', path: '/_api/user/jo', headers: ADMIN },
    status: 202,
    events: [
      ['user.removed', { ...FROM, subject: 'jo', actor: 'admin' }],
      ['session.revoked', { ...FROM, subject: 'jo', reason: 'user removed' }],
    ],
  },
  {
    name: 'an administrator created over HTTP',
    send: put('/_node/_local/_config/admins/eve', 'a-password'),
    status: 200,
    events: [
      ['administrator.created', { ...FROM, subject: 'eve', actor: 'admin', level: 'warn' }],
      ['session.revoked', { subject: 'eve' }],
    ],
  },
  {
    name: 'an option changed over HTTP, with both values',
    send: put('/_node/_local/_config/chttpd_auth/timeout', '1200'),
    status: 200,
    events: [['option.changed', { ...FROM, actor: 'admin', option: 'chttpd_auth.timeout', old: '600', new: '1200' }]],
  },
  {
    name: 'a secret changed over HTTP, masked',
    send: put('/_node/_local/_config/jwt_keys/hmac:other', Buffer.from('another-secret').toString('base64')),
    status: 200,
    events: [['option.changed', { ...FROM, actor: 'admin', option: 'jwt_keys.hmac:other', new: '***' }]],
  },
  {
    name: 'an option of which Cardea knows nothing, masked',
    send: put('/_node/_local/_config/my_plugin/endpoint', 'https://me:a-password@example.org'),
    status: 200,
    events: [['option.changed', { option: 'my_plugin.endpoint', new: '***' }]],
  },
  {
    name: 'a reload asked for over HTTP',
    send: post('/_node/_local/_config/_reload', {}, ADMIN),
    status: 200,
    events: [['configuration.reloaded', { ...FROM, actor: 'admin', changed: [] }]],
  },
  {
    name: 'a user created through the admin API',
    send: post('/_cardea/api/users', { name: 'mo', password: 'a-password' }, ADMIN),
    status: 200,
    events: [['user.created', { ...FROM, subject: 'mo', actor: 'admin', door: 'document' }]],
  },
  {
    name: 'an export through the admin API',
    send: { path: '/_cardea/api/transfer/users?format=cardea', headers: ADMIN },
    status: 200,
    events: [['users.exported', { ...FROM, actor: 'admin', count: 1, level: 'warn' }]],
  },
  {
    name: 'an import through the admin API',
    send: post('/_cardea/api/transfer/users', { users: [{ name: 'mo' }, { name: 'jo' }] }, ADMIN),
    status: 200,
    events: [['users.imported', { ...FROM, actor: 'admin', created: 1, kept: 1, replaced: 0, refused: 0 }]],
  },
]

for (const row of ROWS) {
  test(`records ${row.name}`, async (t) => {
    const server = await startServer(t, OPTIONS)
    await createUser(server, 'jo', 'right')
    const answer = await send(server[row.door ?? 'document'], row.send)
    assert.equal(answer.status, row.status, answer.body)
    assertEvents(server, row.events)
  })
}

test('does not record a name that is not a known user', async (t) => {
  const server = await startServer(t, OPTIONS)
  const { document, multiModel, log, takeEvents } = server
  await createUser(server, 'jo', 'right')
  const until = Math.floor(Date.now() / 1000) + 600
  const made = await send(multiModel, post('/_api/token/jo', { name: 'x', valid_until: until }, ADMIN))
  const secrets = [String(JSON.parse(made.body).token), mintJwt({ sub: 'jo', exp })]
  takeEvents()
  for (const secret of secrets) {
    // the last ones reach the limits, whose events name accounts too
    for (let turn = 0; turn < 25; turn += 1) {
      await send(document, post('/_session', { name: secret, password: 'wrong' }))
      await send(multiModel, { path: '/_api/version', headers: { Authorization: basic(secret, 'wrong') } })
    }
  }
  await server.cardea.close()
  assert.ok(takeEvents().some(({ event, subject }) => event === 'limit.started' && subject === '(unknown name)'))
  for (const secret of secrets)
    assert.ok(!log.some((line) => renderLogLine(line).includes(secret.slice(0, 20))), 'in the log')
})

test('records the name of a deactivated user', async (t) => {
  const server = await startServer(t, OPTIONS)
  await createUser(server, 'jo', 'right')
  const off = { ...post('/_api/user/jo', { active: false }, ADMIN), method: 'PATCH' }
  assert.equal((await send(server.multiModel, off)).status, 200)
  server.takeEvents()
  await send(server.document, post('/_session', { name: 'jo', password: 'right' }))
  assertEvents(server, [['sign-in.refused', { subject: 'jo', reason: 'no active user of this name' }]])
})

/** The cookie with its last byte changed: that is a byte of the signature. */
function tamper(cookie: string): string {
  const [name = '', value = ''] = cookie.split('=')
  const bytes = Buffer.from(value, 'base64url')
  bytes[bytes.length - 1] = (bytes.at(-1) ?? 0) ^ 1
  return `${name}=${bytes.toString('base64url')}`
}

const cookieOf = (answer: Reply): string => answer.lines['set-cookie']?.[0]?.split(';')[0] ?? ''

const FORGED = 'session cookie ignored: its signature is wrong'

test('records a session cookie with a wrong signature, in every form', async (t) => {
  const nowHex = Math.floor(Date.now() / 1000).toString(16)
  const classic = `AuthSession=${Buffer.from(`jo:${nowHex}:${'x'.repeat(32)}`).toString('base64url')}`
  const FORMS: readonly ((document: string) => Promise<string>)[] = [
    async (document) => tamper(cookieOf(await send(document, post('/_session', { name: 'jo', password: 'right' })))),
    async (document) =>
      tamper(
        cookieOf(
          await send(document, post('/_session', {}, { Authorization: `Bearer ${mintJwt({ sub: 'jo', exp })}` })),
        ),
      ),
    async () => classic,
  ]
  for (const [at, create] of FORMS.entries()) {
    const server = await startServer(t, OPTIONS)
    await createUser(server, 'jo', 'right')
    const Cookie = await create(server.document)
    server.takeEvents()
    const answer = await send(server.document, { path: '/_session', headers: { Cookie } })
    assert.equal(JSON.parse(answer.body).userCtx.name, null, `form ${at}`)
    assertEvents(server, [['sign-in.refused', { reason: FORGED, handler: 'cookie', subject: undefined }]])
  }
})

test('does not record a session cookie that is revoked or expired', async (t) => {
  const server = await startServer(t, OPTIONS)
  const { document } = server
  await createUser(server, 'jo', 'right')
  const open = async () => cookieOf(await send(document, post('/_session', { name: 'jo', password: 'right' })))
  const [ended, replaced] = [await open(), await open()]
  await send(document, { method: 'DELETE', path: '/_session', headers: { Cookie: ended } })
  const change = { ...post('/_api/user/jo', { passwd: 'new' }, ADMIN), method: 'PATCH' }
  assert.equal((await send(server.multiModel, change)).status, 200)
  const expired = `AuthSession=${Buffer.from(`jo:5F000000:${'x'.repeat(32)}`).toString('base64url')}`
  server.takeEvents()
  for (const Cookie of [ended, replaced, expired]) await send(document, { path: '/_session', headers: { Cookie } })
  assertEvents(server, [])
})

test('records a tampered admin cookie and a wrong page token', async (t) => {
  const server = await startServer(t, OPTIONS)
  const { document, takeEvents } = server
  const browser = createBrowser(document)
  assert.equal((await browser.signIn('admin', 'adminpw')).status, 200)
  const right = browser.cookie
  takeEvents()
  await browser.ask('/users', { headers: { 'X-Cardea-Page-Token': 'wrong' } })
  assertEvents(server, [['sign-in.refused', { reason: 'wrong page token', handler: 'admin-session', actor: 'admin' }]])
  const other = await startServer(t, OPTIONS)
  for (const cookie of [tamper(right), 'CardeaAdmin=%%%']) {
    const anyone = createBrowser(other.document)
    anyone.cookie = cookie
    await anyone.ask('/users')
  }
  const [first] = other.takeEvents()
  assert.equal(first?.event, 'sign-in.refused')
  assert.match(String(first?.['reason']), /^admin cookie ignored/)
})

test('records one sign-in for many requests with the same Basic credential', async (t) => {
  const server = await startServer(t, OPTIONS)
  await createUser(server, 'jo', 'right')
  const request = { path: '/', headers: { Authorization: basic('jo', 'right') } }
  for (let requests = 0; requests < 5; requests += 1) await send(server.document, request)
  assertEvents(server, [['sign-in.accepted', { subject: 'jo', opened: 'first use', handler: 'default' }]])
})

test('records a JSON Web Token with other roles or another key as another sign-in', async (t) => {
  const [name, key] = ['hmac:two', Buffer.from(OTHER_JWT_SECRET).toString('base64')]
  const server = await startServer(t, { ...OPTIONS, jwt_keys: { ...OPTIONS.jwt_keys, [name]: key } })
  const use = (token: string) =>
    send(server.document, { path: '/_session', headers: { Authorization: `Bearer ${token}` } })
  const claims = { sub: 'anna', exp }
  const roles = { '_couchdb.roles': ['_admin'] }
  await use(mintJwt(claims))
  await use(mintJwt({ ...claims, exp: exp + 1 }))
  await use(mintJwt({ ...claims, ...roles }))
  await use(mintJwt({ ...claims, ...roles }, { secret: OTHER_JWT_SECRET, kid: 'two' }))
  const accepted = ['sign-in.accepted', { subject: 'anna', opened: 'first use', handler: 'jwt' }] as const
  assertEvents(server, [accepted, accepted, accepted])
})

test('records proxy headers with other roles as another sign-in', async (t) => {
  const server = await startServer(t, OPTIONS)
  for (const headers of [proxyHeaders('anna'), { ...proxyHeaders('anna'), 'X-Auth-CouchDB-Roles': '_admin' }])
    await send(server.document, { path: '/_session', headers })
  const accepted = ['sign-in.accepted', { subject: 'anna', opened: 'first use', handler: 'proxy' }] as const
  assertEvents(server, [accepted, accepted])
})

test('records a sign-in again after the password changed', async (t) => {
  const server = await startServer(t, OPTIONS)
  await createUser(server, 'jo', 'right')
  const signIn = (password: string) =>
    send(server.document, { path: '/', headers: { Authorization: basic('jo', password) } })
  await signIn('right')
  const change = { ...post('/_api/user/jo', { passwd: 'another' }, ADMIN), method: 'PATCH' }
  await send(server.multiModel, change)
  server.takeEvents()
  await signIn('another')
  assertEvents(server, [['sign-in.accepted', { subject: 'jo', opened: 'first use' }]])
})

test('records a sign-out at either door', async (t) => {
  const server = await startServer(t, OPTIONS)
  await createUser(server, 'jo', 'right')
  const session = await send(server.document, post('/_session', { name: 'jo', password: 'right' }))
  const Cookie = session.headers['set-cookie']?.[0]?.split(';')[0] ?? ''
  const issued = await send(server.multiModel, post('/_open/auth', { username: 'jo', password: 'right' }))
  const Authorization = `bearer ${JSON.parse(issued.body).jwt}`
  server.takeEvents()
  await send(server.document, { method: 'DELETE', path: '/_session', headers: { Cookie } })
  await send(server.multiModel, { method: 'DELETE', path: '/_open/auth', headers: { Authorization } })
  assertEvents(server, [
    ['sign-out', { ...FROM, subject: 'jo', actor: 'jo', handler: 'cookie', door: 'document' }],
    ['sign-out', { ...FROM, subject: 'jo', actor: 'jo', handler: 'bearer', door: 'multi-model' }],
  ])
})

test('records repeated refusals of one peer once, and their count at the end', async (t) => {
  const server = await startServer(t)
  for (let guess = 0; guess < 20; guess += 1)
    await send(server.multiModel, post('/_open/auth', { username: `user${guess}`, password: 'guess' }))
  assertEvents(server, [['sign-in.refused', { subject: '(unknown name)' }]])
  await server.cardea.close()
  assertEvents(server, [['sign-in.refused', { subject: '(unknown name)', count: 19 }]])
})

for (const [credential, password] of [
  ['password', 'wrong'],
  ['access token', WRONG_TOKEN],
] as const)
  test(`records where the wrong ${credential} came from that locked an account`, async (t) => {
    const server = await startServer(t, { ...OPTIONS, chttpd_auth_lockout: { threshold: 1, max_lifetime: 1000 } })
    await createUser(server, 'jo', 'right')
    const headers = { Authorization: basic('jo', password), 'X-Couch-Request-ID': 'mine' }
    await send(server.document, { path: '/', headers })
    await send(server.document, { path: '/', headers })
    const started = server.takeEvents().find(({ event }) => event === 'limit.started')
    const expected = { subject: 'jo', peer: '127.0.0.1', door: 'document', request: 'mine' }
    assert.partialDeepStrictEqual(started, expected)
  })

test('the name of a client cannot forge a line of the log', async (t) => {
  const server = await startServer(t)
  const name = 'jo\n{"event":"sign-in.accepted"}'
  await send(server.document, post('/_session', { name, password: 'x' }))
  assertEvents(server, [['sign-in.refused', { subject: '(unknown name)' }]])
})

test('clients that disconnect while their password waits to be hashed are no errors', async (t) => {
  const server = await startServer(t, { chttpd_auth: { iterations: 300_000 } })
  const { hostname, port } = new URL(server.document)
  const sockets = Array.from({ length: 40 }, (_, number) => {
    const request = `GET / HTTP/1.1\r\nHost: x\r\nAuthorization: ${basic(`user${number}`, 'guess')}\r\n\r\n`
    return connect({ host: hostname, port: Number(port) }).on('connect', function (this: Socket) {
      this.end(request)
    })
  })
  await Promise.all(sockets.map((socket) => once(socket, 'finish')))
  // arrives after all of them, and is hashed after those that stayed
  const later = send(server.document, { path: '/', headers: ADMIN })
  for (const socket of sockets) socket.destroy()
  assert.equal((await later).status, 200)
  assert.deepEqual(
    server.log.filter(({ level }) => level === 'error'),
    [],
  )
})
