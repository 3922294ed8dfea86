// Services behind the document door, with its session cookie, and the word `user` at both doors.
import assert from 'node:assert/strict'
import { after, describe, it, test } from 'node:test'
import { createTestCardea } from '../../../src/index.ts'
import { ADMIN, basic, send } from '../../support/request.ts'
import { startServer } from '../../support/server.ts'
import { beforeDocument, openBackend, openFeeds, openStream } from '../../support/upstream.ts'

const backend = await openBackend({ after })
const couch = await openBackend({ after })
const feeds = await openFeeds({ after })
const services = {
  services: {
    open: `/open ${backend.url} document`,
    shop: `/shop ${backend.url} document multi-model user`,
    ledger: `/ledger ${backend.url} document required`,
    own: `/own ${backend.url} document user preflight`,
    feed: `/feed ${feeds.url} document user`,
    arango: `/arango ${backend.url} user`,
  },
}
const front = await startServer({ after }, beforeDocument(couch.url), services)
const closed = await startServer({ after }, services, { chttpd: { require_valid_user: true } })
const bare = await startServer({ after }, services, { server: { 'authentication-system-only': false } })
for (const { cardea } of [front, bare]) {
  await cardea.users.create({ name: 'ada', password: 'pw', roles: ['reader'] })
  await cardea.users.create({ name: 'grace', password: 'pw', grants: { _system: 'ro' } })
}

async function signIn(name: string): Promise<string> {
  const answer = await send(front.document, { method: 'POST', path: '/_session', body: { name, password: 'pw' } })
  return answer.headers['set-cookie']?.[0]?.split(';')[0] ?? ''
}

const ada = await signIn('ada')
const grace = await signIn('grace')
const ADA = { Authorization: basic('ada', 'pw') }

describe('a service at the document door', () => {
  it('gets the identity of the session, and neither the cookie nor headers that a client made up', async () => {
    const headers = {
      Cookie: `theme=dark; ${ada}`,
      'X-Auth-User': 'admin',
      'X-Auth-CouchDB-UserName': 'admin',
      'X-Auth-CouchDB-Roles': '_admin',
    }
    const answer = await send(front.document, { method: 'PATCH', path: '/shop/cart?x=1', headers, body: { a: 1 } })
    assert.equal(answer.status, 200)
    const seen = backend.seen.at(-1)
    assert.deepEqual([seen?.method, seen?.url, seen?.body.toString()], ['PATCH', '/shop/cart?x=1', '{"a":1}'])
    assert.deepEqual(seen?.all('cookie'), ['theme=dark'])
    assert.deepEqual([seen?.all('x-auth-user'), seen?.all('x-auth-roles')], [['ada'], ['reader']])
    assert.equal(
      seen?.raw.some((text) => /couchdb|^_?admin$/i.test(text)),
      false,
    )
  })

  type Row = readonly [name: string, path: string, headers: Record<string, string>, status: number]
  const rows: readonly Row[] = [
    ['anonymous, open', '/open/x', {}, 200],
    ['anonymous, for users', '/shop/x', {}, 401],
    ['anonymous, for users with a grant', '/ledger/x', {}, 401],
    ['a session, open', '/open/x', { Cookie: ada }, 200],
    ['a session', '/shop', { Cookie: ada }, 200],
    ['a password', '/shop/x', ADA, 200],
    ['a session without a grant on _system', '/ledger/x', { Cookie: ada }, 403],
    ['a session with a grant on _system', '/ledger/x', { Cookie: grace }, 200],
    ['an administrator', '/ledger/x', ADMIN, 200],
    ['a cookie with another signature', '/shop/x', { Cookie: 'AuthSession=YWRhOjY1NjU2NTY1OmFiYw' }, 401],
    ['a wrong password', '/open/x', { Authorization: basic('ada', 'wrong') }, 401],
    ['a token of the application', '/open/x', { Authorization: 'Bearer theirs' }, 200],
    ['a token of the application, for users', '/shop/x', { Authorization: 'Bearer theirs' }, 400],
    ['an invalid cookie', '/open/x', { Cookie: 'AuthSession=zz' }, 400],
    ['a path that leads out of the mount', '/shop/..;/x', { Cookie: ada }, 400],
    ['a path with an encoded slash', '/shop/a%2F..%2Fx', { Cookie: ada }, 400],
    ['a path that is encoded twice', '/shop/%252e%252e/x', { Cookie: ada }, 400],
  ]
  for (const [name, path, headers, status] of rows)
    it(`${name}: ${status}`, async () => {
      const before = backend.seen.length
      assert.equal((await send(front.document, { path, headers })).status, status)
      assert.equal(backend.seen.length - before, status === 200 ? 1 : 0)
    })

  it('gets a token of its own from an anonymous client, and no token of Cardea', async () => {
    const token = { Authorization: 'Bearer eyJhbGciOiJIUzI1NiIsImtpZCI6InRoZWlycyJ9.eyJzdWIiOiJhZGEifQ.c2lnbmVk' }
    assert.equal((await send(front.document, { path: '/open/x', headers: token })).status, 200)
    const seen = backend.seen.at(-1)
    assert.deepEqual([seen?.all('authorization'), seen?.all('x-auth-user')], [[token.Authorization], []])
    const before = backend.seen.length
    assert.notEqual((await send(closed.document, { path: '/open/x', headers: token })).status, 200)
    assert.equal(backend.seen.length, before)
  })

  it('is closed without a word where the door requires a valid user', async () => {
    assert.equal((await send(closed.document, { path: '/open/x' })).status, 401)
    assert.equal((await send(closed.document, { path: '/open/x', headers: ADMIN })).status, 200)
  })

  it('replaces the databases below its mount, and no others', async () => {
    for (const path of ['/shopping', '/shop%2Fx/doc', '/arango/doc'])
      assert.equal((await send(front.document, { path, headers: { Cookie: ada } })).status, 200, path)
    assert.deepEqual(
      couch.seen.slice(-3).map(({ url }) => url),
      ['/shopping', '/shop%2Fx/doc', '/arango/doc'],
    )
    assert.equal((await send(front.document, { method: 'PUT', path: '/shop', headers: { Cookie: ada } })).status, 200)
    assert.equal(backend.seen.at(-1)?.method, 'PUT')
  })

  it('accepts no form of a page of another origin with the session cookie', async () => {
    const post = async (site: string) => {
      const headers = { Cookie: ada, 'Content-Type': 'text/plain', 'Sec-Fetch-Site': site }
      return (await send(front.document, { method: 'POST', path: '/open/x', headers, body: 'x' })).status
    }
    assert.deepEqual([await post('cross-site'), await post('same-site'), await post('same-origin')], [403, 403, 200])
  })

  it('is reached by access tokens for it, and not by those for databases', async () => {
    const create = async (name: string, limits: object) => {
      const expiresAt = new Date('2100-01-01')
      const { token } = await front.cardea.accessTokens.create('ada', { name, expiresAt, ...limits })
      return { Authorization: basic('ada', token) }
    }
    const ask = async (path: string, headers: Record<string, string>) =>
      (await send(front.document, { path, headers })).status
    const forShop = await create('shop', { services: ['shop'] })
    assert.deepEqual([await ask('/shop/x', forShop), await ask('/open/x', forShop)], [200, 403])
    const forDatabase = await create('database', { databases: ['shop', 'open'] })
    assert.deepEqual([await ask('/shop/x', forDatabase), await ask('/open/x', forDatabase)], [403, 403])
  })

  it('gets preflights only with the word, and without a credential', async () => {
    const headers = { Origin: 'https://app.example', 'Access-Control-Request-Method': 'PUT', ...ADA }
    assert.equal((await send(front.document, { method: 'OPTIONS', path: '/own/x', headers })).status, 200)
    assert.deepEqual([backend.seen.at(-1)?.url, backend.seen.at(-1)?.all('x-auth-user')], ['/own/x', []])
    const { Authorization: _, ...anonymous } = headers
    assert.equal((await send(front.document, { method: 'OPTIONS', path: '/shop/x', headers: anonymous })).status, 401)
  })

  it('loses its streams with the session that opened them', async () => {
    const cookie = await signIn('ada')
    const stream = await openStream(front.document, '/feed/x', { Cookie: cookie })
    await send(front.document, { method: 'DELETE', path: '/_session', headers: { Cookie: cookie } })
    assert.equal(await stream.ended, 'broken')
  })

  it('is logged when an option opens it to anyone', async () => {
    const path = '/_node/_local/_config/chttpd/require_valid_user'
    for (const body of ['"true"', '"false"']) await send(bare.document, { method: 'PUT', path, headers: ADMIN, body })
    const warnings = bare.log.filter(({ message }) => message === 'service open at /open is OPEN TO ANYONE')
    assert.equal(warnings.length, 1)
  })
})

