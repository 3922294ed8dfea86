import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { request, sendRaw } from '../support/raw.ts'
import { echo, IMPATIENT, openTestDoor } from './bare-door.ts'

interface Row {
  readonly name: string
  readonly send: string
  readonly status: number
  /** The connection must be closed after the response. */
  readonly closes?: boolean
  /** The client sends no more: the door waits for the rest of the request, but not for long. */
  readonly stops?: boolean
}

const CANARY = request('/canary', 'Connection: close')

/** The request behind a hostile one. It counts how often it was executed. */
const createCanary = () => {
  const counter = { runs: 0 }
  const sing = () => {
    counter.runs += 1
    return { status: 200, headers: [], body: 'canary' }
  }
  return { counter, route: { path: '/canary', methods: { GET: sing } } }
}

const post = (...lines: string[]) => ['POST /echo HTTP/1.1', 'Host: localhost', ...lines].join('\r\n')

const ROWS: Row[] = [
  { name: 'two Host headers', send: request('/', 'Host: other'), status: 400, closes: true },
  {
    name: 'two Authorization headers',
    send: request('/', 'Authorization: Basic YTpi', 'authorization: Basic YTpj'),
    status: 400,
    closes: true,
  },
  {
    name: 'two different Content-Type headers',
    send: request('/', 'Content-Type: a/b', 'Content-Type: a/c'),
    status: 400,
    closes: true,
  },
  {
    name: 'three Content-Type headers, one of them different',
    send: request('/', 'Content-Type: a/b', 'Content-Type: a/b', 'Content-Type: a/c'),
    status: 400,
    closes: true,
  },
  { name: 'equal Content-Type headers', send: request('/', 'Content-Type: a/b', 'content-type: a/b'), status: 200 },
  {
    name: 'equal Content-Encoding headers, which mean two codings',
    send: request('/', 'Content-Encoding: gzip', 'Content-Encoding: gzip'),
    status: 400,
    closes: true,
  },
  { name: 'no Host header', send: 'GET / HTTP/1.1\r\n\r\n', status: 400, closes: true },
  { name: 'HTTP/1.0 needs no Host', send: 'GET / HTTP/1.0\r\n\r\n', status: 200 },
  { name: 'no version', send: 'GET /\r\n\r\n', status: 400, closes: true },
  { name: 'HTTP/0.9', send: 'GET / HTTP/0.9\r\nHost: a\r\n\r\n', status: 400, closes: true },
  { name: 'HTTP/2.0 that is claimed', send: 'GET / HTTP/2.0\r\nHost: a\r\n\r\n', status: 400, closes: true },
  { name: 'HTTP/1.2', send: 'GET / HTTP/1.2\r\nHost: a\r\n\r\n', status: 400, closes: true },
  { name: 'HTTP/3.0', send: 'GET / HTTP/3.0\r\nHost: a\r\n\r\n', status: 400, closes: true },
  {
    name: 'unread chunks after HTTP/2.0 that is claimed',
    send: 'POST /nowhere HTTP/2.0\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n',
    status: 400,
    closes: true,
  },
  {
    name: 'a body of its length after HTTP/2.0 that is claimed',
    send: 'POST /echo HTTP/2.0\r\nHost: a\r\nConnection: keep-alive\r\nContent-Length: 1\r\n\r\na',
    status: 400,
    closes: true,
  },
  { name: 'a Host with a path', send: 'GET / HTTP/1.1\r\nHost: a/b\r\n\r\n', status: 400, closes: true },
  { name: 'a Host with a user', send: 'GET / HTTP/1.1\r\nHost: a@b\r\n\r\n', status: 400, closes: true },
  { name: 'an absolute target', send: request('http://evil/_admin/server/availability'), status: 400, closes: true },
  { name: 'a fragment in the target', send: request('/_admin/server/availability#/x'), status: 400, closes: true },
  { name: 'a backslash in the target', send: request('/_open\\..\\_api'), status: 400, closes: true },
  { name: 'a star with GET', send: request('*'), status: 400, closes: true },
  { name: 'TRACE', send: request('/').replace('GET', 'TRACE'), status: 405 },
  { name: 'CONNECT', send: 'CONNECT evil:443 HTTP/1.1\r\nHost: evil\r\n\r\n', status: 400, closes: true },
  { name: 'an unknown method', send: request('/').replace('GET', 'BREW'), status: 400, closes: true },
  { name: 'HTTP/2 preface', send: 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n', status: 400, closes: true },
  { name: 'invalid bytes', send: '\x16\x03\x01\x02\x00\x01\x00', status: 400, closes: true },
  {
    name: 'Content-Length twice',
    send: post('Content-Length: 1', 'Content-Length: 1', '', 'a'),
    status: 400,
    closes: true,
  },
  {
    name: 'Content-Length and Transfer-Encoding',
    send: post('Content-Length: 1', 'Transfer-Encoding: chunked', '', '0\r\n\r\n'),
    status: 400,
    closes: true,
  },
  { name: 'a signed Content-Length', send: post('Content-Length: +1', '', 'a'), status: 400, closes: true },
  { name: 'a blank before the colon', send: post('X-A : b', '', ''), status: 400, closes: true },
  { name: 'a folded header', send: post('X-A: b', ' c', '', ''), status: 400, closes: true },
  { name: 'bare line feeds', send: 'GET / HTTP/1.1\nHost: a\n\n', status: 400, closes: true },
  { name: 'an unknown transfer coding', send: post('Transfer-Encoding: xchunked', '', ''), status: 400, closes: true },
  {
    name: 'an unknown transfer coding for a path that does not read the body',
    send: request('/nowhere', 'Transfer-Encoding: gzip, chunked'),
    status: 400,
    closes: true,
  },
  { name: 'a bad chunk', send: post('Transfer-Encoding: chunked', '', 'zz\r\n'), status: 400, closes: true },
  {
    name: 'a bad chunk after a good one',
    send: post('Transfer-Encoding: chunked', '', '1\r\na\r\nzz\r\n'),
    status: 400,
    closes: true,
  },
  { name: 'a target a little too long', send: request(`/${'a'.repeat(2000)}`), status: 414, closes: true },
  { name: 'a target far too long', send: request(`/${'a'.repeat(100_000)}`), status: 414, closes: true },
  { name: 'a header a little too large', send: request('/', `X-A: ${'a'.repeat(8000)}`), status: 431, closes: true },
  { name: 'a header far too large', send: request('/', `X-A: ${'a'.repeat(300_000)}`), status: 431, closes: true },
  {
    name: 'too many headers',
    send: request('/', ...Array.from({ length: 51 }, (_, i) => `X-${i}: a`)),
    status: 431,
    closes: true,
  },
  {
    name: 'far too many headers',
    send: request('/', ...Array.from({ length: 2100 }, (_, i) => `a${i}:`)),
    status: 431,
    closes: true,
  },
  { name: 'a body declared too large', send: post('Content-Length: 1001', '', 'a'), status: 413, closes: true },
  {
    name: 'a chunked body that grows too large',
    send: post('Transfer-Encoding: chunked', '', `3e9\r\n${'a'.repeat(1001)}\r\n0\r\n\r\n`),
    status: 413,
    closes: true,
  },
  { name: 'a body that stops', send: post('Content-Length: 10', '', 'abc'), status: 408, closes: true, stops: true },
  { name: 'headers that stop', send: 'GET / HTTP/1.1\r\nHost: a\r\nX-', status: 408, closes: true, stops: true },
  {
    name: 'chunks from a client of HTTP/1.0',
    send: 'POST /echo HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n1\r\na\r\n0\r\n\r\n',
    status: 400,
    closes: true,
  },
  {
    name: 'unread chunks from a client of HTTP/1.0',
    send: 'POST /nowhere HTTP/1.0\r\nTransfer-Encoding: chunked\r\nConnection: keep-alive\r\n\r\n0\r\n\r\n',
    status: 400,
    closes: true,
  },
  {
    name: 'a trailer larger than the limit for headers',
    send: post('Transfer-Encoding: chunked', '', `1\r\na\r\n0\r\nX-A: ${'a'.repeat(8000)}\r\n\r\n`),
    status: 400,
    closes: true,
  },
  {
    name: 'too many trailers',
    send: post('Transfer-Encoding: chunked', '', `1\r\na\r\n0\r\n${'X-A: a\r\n'.repeat(51)}\r\n`),
    status: 400,
    closes: true,
  },
  {
    name: 'a trailer',
    send: post('Transfer-Encoding: chunked', '', '1\r\na\r\n0\r\nX-A: a\r\n\r\n'),
    status: 200,
  },
  { name: 'an expectation of HTTP/1.0', send: 'GET / HTTP/1.0\r\nExpect: miracles\r\n\r\n', status: 200 },
  { name: 'an unknown expectation', send: request('/', 'Expect: miracles'), status: 417 },
  { name: 'bad percent-encoding', send: request('/%zz'), status: 400 },
]

for (const dialect of ['document', 'multi-model'] as const) {
  const door = await openTestDoor({ after }, { dialect })
  const impatient = await openTestDoor({ after }, { dialect, limits: IMPATIENT })

  for (const row of ROWS) {
    test(`${dialect}: ${row.name} is ${row.status}`, async () => {
      const { port } = row.stops ? impatient : door
      const response = await sendRaw(port, row.send, { untilClosed: row.closes ?? false })
      assert.equal(response.status, row.status, response.text.slice(0, 400))
      if (row.closes) assert.ok(response.isClosed, 'the connection stays open')
      if (row.status < 400) return
      const body = JSON.parse(response.body)
      if (dialect === 'document') assert.deepEqual(Object.keys(body), ['error', 'reason'])
      else assert.equal(body.code, row.status)
    })
  }
}

/** The same request with a chunked body, where it has none of its own. */
function withChunks(send: string): string | undefined {
  const hasOwnBody = !send.endsWith('\r\n\r\n') || /content-length|transfer-encoding/i.test(send)
  return hasOwnBody ? undefined : `${send.slice(0, -2)}Transfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n`
}

const withExpect = (send: string | undefined): string | undefined =>
  send?.includes(' HTTP/1.1\r\n') ? send.replace('\r\n', '\r\nExpect: 100-continue\r\n') : undefined

for (const dialect of ['document', 'multi-model'] as const) {
  const { counter, route } = createCanary()
  const door = await openTestDoor({ after }, { dialect, routes: [echo('/echo'), route] })
  const variants = ROWS.flatMap(({ name, send }) => [
    { name, send },
    { name: `${name}, with a chunked body`, send: withChunks(send) },
    { name: `${name}, with Expect`, send: withExpect(send) },
    { name: `${name}, with Expect and a chunked body`, send: withExpect(withChunks(send)) },
  ])
  for (const { name, send } of variants) {
    if (send === undefined) continue
    test(`${dialect}: a request behind ${name} runs only if the connection stays open`, async () => {
      const before = counter.runs
      const response = await sendRaw(door.port, send + CANARY, { untilClosed: true })
      const replies = response.text.split(/(?=HTTP\/1\.1 \d{3} )/)
      const isEnded = replies.findIndex((reply) => /^connection: close\r$/im.test(reply))
      const sung = replies.filter((reply) => reply.endsWith('canary')).length
      assert.equal(counter.runs - before, sung, 'each executed request has a reply, and the other way round')
      assert.equal(isEnded, replies.length - 1, 'the first reply that announces the end is the last')
    })
  }
}

test('reads a header that comes after many others', async (t) => {
  const door = await openTestDoor(t, { limits: { 'max-headers': 2000, 'max-header-bytes': 60_000 } })
  const filler = Array.from({ length: 1990 }, (_, i) => `a${i}:`)
  const response = await sendRaw(door.port, request('/_open/echo', ...filler, 'X-Forwarded-For: 203.0.113.7'))
  assert.equal(JSON.parse(response.body).address, '203.0.113.7')
})
