// Random and mutated requests to every route: each gets a response, and none is a 5xx.
import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import fc from 'fast-check'
import { ANY_CHARACTER } from '../../support/any-character.ts'
import { type MultiModel, now, openMultiModel, superuser, userToken } from '../../support/multi-model.ts'
import { sendRaw } from '../../support/raw.ts'
import { AS_ADMIN, basic } from '../../support/request.ts'

const ROUTES = [
  '/',
  '/_open/auth',
  '/_open/auth/renew',
  '/_open/auth/?',
  '/_api/user',
  '/_api/user/?',
  '/_api/user/?/database',
  '/_api/user/?/database/?',
  '/_api/user/?/database/?/?',
  '/_api/user/?/config',
  '/_api/user/?/config/?',
  '/_api/token',
  '/_api/token/?',
  '/_api/token/?/?',
  '/_api/version',
  '/_api/database',
  '/_api/database/current',
  '/_api/database/user',
  '/_api/cluster/endpoints',
  '/_admin/version',
  '/_admin/status',
  '/_admin/server/availability',
  '/_admin/server/mode',
  '/_admin/server/role',
  '/_admin/server/id',
  '/_admin/server/jwt',
  '/my-app/?',
  '/_?/?',
]

const METHODS = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS', 'PROPFIND', 'TRACE']

const BODIES: readonly unknown[] = [
  { username: 'ann', password: 'apple', expiryTime: 60, token: '123456' },
  { user: 'new', passwd: 'x', active: true, extra: { a: { b: [1, null] } } },
  { passwd: 'apple' },
  { grant: 'rw' },
  { value: { a: 1 } },
  { name: 'token', valid_until: 4102444800 },
]

const odd = fc.constantFrom<unknown>(
  null,
  true,
  0,
  -1,
  1e308,
  '',
  '\u0000',
  '__proto__',
  [],
  {},
  [[]],
  'x'.repeat(3000),
)

/** A valid body with a member replaced or added. */
const mutated = fc
  .tuple(fc.constantFrom(...BODIES), fc.string({ maxLength: 8 }), fc.oneof(odd, fc.jsonValue()), fc.nat(4))
  .map(([body, added, value, at]) => {
    const entries = Object.entries(Object(body))
    const changed = entries.map(([name, member], index) => [name, index === at ? value : member])
    return JSON.stringify(Object.fromEntries([...changed, [added, value]]))
  })

const body = fc.oneof(
  { weight: 4, arbitrary: mutated },
  { weight: 2, arbitrary: fc.constantFrom(...BODIES).map((value) => JSON.stringify(value)) },
  { weight: 1, arbitrary: fc.json() },
  { weight: 1, arbitrary: fc.string({ unit: ANY_CHARACTER, maxLength: 50 }) },
  {
    weight: 1,
    arbitrary: fc.constantFrom('', '{', '[', '"', '{"a":1,"a":2}', '['.repeat(3000), `${'{"a":'.repeat(500)}1`),
  },
)

const segment = fc.oneof(
  { weight: 5, arbitrary: fc.constantFrom('ann', 'admin', 'root', 'unknown', 'shop', '_system', '*', '1', 'renew') },
  { weight: 2, arbitrary: fc.string({ minLength: 1, maxLength: 12 }).map(encodeURIComponent) },
  {
    weight: 1,
    arbitrary: fc.constantFrom('%00', '..', '%2f', '__proto__', 'constructor', '%F0%9F%98%80', '%zz', 'a:b'),
  },
)

const path = fc
  .tuple(fc.constantFrom(...ROUTES), fc.array(segment, { minLength: 3, maxLength: 3 }), fc.option(segment))
  .map(([route, segments, database]) => {
    const rest = [...segments]
    const filled = route.replaceAll('?', () => rest.shift() ?? 'x')
    return database === null ? filled : `/_db/${database}${filled}`
  })

const query = fc.constantFrom('', '?', '?full=true', '?details=true', '?configured=true', '?full=%', '?a=b&a=c')

const credential = fc.oneof(
  { weight: 4, arbitrary: fc.constantFrom(AS_ADMIN, superuser(), userToken('ann'), basic('ann', 'apple'), '') },
  {
    weight: 1,
    arbitrary: fc.record({ exp: fc.jsonValue(), allowed_paths: fc.jsonValue() }).map((claims) => superuser(claims)),
  },
  { weight: 1, arbitrary: fc.jsonValue().map((name) => userToken('x', { preferred_username: name, iat: now() })) },
  { weight: 1, arbitrary: fc.string({ maxLength: 30 }).map((text) => `Basic ${Buffer.from(text).toString('base64')}`) },
  { weight: 1, arbitrary: fc.string({ maxLength: 30 }).map((text) => `Bearer ${text.replace(/[^\x20-\x7e]/g, '')}`) },
)

const header = fc.constantFrom(
  'Content-Type: application/json',
  'Content-Type: text/plain',
  'Content-Type: application/x-velocypack',
  'Content-Type: ;;;',
  'Content-Encoding: gzip',
  'X-Omit-Www-Authenticate: 1',
  'Origin: https://app.example',
  'X-Arango-Async: store',
  'Expect: 100-continue',
)

const request = fc
  .record({
    method: fc.constantFrom(...METHODS),
    path,
    query,
    credential,
    body: fc.option(body),
    headers: fc.uniqueArray(header, { maxLength: 3, selector: (line) => line.split(':')[0] }),
  })
  .map((given) => {
    const bytes = given.body === null ? Buffer.alloc(0) : Buffer.from(given.body)
    const lines = [
      `${given.method} ${given.path}${given.query} HTTP/1.1`,
      'Host: localhost',
      'Connection: close',
      ...(given.credential === '' ? [] : [`Authorization: ${given.credential}`]),
      ...given.headers,
      ...(given.body === null ? [] : [`Content-Length: ${bytes.length}`]),
    ]
    return Buffer.concat([Buffer.from(`${lines.join('\r\n')}\r\n\r\n`, 'latin1'), bytes])
  })

for (const [name, options] of [
  ['with authentication', {}],
  ['without', { server: { authentication: false } }],
] as const) {
  describe(`random requests, ${name}`, () => {
    let port = 0
    let close: () => unknown = () => {}
    before(async () => {
      const door: MultiModel = await openMultiModel(
        {
          after: (work) => {
            close = work
          },
        },
        options,
      )
      port = Number(new URL(door.url).port)
      for (const user of ['ann', 'rob']) {
        await door.ask('POST', '/_api/user', { as: AS_ADMIN, body: { user, passwd: 'apple' } })
      }
    })
    after(() => close())

    it('get a response that is never a 5xx', async () => {
      await fc.assert(
        fc.asyncProperty(request, async (bytes) => {
          const answer = await sendRaw(port, bytes, { untilClosed: true })
          assert.ok(answer.isClosed, `no complete response to ${bytes.toString('latin1')}`)
          assert.ok(answer.status >= 100 && answer.status < 500, `${answer.text} to ${bytes.toString('latin1')}`)
        }),
        { numRuns: process.env['TEST_LONG'] ? 3000 : 300 },
      )
    })
  })
}
