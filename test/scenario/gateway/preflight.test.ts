// OPTIONS at the multi-model door: Cardea answers it, except CORS preflights of services that ask for them.
import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { createTestCardea } from '../../../src/index.ts'
import { ADMIN, basic, send } from '../../support/request.ts'
import { startServer } from '../../support/server.ts'
import { beforeMultiModel, openBackend } from '../../support/upstream.ts'

const behind = await openBackend({ after }, (_request, response) =>
  response.writeHead(204, { 'Access-Control-Allow-Origin': 'https://behind.example', Allow: 'GET' }).end(),
)
const gone = await openBackend({ after })
await gone.close()

const services = {
  services: {
    shop: `/shop ${behind.url}`,
    ledger: `/ledger ${behind.url} required`,
    own: `/own ${behind.url} preflight`,
    both: `/both ${behind.url} required preflight`,
    turned: `/turned ${behind.url} preflight required`,
  },
}
const trusting = { http: { 'trusted-origin': 'https://app.example' } }
const front = await startServer({ after }, beforeMultiModel({ after }, behind.url), services)
const owning = await startServer({ after }, beforeMultiModel({ after }, behind.url), services, trusting)
const closed = await startServer({ after }, services, { server: { 'authentication-system-only': false } })
const down = await startServer({ after }, beforeMultiModel({ after }, gone.url), {
  services: { shop: `/shop ${gone.url}` },
})

const ASKED = 'Access-Control-Request-Method'
const PREFLIGHT = { Origin: 'https://app.example', [ASKED]: 'PUT' }
const WRONG = { Authorization: basic('admin', 'wrong') }
const BROKEN = { Authorization: 'Basic !!!' }

type Row = readonly [name: string, of: typeof front, path: string, headers: Record<string, string>, isPassed: boolean]

const ROWS: readonly Row[] = [
  ['a preflight for a service', front, '/shop/cart', PREFLIGHT, false],
  ['a preflight for a closed service', front, '/ledger/x', PREFLIGHT, false],
  ['a preflight for the database', front, '/_api/cursor', PREFLIGHT, false],
  ['a preflight for another database', front, '/_db/nothing/_api/cursor', PREFLIGHT, false],
  ['a preflight under an API version', front, '/_arango/v0/_api/cursor', PREFLIGHT, false],
  ['a preflight under an unknown API version', front, '/_arango/v01/_api/cursor', PREFLIGHT, false],
  ['a preflight for users', front, '/_api/user/ada', PREFLIGHT, false],
  ['a preflight for a sign-in', front, '/_open/auth', PREFLIGHT, false],
  ['a preflight for the control API', front, '/_cardea/api/users', PREFLIGHT, false],
  ['a preflight for the key set', front, '/.well-known/jwks.json', PREFLIGHT, false],
  ['a preflight for the gate', front, '/_gate', PREFLIGHT, false],
  ['the gate without an origin', front, '/_gate', {}, false],
  ['the gate with a wrong password', front, '/_gate', WRONG, false],
  ['the gate with a credential', front, '/_gate?role=x', ADMIN, false],
  ['a wrong password', front, '/_api/version', WRONG, false],
  ['a malformed credential', front, '/_api/version', BROKEN, false],
  ['no credential where every path needs one', closed, '/shop/dav', {}, false],
  ['an upstream that is down', down, '/_api/cursor', PREFLIGHT, false],
  ['a service that is down', down, '/shop', PREFLIGHT, false],
  ['an upstream that is down, no preflight', down, '/_api/cursor', {}, false],
  ['an ambiguous path', front, '/own//x', PREFLIGHT, false],
  ['a service that answers preflights itself', front, '/own/x', PREFLIGHT, true],
  ['the same, closed', front, '/both/x', PREFLIGHT, true],
  ['the same, with the words in the other order', front, '/turned/x', PREFLIGHT, true],
  ['the same, of a page without an origin', front, '/own/x', { ...PREFLIGHT, Origin: 'null' }, true],
  ['the same, under an API version', front, '/_arango/v0/own/x', PREFLIGHT, false],
  ['the same, with trusted origins: Cardea owns CORS', owning, '/own/x', PREFLIGHT, false],
  ['the same, no preflight', front, '/own/x', {}, false],
  ['the same, no preflight, with a credential', front, '/both/x', ADMIN, false],
  ['the same, with cookies: no preflight', front, '/own/x', { ...PREFLIGHT, Cookie: 'a=1' }, false],
  ['the same, with an invalid origin', front, '/own/x', { ...PREFLIGHT, Origin: 'a b' }, false],
  ['the same, without a method', front, '/own/x', { ...PREFLIGHT, [ASKED]: '' }, false],
]

for (const [name, of, path, headers, isPassed] of ROWS)
  test(`OPTIONS, ${name}: ${isPassed ? 'forwarded' : 'answered by Cardea'}`, async () => {
    const before = behind.seen.length
    const answer = await send(of.multiModel, { method: 'OPTIONS', path, headers })
    assert.deepEqual([answer.status, behind.seen.length > before], isPassed ? [204, true] : [200, false])
    const allowed = answer.headers['access-control-allow-origin']
    if (isPassed) return assert.equal(allowed, 'https://behind.example')
    assert.equal(allowed, headers['Origin'])
    assert.equal(answer.headers['allow'], 'DELETE, GET, HEAD, OPTIONS, PATCH, POST, PUT')
    assert.equal(answer.headers['www-authenticate'], undefined)
  })

for (const [name, length] of [
  ['a length', { 'Content-Length': '4' }],
  ['chunks', { 'Transfer-Encoding': 'chunked' }],
] as const)
  test(`OPTIONS with a body is no preflight and not forwarded (${name})`, async () => {
    const before = behind.seen.length
    const headers = { ...PREFLIGHT, ...length }
    const answer = await send(front.multiModel, { method: 'OPTIONS', path: '/own/x', headers, body: 'body' })
    assert.deepEqual([answer.status, behind.seen.length - before], [200, 0])
  })

test('a forwarded preflight carries no credential', async () => {
  for (const path of ['/own/cart', '/both/x']) {
    await send(front.multiModel, { method: 'OPTIONS', path, headers: { ...PREFLIGHT, ...ADMIN } })
    const seen = behind.seen.at(-1)
    assert.deepEqual([seen?.url, seen?.all('authorization'), seen?.all('x-auth-token')], [path, [], []])
  }
})

test('a service with preflight and required still needs a credential for everything else', async () => {
  const before = behind.seen.length
  assert.equal((await send(front.multiModel, { path: '/both/x' })).status, 401)
  assert.equal(behind.seen.length, before)
})

test('[services] rejects an unknown word', async () => {
  const shop = '/shop http://127.0.0.1:1 preflights'
  await assert.rejects(createTestCardea({ options: { services: { shop } } }), /user or required, preflight/)
})
