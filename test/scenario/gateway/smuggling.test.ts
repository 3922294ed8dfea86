import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { sendRaw } from '../../support/raw.ts'
import { startServer } from '../../support/server.ts'
import { beforeDocument, beforeMultiModel, openBackend, openServer } from '../../support/upstream.ts'

const SMUGGLED = 'GET /smuggled HTTP/1.1\r\nHost: a\r\n\r\n'

/** A POST with these lines, then a body in which another request hides. */
const post = (lines: readonly string[], body: string = SMUGGLED): string =>
  [`POST /db/doc HTTP/1.1`, 'Host: a', ...lines, '', body].join('\r\n')

const chunked = (text: string): string => `${text.length.toString(16)}\r\n${text}\r\n0\r\n\r\n`

/** Each must be refused, and end its connection. Nothing of it may reach the server behind. */
const REFUSED: readonly (readonly [name: string, bytes: string])[] = [
  ['two lengths', post(['Content-Length: 0', `Content-Length: ${SMUGGLED.length}`])],
  ['two lengths, the other way', post([`Content-Length: ${SMUGGLED.length}`, 'Content-Length: 0'])],
  ['the same length twice', post(['Content-Length: 3', 'Content-Length: 3'], 'abc')],
  ['two lengths in two spellings', post(['Content-Length: 0', `content-length: ${SMUGGLED.length}`])],
  ['a list of lengths', post([`Content-Length: 0, ${SMUGGLED.length}`])],
  ['a list of one length', post(['Content-Length: 3, 3'], 'abc')],
  ['length and chunks', post(['Content-Length: 5', 'Transfer-Encoding: chunked'], `0\r\n\r\n${SMUGGLED}`)],
  ['chunks and length', post(['Transfer-Encoding: chunked', 'Content-Length: 5'], `0\r\n\r\n${SMUGGLED}`)],
  ['chunks and no length', post(['Transfer-Encoding: chunked', 'Content-Length: 0'], `0\r\n\r\n${SMUGGLED}`)],
  ['a length with a sign', post(['Content-Length: +3'], 'abc')],
  ['a negative length', post(['Content-Length: -3'], 'abc')],
  ['a hexadecimal length', post(['Content-Length: 0x3'], 'abc')],
  ['a length with a fraction', post(['Content-Length: 3.0'], 'abc')],
  ['a length with a blank inside', post(['Content-Length: 3 5'], 'abc')],
  ['an empty length', post(['Content-Length: '], 'abc')],
  ['a length of words', post(['Content-Length: three'], 'abc')],
  ['a length past all numbers', post(['Content-Length: 99999999999999999999999'], 'abc')],
  ['a blank before the colon of the length', post(['Content-Length : 3'], 'abc')],
  ['a blank before the colon of the coding', post(['Transfer-Encoding : chunked'], chunked('abc'))],
  ['a tab before a colon', post(['X-A\t: b', 'Content-Length: 0'], '')],
  ['a blank before a name', post([' Content-Length: 3'], 'abc')],
  ['a folded header', post(['X-A: b', ' Content-Length: 3', 'Content-Length: 0'], '')],
  ['a header folded with a tab', post(['X-A: b', '\tc', 'Content-Length: 0'], '')],
  ['a folded coding', post(['Transfer-Encoding:', ' chunked'], chunked('abc'))],
  ['an unknown coding', post(['Transfer-Encoding: xchunked'], chunked('abc'))],
  ['identity', post(['Transfer-Encoding: identity'], SMUGGLED)],
  ['chunked, then another', post(['Transfer-Encoding: chunked, gzip'], chunked('abc'))],
  ['chunked twice', post(['Transfer-Encoding: chunked', 'Transfer-Encoding: chunked'], chunked('abc'))],
  ['chunked and identity', post(['Transfer-Encoding: chunked', 'Transfer-Encoding: identity'], chunked('abc'))],
  ['a coding in quotes', post(['Transfer-Encoding: "chunked"'], chunked('abc'))],
  ['a coding with a control character', post(['Transfer-Encoding: \x0bchunked'], chunked('abc'))],
  ['bare line feeds', 'GET /db/doc HTTP/1.1\nHost: a\n\n'],
  ['a bare line feed between headers', 'GET /db/doc HTTP/1.1\r\nHost: a\nX-A: b\r\n\r\n'],
  ['a bare line feed within a value', 'GET /db/doc HTTP/1.1\r\nHost: a\r\nX-A: b\nX-Auth-User: admin\r\n\r\n'],
  ['a bare carriage return within a value', 'GET /db/doc HTTP/1.1\r\nHost: a\r\nX-A: b\rX-Auth-User: c\r\n\r\n'],
  ['carriage returns alone', 'GET /db/doc HTTP/1.1\rHost: a\r\r'],
  ['a zero byte in a value', 'GET /db/doc HTTP/1.1\r\nHost: a\r\nX-A: b\0c\r\n\r\n'],
  ['a zero byte in a name', 'GET /db/doc HTTP/1.1\r\nHost: a\r\nX\0A: b\r\n\r\n'],
  ['a header without a name', 'GET /db/doc HTTP/1.1\r\nHost: a\r\n: b\r\n\r\n'],
  ['a header without a colon', 'GET /db/doc HTTP/1.1\r\nHost: a\r\nrubbish\r\n\r\n'],
  ['two hosts', 'GET /db/doc HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n'],
  ['no host', 'GET /db/doc HTTP/1.1\r\n\r\n'],
  ['a host with a path', 'GET /db/doc HTTP/1.1\r\nHost: a/b\r\n\r\n'],
  ['a host with a user', 'GET /db/doc HTTP/1.1\r\nHost: a@b\r\n\r\n'],
  ['an absolute target', 'GET http://evil/db/doc HTTP/1.1\r\nHost: a\r\n\r\n'],
  ['a fragment', 'GET /_up#/../db HTTP/1.1\r\nHost: a\r\n\r\n'],
  ['a backslash', 'GET /db\\doc HTTP/1.1\r\nHost: a\r\n\r\n'],
  ['a blank in the target', 'GET /db/a b HTTP/1.1\r\nHost: a\r\n\r\n'],
  ['an unknown version', 'GET /db/doc HTTP/1.2\r\nHost: a\r\n\r\n'],
  ['no version', 'GET /db/doc\r\nHost: a\r\n\r\n'],
  ['two credentials', 'GET /db/doc HTTP/1.1\r\nHost: a\r\nAuthorization: a\r\nAuthorization: b\r\n\r\n'],
  ['a chunk size with a sign', post(['Transfer-Encoding: chunked'], '+3\r\nabc\r\n0\r\n\r\n')],
  ['a chunk size with a prefix', post(['Transfer-Encoding: chunked'], '0x3\r\nabc\r\n0\r\n\r\n')],
  ['a chunk size past all numbers', post(['Transfer-Encoding: chunked'], 'fffffffffffffffff\r\nabc\r\n0\r\n\r\n')],
  ['a chunk longer than it says', post(['Transfer-Encoding: chunked'], '3\r\nabcdef\r\n0\r\n\r\n')],
  ['a chunk ended by a line feed alone', post(['Transfer-Encoding: chunked'], '3\nabc\n0\n\n')],
  ['a line feed in an extension', post(['Transfer-Encoding: chunked'], '3;a\nb\r\nabc\r\n0\r\n\r\n')],
  ['chunks of HTTP/1.0', `POST /db/doc HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n${chunked('abc')}${SMUGGLED}`],
  ['CONNECT', 'CONNECT evil:443 HTTP/1.1\r\nHost: evil\r\n\r\n'],
  ['the preface of HTTP/2 with another word', 'PRI * HTTP/2.0\r\n\r\nSN\r\n\r\n'],
]