test('a service for users needs no grant at the multi-model door, but a user', async () => {
  for (const { multiModel } of [front, bare])
    for (const path of ['/shop/x', '/arango/x']) {
      assert.equal((await send(multiModel, { path, headers: ADA })).status, 200, path)
      assert.equal((await send(multiModel, { path })).status, 401, path)
    }
  for (const path of ['/open/x', '/_arango/v0/shop/x'])
    assert.notEqual((await send(front.multiModel, { path, headers: ADA })).status, 200, path)
})

for (const text of ['/shop http://127.0.0.1:1 user required', '/shop http://127.0.0.1:1 documents'])
  test(`[services] ${text} is rejected at start`, async () => {
    await assert.rejects(createTestCardea({ options: { services: { shop: text } } }), /its doors/)
  })

test('[services] leaves the path of the key set to Cardea', async () => {
  const options = { services: { keys: '/.well-known/jwks.json http://127.0.0.1:1' } }
  await assert.rejects(createTestCardea({ options }), /keys: \/\.well-known\/jwks\.json belongs to Cardea/)
})

describe('a service at the document door with gate.sign-in', async () => {
  const { document } = await startServer({ after }, services, { gate: { 'sign-in': true } })
  const HTML = { Accept: 'text/html' }
  const TARGET = '/_cardea/sign-in?next=%2Fshop%2Fa%3Fb%3D1'
  const rows: readonly [string, Parameters<typeof send>[1], number, location?: string][] = [
    ['redirects a browser that opens a page', { path: '/shop/a?b=1', headers: HTML }, 302, TARGET],
    ['refuses a program', { path: '/shop/a', headers: { Accept: '*/*' } }, 401],
    ['refuses a wrong credential', { path: '/shop/a', headers: { ...HTML, Authorization: basic('ada', 'no') } }, 401],
    ['refuses a form', { method: 'POST', path: '/shop/a', headers: HTML }, 401],
    ['lets anyone pass where it is open', { path: '/open/a', headers: HTML }, 200],
    ['lets a user pass', { path: '/shop/a', headers: { ...HTML, ...ADMIN } }, 200],
    ['does not redirect from paths of the database', { path: '/_users/_all_docs', headers: HTML }, 401],
  ]
  for (const [name, request, status, location] of rows)
    it(name, async () => {
      const reply = await send(document, request)
      assert.deepEqual([reply.status, reply.lines['location']?.[0]], [status, location])
    })
})
