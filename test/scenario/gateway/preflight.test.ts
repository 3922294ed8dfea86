// OPTIONS at the multi-model door: whose answer it is.
import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { beforeMultiModel, openBackend, openFront } from '../../support/gateway.ts'
import { ADMIN, basic, send } from '../../support/scenario.ts'

const behind = await openBackend({ after }, (_request, response) =>
  response.writeHead(204, { 'Access-Control-Allow-Origin': 'https://behind.example', Allow: 'GET' }).end(),
)
const services = { services: { shop: `/shop ${behind.url}`, ledger: `/ledger ${behind.url} required` } }
const front = await openFront({ after }, beforeMultiModel({ after }, behind.url), services)
const owning = await openFront({ after }, beforeMultiModel({ after }, behind.url), services, {
  http: { 'trusted-origin': 'https://app.example' },
})
const closed = await openFront({ after }, services, { server: { 'authentication-system-only': false } })

const ASKED = 'Access-Control-Request-Method'
const PREFLIGHT = { Origin: 'https://app.example', [ASKED]: 'PUT' }
const WRONG = { Authorization: basic('admin', 'wrong') }

type Row = readonly [name: string, of: typeof front, path: string, headers: Record<string, string>, isPassed: boolean]

const ROWS: readonly Row[] = [
  ['a preflight for an open service', front, '/shop/cart', PREFLIGHT, true],
  ['a preflight for a closed one: browsers send no credentials with it', front, '/ledger/x', PREFLIGHT, true],
  ['a preflight for the database', front, '/_api/cursor', PREFLIGHT, true],
  ['a preflight for what stands in for the database', front, '/_api/version', PREFLIGHT, true],
  ['a preflight for a path of Cardea’s', front, '/_api/user/ada', PREFLIGHT, false],
  ['a preflight for a sign-in', front, '/_open/auth', PREFLIGHT, false],
  ['a preflight for the console', front, '/_cardea/api/users', PREFLIGHT, false],
  ['a preflight for the keys', front, '/.well-known/jwks.json', PREFLIGHT, false],
  ['a preflight for a path with two meanings', front, '/shop//x', PREFLIGHT, false],
  ['a preflight where somebody told Cardea whom to trust', owning, '/shop/cart', PREFLIGHT, false],
  ['the same for the database', owning, '/_api/cursor', PREFLIGHT, false],
  [
    'what has cookies, and is no preflight, for a closed one',
    front,
    '/ledger/x',
    { ...PREFLIGHT, Cookie: 'a=1' },
    false,
  ],
  ['what comes from nowhere, for a closed one', front, '/ledger/x', { ...PREFLIGHT, Origin: '' }, false],
  ['what comes from no origin, for a closed one', front, '/ledger/x', { ...PREFLIGHT, Origin: 'a b' }, false],
  ['what asks for no method, for a closed one', front, '/ledger/x', { ...PREFLIGHT, [ASKED]: '' }, false],
  ['what asks for what is no method, for a closed one', front, '/ledger/x', { ...PREFLIGHT, [ASKED]: 'a b' }, false],
  ['a preflight of a page from nowhere', front, '/ledger/x', { ...PREFLIGHT, Origin: 'null' }, true],
  ['the same with cookies, for an open service', front, '/shop/x', { ...PREFLIGHT, Cookie: 'a=1' }, true],
  ['no preflight, for an open service', front, '/shop/dav', {}, true],
  ['no preflight, with a wrong password', front, '/shop/dav', WRONG, true],
  ['no preflight, for a closed service', front, '/ledger/dav', {}, false],
  ['no preflight, for a closed service, with a wrong password', front, '/ledger/dav', WRONG, false],
  ['no preflight, for a closed service, by who is let in', front, '/ledger/dav', ADMIN, true],
  ['no preflight, where every path is closed', closed, '/shop/dav', {}, false],
  ['no preflight, for the database, which would say the same', front, '/_api/cursor', {}, false],
]

for (const [name, of, path, headers, isPassed] of ROWS)
  test(`OPTIONS, ${name}: ${isPassed ? 'passed on' : 'answered here'}`, async () => {
    const before = behind.seen.length
    const answer = await send(of.multiModel, { method: 'OPTIONS', path, headers })
    assert.deepEqual([answer.status, behind.seen.length > before], isPassed ? [204, true] : [200, false])
    const allowed = answer.headers['access-control-allow-origin']
    if (isPassed) assert.equal(allowed, 'https://behind.example')
    else assert.equal(allowed, headers['Origin'])
  })

for (const [name, length] of [
  ['a length', { 'Content-Length': '4' }],
  ['pieces', { 'Transfer-Encoding': 'chunked' }],
] as const)
  test(`a preflight never has a body: nothing of one goes to a closed service (${name})`, async () => {
    const before = behind.seen.length
    const headers = { ...PREFLIGHT, ...length }
    const answer = await send(front.multiModel, { method: 'OPTIONS', path: '/ledger/x', headers, body: 'body' })
    assert.deepEqual([answer.status, behind.seen.length - before], [200, 0])
    await send(front.multiModel, {
      method: 'OPTIONS',
      path: '/ledger/x',
      headers: { ...headers, ...ADMIN },
      body: 'body',
    })
    assert.equal(behind.seen.length - before, 1)
  })

test('a preflight brings nobody’s credentials behind the door', async () => {
  for (const path of ['/shop/cart', '/ledger/x', '/_api/cursor']) {
    await send(front.multiModel, { method: 'OPTIONS', path, headers: { ...PREFLIGHT, ...ADMIN } })
    const seen = behind.seen.at(-1)
    assert.deepEqual([seen?.url, seen?.all('authorization'), seen?.all('x-auth-token')], [path, [], []])
  }
})