const backend = await openBackend({ after })
const front = await startServer({ after }, beforeDocument(backend.url), beforeMultiModelOf(backend.url))

function beforeMultiModelOf(url: string) {
  return { upstream: { ...beforeDocument(url)['upstream'], ...beforeMultiModel({ after }, url)['upstream'] } }
}

/** What readers of HTTP that were too kind are known by. */
const NAMES = 'CVE-2022-32213, CVE-2022-32214, CVE-2022-32215, CVE-2022-35256, CVE-2024-27982, CVE-2025-23167'

for (const door of ['document', 'multiModel'] as const) {
  const port = Number(new URL(front[door]).port)
  for (const [name, bytes] of REFUSED) {
    test(`${door}: ${name} is refused and ends the connection (${NAMES})`, async () => {
      const before = backend.seen.length
      const answer = await sendRaw(port, bytes, { untilClosed: true })
      assert.ok(answer.status >= 400 && answer.status < 500, answer.text.slice(0, 300))
      assert.ok(answer.isClosed, 'the connection stays open')
      assert.equal(answer.text.match(/HTTP\/1\.1 \d{3}/g)?.length, 1, 'one answer')
      assert.deepEqual(
        backend.seen.slice(before).map(({ url }) => url),
        [],
        'nothing whole reached the server behind',
      )
    })
  }
}

