import assert from 'node:assert/strict'
import { createServer, type RequestListener } from 'node:http'
import { createRequire } from 'node:module'
import type { AddressInfo } from 'node:net'
import { test } from 'node:test'
import Fastify, { type FastifyRequest } from 'fastify'
import { authenticate, requireRole, requireUser } from '../../../src/express.ts'
import {
  registerCardea,
  requireRole as requireFastifyRole,
  requireUser as requireFastifyUser,
} from '../../../src/fastify.ts'
import { makeToken, now } from '../../support/multi-model.ts'
import { ADMIN, basic, send } from '../../support/request.ts'
import type { Scope } from '../../support/scope.ts'
import { type AnyOptions, startServer } from '../../support/server.ts'

/** The address of the client: a web `Request` does not have it. */
const PEER = { peer: '192.0.2.1' }

const ADA = { Authorization: basic('ada', 'pw') }

async function openWithAda(t: Scope, options: AnyOptions = {}) {
  const front = await startServer(t, options)
  await send(front.document, {
    method: 'PUT',
    path: '/_users/org.couchdb.user:ada',
    headers: { ...ADMIN, 'Content-Type': 'application/json' },
    body: JSON.stringify({ name: 'ada', password: 'pw', roles: ['reader'], type: 'user' }),
  })
  return front
}

