import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { block, exchange, FLAG, frame, request, TYPE, toHead } from '../../support/frames.ts'
import { AS_ADMIN } from '../../support/request.ts'
import { startServer } from '../../support/server.ts'
import { beforeDocument, beforeMultiModel, openBackend } from '../../support/upstream.ts'

const PATH = '/_db/_system/_api/document/a'
const SMUGGLED = 'GET /smuggled HTTP/1.1\r\nHost: a\r\n\r\n'
const AS: [string, string] = ['authorization', AS_ADMIN]

type Headers = readonly (readonly [string, string])[]

/** A request with other pseudo-headers. */
function get(pseudo: Readonly<Record<string, string>>): Buffer[] {
  const head = toHead(PATH, [AS]).map(([name, value]) => [name, pseudo[name] ?? value] as const)
  return [frame(TYPE.headers, FLAG.endHeaders | FLAG.endStream, 1, block(head))]
}

function post(headers: Headers, body = SMUGGLED, trailers?: Headers): Buffer[] {
  const head = block([[':method', 'POST'], ...toHead(PATH, [AS, ...headers]).slice(1)])
  const last = trailers && frame(TYPE.headers, FLAG.endHeaders | FLAG.endStream, 1, block(trailers))
  const data = frame(TYPE.data, last ? 0 : FLAG.endStream, 1, body)
  return [frame(TYPE.headers, FLAG.endHeaders, 1, head), data, ...(last ? [last] : [])]
}

/** Each must be refused. Nothing of it may reach the server behind. */
const REFUSED: readonly (readonly [name: string, bytes: readonly Buffer[]])[] = [
  ['a body after a length of 0', post([['content-length', '0']])],
  ['a body longer than its length', post([['content-length', '3']])],
  ['a body shorter than its length', post([['content-length', '100']])],
  ['a length with a sign', post([['content-length', '+3']], 'abc')],
  ['a list of one length', post([['content-length', '3, 3']], 'abc')],
  ['a length with a line break', post([['content-length', '3\r\nTransfer-Encoding: chunked']], 'abc')],
  [
    'two equal lengths',
    post(
      [
        ['content-length', '3'],
        ['content-length', '3'],
      ],
      'abc',
    ),
  ],
  ['a coding', post([['transfer-encoding', 'chunked']], `0\r\n\r\n${SMUGGLED}`)],
  ['a coding with a line break', post([['transfer-encoding', 'chunked\r\n']], `0\r\n\r\n${SMUGGLED}`)],
  ['a header of a connection', post([['proxy-connection', 'keep-alive']], 'abc')],
  ['a method with a path', get({ ':method': 'GET /smuggled' })],
  ['a method with a whole request', get({ ':method': `${SMUGGLED}GET` })],
  ['a path with a version', get({ ':path': `${PATH} HTTP/1.1` })],
  ['a path with a whole request', get({ ':path': `${PATH} HTTP/1.1\r\nHost: a\r\n\r\n${SMUGGLED}` })],
  ['a path with a tab', get({ ':path': `${PATH}\tHTTP/1.1` })],
  ['an absolute path', get({ ':path': 'http://evil/smuggled' })],
  ['a path without a slash', get({ ':path': 'smuggled' })],
  ['an asterisk', get({ ':path': '*' })],
  ['an authority with a line break', get({ ':authority': 'a\r\nX-Smuggled: 1' })],
  ['an authority with a user', get({ ':authority': 'a@b' })],
  ['an authority with a path', get({ ':authority': 'a/b' })],
  ['a scheme with a path', get({ ':scheme': 'http://evil/' })],
  ['a scheme with a line break', get({ ':scheme': 'http\r\nX-Smuggled: 1' })],
  ['a pseudo-header in trailers', post([], 'abc', [[':path', '/smuggled']])],
  ['a header of a connection in trailers', post([], 'abc', [['transfer-encoding', 'chunked']])],
]