const CANARY = 'PUT /db/canary HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\n\r\n{}'

for (const door of ['document', 'multiModel'] as const) {
  const port = Number(new URL(front[door]).port)
  for (const [name, bytes] of REFUSED)
    test(`${door}: a request pipelined behind ${name} is never executed`, async () => {
      const before = backend.seen.length
      const answer = await sendRaw(port, bytes + CANARY, { untilClosed: true })
      assert.ok(answer.isClosed, 'the connection stays open')
      assert.equal(answer.text.match(/HTTP\/1\.1 \d{3}/g)?.length, 1, 'one reply')
      assert.equal(backend.seen.length, before, 'nothing reached the server behind')
    })
}

for (const door of ['document', 'multiModel'] as const)
  test(`${door}: a request of HTTP/1.1 behind the preface of HTTP/2 is never executed`, async () => {
    const before = backend.seen.length
    const bytes = `PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n${CANARY}`
    const answer = await sendRaw(Number(new URL(front[door]).port), bytes, { untilClosed: true })
    assert.ok(answer.isClosed, 'the connection stays open')
    assert.doesNotMatch(answer.text, /HTTP\/1\.1/)
    assert.equal(backend.seen.length, before, 'nothing reached the server behind')
  })

const port = Number(new URL(front.document).port)

const ENDING: readonly (readonly [name: string, bytes: string])[] = [
  [
    'a refusal of a chunked body that came whole',
    `POST /db/doc HTTP/1.1\r\nHost: a\r\nHost: b\r\nTransfer-Encoding: chunked\r\n\r\n${chunked('abc')}`,
  ],
  [
    'a refusal before a large body was read',
    `PUT /_node/_local/_config/a/b HTTP/1.1\r\nHost: a\r\nContent-Length: 900000\r\n\r\n${'a'.repeat(900_000)}`,
  ],
  ['an upgrade that was not agreed to', 'GET /_up HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\n'],
  ['a request that closes the connection', 'GET /_up HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n'],
  ['a body that closes the connection', post(['Connection: close', 'Content-Length: 3'], 'abc')],
  ...expecting('a rejected request', 'GET /_gate'),
  ...expecting('a request answered by Cardea', 'GET /_up'),
  ...expecting('a forwarded request', 'POST /db/doc'),
]

/** With `Expect`, and the body in the same packet: Node ends the connection, because no 100 was sent. */
function expecting(name: string, start: string): (readonly [name: string, bytes: string])[] {
  const head = `${start} HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\n`
  return [
    [`${name} with Expect`, `${head}Content-Length: 3\r\n\r\nabc`],
    [`${name} with Expect and a chunked body`, `${head}Transfer-Encoding: chunked\r\n\r\n${chunked('abc')}`],
  ]
}

for (const [name, bytes] of ENDING)
  test(`a request pipelined behind ${name} is never executed`, async () => {
    const before = backend.seen.filter(({ url }) => url.includes('canary')).length
    const send = () => sendRaw(port, bytes + CANARY, { untilClosed: true })
    // In parallel: the order in which Node parses and the door replies depends on the load.
    for (const answer of await Promise.all(Array.from({ length: 8 }, send)))
      assert.match(answer.head, /^connection: close$/im)
    assert.equal(backend.seen.filter(({ url }) => url.includes('canary')).length, before)
  })