async function serve(t: Scope, listener: RequestListener): Promise<string> {
  const server = createServer(listener)
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  t.after(() => server.close())
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

const ADA_USER = {
  id: '4d82f60b-dd0a-8498-a22b-6ac5593e37a6',
  name: 'ada',
  roles: ['reader'],
  isAdmin: false,
  by: 'default',
}

test('a request of Node and one of the web platform give the same user', async (t) => {
  const { cardea } = await openWithAda(t)
  const base = await serve(t, async (request, response) => {
    response.end(JSON.stringify((await cardea.authenticate(request)) ?? 'anonymous'))
  })
  const rows = [
    { headers: ADA, user: ADA_USER },
    { headers: {}, user: 'anonymous' },
    { headers: { Authorization: basic('ada', 'wrong') }, user: 'anonymous' },
    { headers: { Authorization: 'Basic !!!' }, user: 'anonymous' },
    { headers: { Cookie: 'AuthSession=rubbish' }, user: 'anonymous' },
    { headers: { 'X-Auth-CouchDB-UserName': 'ada', 'X-Auth-CouchDB-Roles': '_admin' }, user: 'anonymous' },
  ]
  for (const { headers, user } of rows) {
    assert.deepEqual(JSON.parse((await send(base, { path: '/a//b/../c', headers })).body), user)
    const asked = new Request('http://app.example/x', { headers: headers as Record<string, string> })
    assert.deepEqual((await cardea.authenticate(asked, PEER)) ?? 'anonymous', user)
  }
})

/** What a program without types, or a careless one, may do to what it is given. */
function promote(user: unknown): void {
  const given = user as { roles: string[]; isAdmin: boolean }
  given.roles.push('_admin')
  given.isAdmin = true
}

const KEY = 'a-key-of-the-document-door-s-tokens'

const WITH_TOKENS = { jwt_keys: { 'hmac:_default': Buffer.from(KEY).toString('base64') } }

for (const [kind, authorization] of [
  ['password', basic('ada', 'pw')],
  ['token', `Bearer ${makeToken({ sub: 'ada', '_couchdb.roles': ['reader'], exp: now() + 600 }, { secret: KEY })}`],
] as const)
  test(`a program cannot change the roles Cardea knows: ${kind}`, async (t) => {
    const { cardea, document } = await openWithAda(t, WITH_TOKENS)
    const headers = { Authorization: authorization }
    const ask = () => cardea.authenticate(new Request('http://a/', { headers }), PEER)
    promote(await ask())
    assert.deepEqual((await ask())?.roles, ['reader'])
    const { userCtx } = JSON.parse((await send(document, { path: '/_session', headers })).body)
    assert.deepEqual(userCtx.roles, ['reader'])
    assert.equal((await send(document, { path: '/_gate', headers })).headers['x-auth-roles'], 'reader')
  })

test('a request without a connection is not a trusted proxy', async (t) => {
  const { cardea } = await startServer(t, { chttpd_auth: { proxy_use_secret: false } })
  const headers = { 'X-Auth-CouchDB-UserName': 'admin', 'X-Auth-CouchDB-Roles': '_admin' }
  assert.equal(await cardea.authenticate(new Request('http://a/', { headers }), PEER), undefined)
})

test('accepts the credentials of the door that is asked for', async (t) => {
  const { cardea, multiModel } = await openWithAda(t)
  const body = JSON.stringify({ username: 'ada', password: 'pw' })
  const answer = await send(multiModel, { method: 'POST', path: '/_open/auth', body })
  const headers = { Authorization: `bearer ${JSON.parse(answer.body).jwt}` }
  const request = () => new Request('http://a/', { headers })
  assert.equal((await cardea.authenticate(request(), { ...PEER, door: 'multi-model' }))?.name, 'ada')
  assert.equal(await cardea.authenticate(request(), PEER), undefined)
})

test('authenticate throws after close, and for a value that is not a request', async (t) => {
  const { cardea } = await openWithAda(t)
  const request = () => new Request('http://a/', { headers: ADA })
  // a program without types may give anything
  const authenticate = cardea.authenticate as (request: unknown) => Promise<unknown>
  for (const nonsense of [undefined, null, {}, 'x', 1, [], { headers: 'x' }])
    await assert.rejects(authenticate(nonsense), { name: 'TypeError', message: /takes an IncomingMessage/ })
  assert.equal((await cardea.authenticate(request(), PEER))?.name, 'ada')
  await cardea.close()
  await assert.rejects(cardea.authenticate(request(), PEER), /closed/)
})

test('Express: request.user, requireUser and requireRole', async (t) => {
  const { cardea } = await openWithAda(t)
  const app = createRequire(import.meta.url)('express')()
  const show = (request: { user?: unknown }, response: { json(value: unknown): void }) =>
    response.json(request.user ?? 'anonymous')
  app.use(authenticate(cardea))
  app.get('/', show)
  app.get('/known', requireUser(), show)
  app.get('/reader', requireRole('reader', 'writer'), show)
  app.get('/writer', requireRole('writer'), show)
  const base = await serve(t, app)
  const ask = async (path: string, headers = {}) => (await send(base, { path, headers })).status
  assert.deepEqual(JSON.parse((await send(base, { path: '/', headers: ADA })).body), ADA_USER)
  assert.deepEqual([await ask('/'), await ask('/known'), await ask('/reader')], [200, 401, 401])
  assert.deepEqual([await ask('/known', ADA), await ask('/reader', ADA), await ask('/writer', ADA)], [200, 200, 403])
  assert.equal(await ask('/writer', ADMIN), 200)
})

test('Fastify: authenticates injected requests', async (t) => {
  const { cardea } = await openWithAda(t)
  const fastify = Fastify()
  registerCardea(fastify, cardea)
  fastify.get('/', async ({ user }) => user ?? 'anonymous')
  const ask = async (headers: Record<string, string>) => (await fastify.inject({ url: '/', headers })).body
  assert.deepEqual([JSON.parse(await ask(ADA)), await ask({})], [ADA_USER, 'anonymous'])
})

test('Fastify: the plug-in covers sibling and nested routes', async (t) => {
  const { cardea } = await openWithAda(t)
  const fastify = Fastify()
  t.after(() => fastify.close())
  await fastify.register(registerCardea, cardea)
  fastify.get('/', { preHandler: requireFastifyRole('reader') }, async ({ user }) => user)
  fastify.register(async (inner) => inner.get('/inner', async ({ user }) => user ?? 'anonymous'))
  const ask = async (url: string) => JSON.parse((await fastify.inject({ url, headers: ADA })).body)
  assert.deepEqual([await ask('/'), await ask('/inner')], [ADA_USER, ADA_USER])
})

test('Fastify: a plug-in without a Cardea fails at registration', async () => {
  const register = registerCardea as (fastify: unknown) => Promise<void>
  await assert.rejects(register(Fastify()), { name: 'TypeError', message: /takes a Cardea/ })
})

test('requireRole throws for a role that no user can have', () => {
  // a program without types may give anything
  for (const require of [requireRole, requireFastifyRole] as ((...roles: unknown[]) => unknown)[])
    for (const roles of [[], [undefined], [['reader']], [''], ['reader', null], [{ role: 'reader' }]])
      assert.throws(() => require(...roles), { name: 'TypeError', message: /names of roles/ }, JSON.stringify(roles))
})

test('Fastify: request.user, requireUser and requireRole', async (t) => {
  const { cardea } = await openWithAda(t)
  const fastify = Fastify()
  t.after(() => fastify.close())
  registerCardea(fastify, cardea)
  const show = async ({ user }: FastifyRequest) => user ?? 'anonymous'
  fastify.get('/', show)
  fastify.get('/known', { preHandler: requireFastifyUser() }, show)
  fastify.get('/reader', { preHandler: requireFastifyRole('reader', 'writer') }, show)
  fastify.get('/writer', { preHandler: requireFastifyRole('writer') }, show)
  const base = await fastify.listen({ port: 0, host: '127.0.0.1' })
  const ask = async (path: string, headers = {}) => (await send(base, { path, headers })).status
  assert.deepEqual(JSON.parse((await send(base, { path: '/', headers: ADA })).body), ADA_USER)
  assert.deepEqual([await ask('/'), await ask('/known'), await ask('/reader')], [200, 401, 401])
  assert.deepEqual([await ask('/known', ADA), await ask('/reader', ADA), await ask('/writer', ADA)], [200, 200, 403])
  assert.equal(await ask('/writer', ADMIN), 200)
  assert.match((await send(base, { path: '/known' })).headers['www-authenticate'] ?? '', /^Basic /)
})
