import assert from 'node:assert/strict'
import { test } from 'node:test'
import { filterResponseHeaders, filterResponseTrailers } from '../../src/gateway/response-headers.ts'

const filter = (cookie: string) =>
  filterResponseHeaders(['Set-Cookie', cookie], 200, {
    ownsCors: false,
    ownCookies: ['AuthSession', 'CardeaAdmin'],
  })

/** A browser would send each of these back as `AuthSession=…`, alone or after a comma. */
for (const cookie of [
  'AuthSession=e7',
  'AuthSession=',
  'AuthSession',
  'authsession=e7; Path=/',
  ' AUTHSESSION =e7',
  '=AuthSession=e7',
  '=authsession=e7; Path=/; HttpOnly',
  ' = AuthSession = e7',
  '==AuthSession=e7',
  'app=1,AuthSession=e7',
  'app=1, =AuthSession=e7; Path=/',
  'CardeaAdmin=e7; Path=/_cardea/',
  '=cardeaadmin=e7',
])
  test(`removes a cookie with the name of a session cookie: ${cookie}`, () => assert.deepEqual(filter(cookie), []))

for (const cookie of [
  'app=1',
  '=1',
  'AuthSessions=1',
  'MyAuthSession=1',
  'app=AuthSession',
  'app==AuthSession=1',
  'app=1; Path=/AuthSession=1; Expires=Wed, 21 Oct 2026 07:28:00 GMT',
])
  test(`forwards other cookies unchanged: ${cookie}`, () => assert.deepEqual(filter(cookie), [['Set-Cookie', cookie]]))

const RULES = { ownsCors: true, ownCookies: ['AuthSession', 'CardeaAdmin'] }
const bytes = (...texts: string[]) => texts.map((text) => Buffer.from(text, 'latin1'))

test('headers keep their order and spelling, as bytes or text; the length comes last', () => {
  const kept = [
    ['X-ETag', 'W/"\u00e9"'],
    ['vAry', 'a'],
    ['Vary', 'b'],
    ['CONTENT-LENGTH', '3'],
  ]
  const raw = ['CONTENT-LENGTH', '3', 'X-ETag', 'W/"\u00e9"', 'vAry', 'a', 'Vary', 'b']
  assert.deepEqual(filterResponseHeaders(raw, 200, RULES), kept)
  assert.deepEqual(filterResponseHeaders(bytes(...raw), 200, RULES), kept)
})

test('each value of a repeated header is kept when the headers were parsed before', () => {
  const raw = bytes('Vary', 'a', 'vary', 'b', 'ETag', '"1"')
  const parsed = { vary: ['a', 'b'], etag: '"1"' }
  const kept = [
    ['Vary', 'a'],
    ['vary', 'b'],
    ['ETag', '"1"'],
  ]
  assert.deepEqual(filterResponseHeaders(raw, 200, { ...RULES, parsed }), kept)
})

test('names of object properties are ordinary header names', () => {
  const raw = bytes('constructor', '1', '__proto__', '2', 'toString', '3')
  const kept = [
    ['constructor', '1'],
    ['__proto__', '2'],
    ['toString', '3'],
  ]
  assert.deepEqual(filterResponseHeaders(raw, 200, RULES), kept)
})

test('removes hop-by-hop headers and those Connection names, except the ones that describe the body', () => {
  const raw = ['X-A', '1', 'Connection', 'x-a, close', 'x-b', '2', 'Keep-Alive', 'timeout=5', 'Upgrade', 'h2c']
  const markDown = [
    'connection',
    'X-B, Content-Type, content-length',
    'Content-Type',
    't',
    'Content-Length',
    '0',
    'x-c',
    '3',
  ]
  const kept = [
    ['Content-Type', 't'],
    ['x-c', '3'],
    ['Content-Length', '0'],
  ]
  assert.deepEqual(filterResponseHeaders([...raw, ...markDown], 200, RULES), kept)
})

test('rejects codings other than chunked, and removes the length of a 204', () => {
  assert.equal(filterResponseHeaders(['Transfer-Encoding', 'gzip, chunked'], 200, RULES), undefined)
  assert.deepEqual(filterResponseHeaders(['Transfer-Encoding', 'Chunked'], 200, RULES), [])
  assert.deepEqual(filterResponseHeaders(['Content-Length', '5'], 204, RULES), [])
})

test('CORS headers are removed if Cardea sets them', () => {
  const raw = ['Access-Control-Allow-Origin', '*']
  assert.deepEqual(filterResponseHeaders(raw, 200, RULES), [])
  assert.deepEqual(filterResponseHeaders(raw, 200, { ...RULES, ownsCors: false }), [[...raw]])
})

test('removes trailers that are needed before the body', () => {
  const raw = bytes('X-Sum', '1', 'Set-Cookie', 'a=1', 'Content-Type', 't', 'Access-Control-Max-Age', '1', 'Vary', 'x')
  assert.deepEqual(filterResponseTrailers(raw), [['X-Sum', '1']])
})

test('X-Content-Type-Options is forwarded only as nosniff, and Clear-Site-Data never', () => {
  const raw = ['X-Content-Type-Options', 'sniff', 'Clear-Site-Data', '"cookies"', 'x-content-type-options', ' NoSniff']
  assert.deepEqual(filterResponseHeaders(raw, 200, RULES), [['x-content-type-options', ' NoSniff']])
})

test('a name keeps the spelling of each response, also after another one', () => {
  for (const name of ['ETag', 'etag', 'ETAG', 'ETag'])
    assert.deepEqual(filterResponseHeaders(bytes(name, '1'), 200, { ...RULES, parsed: { etag: '1' } }), [[name, '1']])
})

test('headers are read by their own names when the parsed ones have another order', () => {
  const raw = bytes('Vary', 'a', '7', 'b', 'Connection', 'x-hop', 'X-Hop', 'c')
  // V8 lists names that are numbers first
  const parsed = { vary: 'a', 7: 'b', connection: 'x-hop', 'x-hop': 'c' }
  for (let count = 0; count < 2; count += 1)
    assert.deepEqual(filterResponseHeaders(raw, 200, { ...RULES, parsed }), [
      ['Vary', 'a'],
      ['7', 'b'],
    ])
})

for (const name of ['Alt-Svc', 'NEL', 'Report-To', 'reporting-endpoints', 'Strict-Transport-Security'])
  test(`removes a header that applies to the whole origin: ${name}`, () =>
    assert.deepEqual(filterResponseHeaders([name, 'x'], 200, RULES), []))