test('bytes after a request that closes the connection are ignored, and the request is executed', async () => {
  for (const version of ['1.1', '1.0']) {
    const before = backend.seen.length
    const head = `POST /db/closing HTTP/${version}\r\nHost: a\r\nConnection: close\r\nContent-Length: 3\r\n\r\n`
    const answer = await sendRaw(port, `${head}abc\r\nrubbish`, { untilClosed: true })
    assert.equal(answer.status, 200)
    assert.deepEqual(
      backend.seen.slice(before).map(({ url, body }) => [url, String(body)]),
      [['/db/closing', 'abc']],
    )
  }
})

test('pipelined requests are executed one after the other', async (t) => {
  const begun: string[] = []
  const first = Promise.withResolvers<void>()
  const slow = await openServer(t, async (request, response) => {
    begun.push(request.url ?? '')
    if (request.url === '/db/first') await first.promise
    response.end(request.url)
  })
  const { document } = await startServer(t, beforeDocument(slow.url))
  const get = (path: string) => `GET ${path} HTTP/1.1\r\nHost: a\r\n`
  const both = `${get('/db/first')}\r\n${get('/db/second')}Connection: close\r\n\r\n`
  const reply = sendRaw(Number(new URL(document).port), both, { untilClosed: true })
  while (begun.length === 0) await fetch(`${document}/_up`)
  await fetch(`${document}/db/meanwhile`)
  assert.deepEqual(
    begun.filter((path) => path !== '/_up'),
    ['/db/first', '/db/meanwhile'],
  )
  first.resolve()
  assert.match((await reply).text, /\/db\/first[\s\S]*\/db\/second$/)
})

test('a client may pipeline more requests than Cardea queues', async () => {
  const count = 500
  const bytes = 'GET /_up HTTP/1.1\r\nHost: a\r\n\r\n'.repeat(count)
  const last = 'GET /_up HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n'
  const answer = await sendRaw(port, bytes + last, { untilClosed: true })
  assert.equal(answer.text.match(/HTTP\/1\.1 200/g)?.length, count + 1)
})

test('bytes after an upgrade that was not accepted are not forwarded (CVE-2026-2833)', async () => {
  const before = backend.seen.length
  const bytes =
    'GET /db/a HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\nGET /db/../_all_dbs HTTP/1.1\r\nHost: a\r\n\r\n'
  const answer = await sendRaw(port, bytes, { untilClosed: true })
  assert.match(answer.text, /^HTTP\/1\.1 200/)
  assert.ok(answer.isClosed)
  assert.deepEqual(
    backend.seen.slice(before).map(({ url, all }) => [url, all('upgrade')]),
    [['/db/a', []]],
  )
})

test('two requests on one connection reach the upstream as two', async () => {
  const before = backend.seen.length
  const one = (path: string) => `POST ${path} HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\n\r\nabc`
  await sendRaw(port, one('/db/a') + one('/db/b').replace('Host', 'Connection: close\r\nHost'), { untilClosed: true })
  assert.deepEqual(
    backend.seen.slice(before).map(({ url, body, all }) => [url, String(body), all('content-length')]),
    [
      ['/db/a', 'abc', ['3']],
      ['/db/b', 'abc', ['3']],
    ],
  )
})

/** A server may ignore the body of such a request and read it as the next request. */
const BODY_UNEXPECTED = ['GET', 'HEAD', 'DELETE', 'OPTIONS']

for (const [method, body, isReused] of [
  ...BODY_UNEXPECTED.map((method) => [method, 'abc', false] as const),
  ['GET', '', true] as const,
  ['HEAD', '', true] as const,
  ['POST', 'abc', true] as const,
])
  test(`the upstream connection is ${isReused ? '' : 'not '}used again after ${method} with ${body.length} bytes`, async (t) => {
    const ports: (number | undefined)[] = []
    const counting = await openBackend(t, (request, response) => {
      ports.push(request.socket.remotePort)
      response.end('{}')
    })
    const { document } = await startServer(t, beforeDocument(counting.url))
    const own = Number(new URL(document).port)
    const first = `${method} /db/doc HTTP/1.1\r\nHost: a\r\nContent-Length: ${body.length}\r\n\r\n${body}`
    for (const bytes of [first, 'GET /db/doc HTTP/1.1\r\nHost: a\r\n\r\n']) await sendRaw(own, bytes)
    const [before, later] = ports.slice(-2)
    assert.equal(before === later, isReused)
  })