/** Node removes headers with such names or values before Cardea sees them: they have no effect anywhere. */
const REMOVED: Headers = [
  ['x-a', 'b\r\nX-Smuggled: 1'],
  ['x-a', 'b\nX-Smuggled: 1'],
  ['x-smuggled', 'b\rc'],
  ['x-smuggled', 'b\0'],
  ['x-smuggled', '\x01'],
  ['x-smuggled', '\x7f'],
  ['x-smuggled', ' b'],
  ['x-smuggled', 'b\t'],
  ['x-a: b\r\nx-smuggled', '1'],
  ['x-smuggled: 1\r\nx-a', 'b'],
  ['x-smuggled ', '1'],
  ['x-smuggled:', '1'],
  ['x-smuggled\0', '1'],
  ['', 'x-smuggled: 1'],
  ['cookie', 'a=b\r\nX-Smuggled: 1'],
  ['host', 'a\r\nX-Smuggled: 1'],
  ['if-match', '"1"\n'],
  ['x-http-method-override', 'DELETE\n'],
]

const scope = { after }
const backend = await openBackend(scope)
const front = await startServer(scope, {
  upstream: { ...beforeDocument(backend.url)['upstream'], ...beforeMultiModel(scope, backend.url)['upstream'] },
})
const ports = [front.document, front.multiModel].map((url) => Number(new URL(url).port))

/** Requests that the server behind got. Another connection is used in between, so that none is on its way. */
async function observe(port: number, bytes: readonly Buffer[]) {
  const before = backend.seen.length
  const outcome = await exchange(port, bytes)
  assert.equal(await exchange(port, [request('/_db/_system/_api/last', [AS])]), '200')
  const seen = backend.seen.slice(before)
  assert.equal(seen.pop()?.url, '/_db/_system/_api/last')
  return { outcome, seen }
}

for (const [name, bytes] of REFUSED)
  test(`HTTP/2: ${name} is refused, and nothing of it forwarded`, async () => {
    for (const port of ports) {
      const { outcome, seen } = await observe(port, bytes)
      assert.match(outcome, /^4\d\d$|^RST_STREAM PROTOCOL_ERROR$|^GOAWAY (?:PROTOCOL|INTERNAL)_ERROR$/)
      assert.deepEqual(seen, [])
    }
  })

for (const header of REMOVED)
  test(`HTTP/2: the header ${JSON.stringify(header)} has no effect`, async () => {
    for (const port of ports) {
      const { outcome, seen } = await observe(port, [request(PATH, [AS, header])])
      assert.equal(outcome, '200')
      assert.deepEqual(
        seen.map(({ method, url }) => `${method} ${url}`),
        [`GET ${PATH}`],
      )
      for (const text of seen[0]?.raw ?? []) assert.doesNotMatch(text, /smuggled|\r|\n/i)
    }
  })

test('HTTP/2: a credential with a line break is none', async () => {
  const { outcome, seen } = await observe(ports[1] ?? 0, [request(PATH, [['authorization', `${AS_ADMIN}\n`]])])
  assert.deepEqual([outcome, seen], ['401', []])
})

test('HTTP/2: a request in a body stays a body', async () => {
  for (const port of ports)
    for (const headers of [[], [['content-length', String(SMUGGLED.length)] as const]]) {
      const { outcome, seen } = await observe(port, post(headers))
      assert.equal(outcome, '200')
      assert.deepEqual(
        seen.map(({ url, body }) => [url, body.toString()]),
        [[PATH, SMUGGLED]],
      )
    }
})

test('HTTP/2: trailers do not become headers', async () => {
  for (const port of ports) {
    const trailers: Headers = [
      ['x-smuggled', '1'],
      ['authorization', 'Basic eDp5'],
      ['x-auth-couchdb-username', 'eve'],
    ]
    const { outcome, seen } = await observe(port, post([], 'abc', trailers))
    assert.equal(outcome, '200')
    assert.deepEqual([seen.length, seen[0]?.all('x-smuggled')], [1, []])
    assert.ok(!seen[0]?.raw.includes('eve'))
  }
})
