// With two worker threads every response is, byte for byte, the one that the main thread alone sends. Runs in this
// process, so that a test can kill a worker.
import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { connect } from 'node:net'
import { join } from 'node:path'
import { before, describe, it } from 'node:test'
import type { Worker } from 'node:worker_threads'
import { SILENT_LOG } from '../../src/base/log.ts'
import { toFlags } from '../../src/config/flags.ts'
import { openConfiguration } from '../../src/live-config/load.ts'
import { createApp } from '../../src/wiring/app.ts'
import { basic, createAsk } from '../support/request.ts'
import { createSharedScope, makeFolder, type Scope } from '../support/scope.ts'
import { MULTI_MODEL_SECRET, openBackend } from '../support/upstream.ts'
import { waitUntil } from '../support/wait.ts'

const MAX_HEADERS = 12
const ADMIN = basic('anna', 'secret')

interface Started {
  readonly document: number
  readonly multiModel: number
}

async function startApp(scope: Scope, upstream: string, workers: number): Promise<Started> {
  const folder = makeFolder(scope)
  writeFileSync(join(folder, 'secret'), MULTI_MODEL_SECRET)
  const options = {
    store: { url: 'sqlite::memory:' },
    chttpd: { port: 0 },
    couchdb: { uuid: '0123456789abcdef0123456789abcdef' },
    chttpd_auth: { iterations: 1, secret: 'the-cookie-secret-of-both-servers' },
    chttpd_auth_lockout: { mode: 'off' },
    cors: { credentials: true, origins: 'http://app.example' },
    door: { 'max-headers': MAX_HEADERS, 'max-body-bytes': 2000 },
    admins: { anna: 'secret' },
    upstream: {
      document: upstream,
      'document-secret': 'a-secret-the-document-upstream-shares',
      'multi-model': upstream,
      'multi-model-secret-keyfile': join(folder, 'secret'),
    },
    auth: { 'peer-failures': 0, 'account-failures': 0 },
    server: { endpoint: 'tcp://127.0.0.1:0', workers, 'jwt-secret': 'the-secret-of-the-tokens-of-both-servers' },
  }
  const flags = { configs: [], flags: toFlags(options), problems: [] }
  const load = () => openConfiguration({ flags, env: {}, cwd: folder })
  const app = await createApp({ load, log: SILENT_LOG, mayHaveWorkers: true })
  scope.after(() => app.close())
  const { document, multiModel } = await app.listen()
  const ask = createAsk(document[0] ?? '')
  const wanted = workers === 1 ? '' : `cardea_workers ${workers}`
  await waitUntil(async () => (await ask('GET', '/_cardea/metrics', { as: ADMIN })).body.includes(wanted))
  const created = await ask('POST', '/_cardea/api/users', { as: ADMIN, body: { name: 'ben', password: 'pw' } })
  assert.equal(created.status, 200)
  const toPort = (urls: readonly string[]) => Number(new URL(urls[0] ?? '').port)
  return { document: toPort(document), multiModel: toPort(multiModel) }
}

const head = (line: string, ...headers: readonly string[]): string =>
  [`${line} HTTP/1.1`, 'Host: localhost', ...headers, '', ''].join('\r\n')

const send = (line: string, body: string, ...headers: readonly string[]): string =>
  `${head(line, `Content-Length: ${body.length}`, ...headers)}${body}`

const sendChunked = (line: string, body: string, ...headers: readonly string[]): string =>
  `${head(line, 'Transfer-Encoding: chunked', ...headers)}${body.length.toString(16)}\r\n${body}\r\n0\r\n\r\n`

const sendTinyChunks = (line: string, bytes: number, count: number, ...headers: readonly string[]): string =>
  head(line, 'Transfer-Encoding: chunked', ...headers) +
  `${bytes}\r\n${'x'.repeat(bytes)}\r\n`.repeat(count) +
  '0\r\n\r\n'

const AS_BEN = `Authorization: ${basic('ben', 'pw')}`
const AS_WRONG = `Authorization: ${basic('ben', 'wrong')}`
const JSON_TYPE = 'Content-Type: application/json'
const LOGIN = '{"name":"ben","password":"pw"}'
const GUARDED = ['/_session', '/_cardea/api/users', '/_cardea/account', '/_cardea/sign-in', '/_gate', '/db']

/** What follows is sent after `100 Continue`. */
const AWAITED = '<awaited>'

const countHeaders = (count: number) => Array.from({ length: count }, (_, index) => `X-Header-${index}: 1`)

/** The upstream responds with more headers than Node keeps, and more bytes of them than it accepts by default. */
const LARGE_HEAD = '/db/large-head'

interface Row {
  readonly name: string
  readonly bytes: string
  readonly door?: 'multiModel'
}

const ROWS: readonly Row[] = [
  { name: 'a path that needs a credential', bytes: head('GET /_users') },
  { name: 'a wrong password', bytes: head('GET /_session', AS_WRONG) },
  { name: 'a right password', bytes: head('GET /_session', AS_BEN) },
  { name: 'HEAD with a wrong password', bytes: head('HEAD /_session', AS_WRONG) },
  // relayed, because after a wrong password no worker knows one
  { name: 'a response with a large head', bytes: head(`GET ${LARGE_HEAD}`, AS_BEN) },
  { name: 'HTTP/1.0 without Host', bytes: 'GET /_users HTTP/1.0\r\n\r\n' },
  { name: 'HTTP/1.0 without Host, forwarded', bytes: `GET /db HTTP/1.0\r\n${AS_BEN}\r\n\r\n` },
  { name: 'HTTP/1.0 that keeps its connection', bytes: 'GET /_users HTTP/1.0\r\nConnection: keep-alive\r\n\r\n' },
  { name: 'as many headers as allowed', bytes: head('GET /_users', ...countHeaders(MAX_HEADERS - 1)) },
  { name: 'one header more', bytes: head('GET /_users', ...countHeaders(MAX_HEADERS)) },
  { name: 'a chunked body that is not read', bytes: sendChunked('GET /_users', 'unread') },
  { name: 'a body that is not read', bytes: send('GET /_users', 'unread') },
  { name: 'a sign-in', bytes: send('POST /_session', LOGIN, JSON_TYPE) },
  { name: 'a chunked sign-in', bytes: sendChunked('POST /_session', LOGIN, JSON_TYPE) },
  { name: 'a sign-in without a body', bytes: head('POST /_session', JSON_TYPE) },
  { name: 'a body too large', bytes: send('POST /_session', 'x'.repeat(200_000), JSON_TYPE) },
  { name: 'a chunked body too large', bytes: sendChunked('POST /_session', 'x'.repeat(200_000), JSON_TYPE) },
  {
    name: 'a body that is awaited',
    bytes: head('POST /_session', JSON_TYPE, 'Content-Length: 30', 'Expect: 100-continue') + AWAITED + LOGIN,
  },
  {
    name: 'a body that is awaited and refused',
    bytes: head('PUT /_users/x', 'Content-Length: 9', 'Expect: 100-continue'),
  },
  {
    name: 'a header of the connection',
    bytes: head('GET /db', AS_WRONG.replace('wrong', 'x'), 'Connection: X-A', 'X-A: 1'),
  },
  { name: 'a forwarded body', bytes: send('PUT /db/doc', '{"a":1}', AS_BEN, JSON_TYPE, 'Connection: X-A', 'X-A: 1') },
  { name: 'a forwarded chunked body', bytes: sendChunked('PUT /db/doc', '{"a":1}', AS_BEN, JSON_TYPE) },
  // a client has to be authenticated before they arrive: the request before them teaches the worker its password
  { name: 'small chunks of a user', bytes: head('GET /db', AS_BEN) + sendTinyChunks('PUT /db/doc', 4, 3000, AS_BEN) },
  { name: 'small chunks without a credential', bytes: sendTinyChunks('PUT /db/doc', 4, 3000) },
  { name: 'small chunks with a wrong password', bytes: sendTinyChunks('PUT /db/doc', 4, 3000, AS_WRONG) },
  { name: 'tiny chunks of a user', bytes: sendTinyChunks('PUT /db/doc', 1, 9000, AS_BEN) },
  { name: 'small chunks for a sign-in', bytes: sendTinyChunks('POST /_session', 4, 3000, JSON_TYPE) },
  { name: 'bytes that are not ASCII', bytes: head('GET /_users', 'X-Name: \xe4\xf6', 'Cookie: a=\xfc') },
  { name: 'a connection that ends', bytes: head('GET /_users', 'Connection: close') },
  { name: 'an announced trailer without a body', bytes: head('GET /_users', 'Trailer: X-A') },
  { name: 'an announced trailer', bytes: sendChunked('POST /_session', LOGIN, JSON_TYPE, 'Trailer: X-A') },
  { name: 'an upgrade', bytes: head('GET /_users', 'Connection: upgrade', 'Upgrade: websocket') },
  {
    name: 'repeated headers of a proxy',
    bytes: head('GET /_users', 'X-Auth-CouchDB-UserName: a', 'X-Auth-CouchDB-UserName: b'),
  },
  { name: 'an origin', bytes: head('GET /_cardea/account', 'Origin: http://app.example') },
  {
    name: 'a preflight',
    bytes: head('OPTIONS /_cardea/account', 'Origin: http://app.example', 'Access-Control-Request-Method: GET'),
  },
  { name: 'a method that a path does not have', bytes: head('DELETE /_cardea/api/users') },
  { name: 'an operation of the admin API', bytes: head('GET /_cardea/api/users', `Authorization: ${ADMIN}`) },
  {
    name: 'a sign-in of the multi-model door',
    bytes: send('POST /_open/auth', '{"username":"ben","password":"no"}'),
    door: 'multiModel',
  },
  { name: 'a path of the multi-model door', bytes: head('GET /_api/user'), door: 'multiModel' },
  {
    name: 'a forwarded request of the multi-model door',
    bytes: head('GET /_api/collection', AS_BEN),
    door: 'multiModel',
  },
  ...GUARDED.flatMap((path) => [
    { name: `two credentials at ${path}`, bytes: head(`GET ${path}`, AS_BEN, AS_BEN) },
    { name: `TRACE at ${path}`, bytes: head(`TRACE ${path}`) },
    { name: `another expectation at ${path}`, bytes: head(`GET ${path}`, 'Expect: more') },
    { name: `another method by a header at ${path}`, bytes: head(`POST ${path}`, 'X-HTTP-Method-Override: DELETE') },
    { name: `an encoded slash at ${path}`, bytes: head(`GET ${path}/%zz`) },
    { name: `no host at ${path}`, bytes: `GET ${path} HTTP/1.1\r\n\r\n`, door: 'multiModel' as const },
  ]),
]

const CONTINUE = 'HTTP/1.1 100 Continue\r\n\r\n'
const LAST = head('GET /_session', 'Connection: close')

/** What the server sends to these bytes, and then to a last request if it keeps the connection. */
async function converse(port: number, bytes: string): Promise<string> {
  const socket = connect(port, '127.0.0.1')
  let text = ''
  let isClosed = false
  socket.on('data', (chunk) => {
    text += chunk.toString('latin1')
  })
  socket
    .on('error', () => {})
    .on('close', () => {
      isClosed = true
    })
  const [sent, awaited = ''] = bytes.split(AWAITED)
  socket.write(Buffer.from(sent ?? '', 'latin1'))
  await waitUntil(() => isClosed || isWhole(text, bytes) || text.endsWith(CONTINUE))
  if (text.endsWith(CONTINUE)) socket.write(awaited)
  await waitUntil(() => isClosed || isWhole(text, bytes))
  socket.write(Buffer.from(LAST, 'latin1'))
  await waitUntil(() => isClosed)
  return withoutChance(text)
}

/** Whether it has the whole response to the request in `bytes`, after any `100 Continue`. */
function isWhole(text: string, bytes: string): boolean {
  const response = text.replace(CONTINUE, '')
  const end = response.indexOf('\r\n\r\n')
  const length = bytes.startsWith('HEAD') ? 0 : Number(/^content-length: (\d+)/im.exec(response)?.[1] ?? 0)
  const isChunked = /^transfer-encoding: chunked/im.test(response.slice(0, end))
  if (end < 0) return false
  return isChunked ? response.endsWith('\r\n0\r\n\r\n') : response.length >= end + 4 + length
}

/** What differs from one response to the next. */
const withoutChance = (text: string): string =>
  text
    .replace(/^(date|set-cookie|x-couch-request-id|x-request-id|x-couchdb-body-time): .*/gim, '$1: …')
    .replace(/"(?:x-couch-request-id|x-request-id|authorization)","[^"]*"/gi, '…')
    .replace(/"(?:revision|at|update_seq)":"[^"]*"/g, '…')

describe('two workers', () => {
  const scope = createSharedScope()
  let alone: Started
  let shared: Started
  const threads: Worker[] = []
  before(async () => {
    const note = (thread: Worker) => threads.push(thread)
    process.on('worker', note)
    scope.after(() => process.off('worker', note))
    const { url } = await openBackend(scope, (request, response, body) => {
      if (request.url === LARGE_HEAD)
        for (let index = 0; index < 2000; index += 1) response.setHeader(`X-${index}`, '1')
      response.end(JSON.stringify([request.method, request.url, request.rawHeaders, String(body)]))
    })
    ;[alone, shared] = await Promise.all([startApp(scope, url, 1), startApp(scope, url, 2)])
  })
  for (const { name, bytes, door = 'document' } of ROWS)
    it(`send the same to ${name}`, async () => {
      const [expected, first] = await Promise.all([converse(alone[door], bytes), converse(shared[door], bytes)])
      assert.match(expected, /^HTTP\/1\.1 \d{3}/)
      assert.equal(first, expected)
      // the first response may have taught the worker a credential
      assert.equal(await converse(shared[door], bytes), await converse(alone[door], bytes))
    })

  it('lose no acknowledged user when one of them is killed under load', async () => {
    const ask = createAsk(`http://127.0.0.1:${shared.document}`)
    const kept: string[] = []
    let isOver = false
    const addMany = async (client: number) => {
      for (let index = 0; !isOver; index += 1) {
        const name = `user-${client}-${index}`
        const body = { name, password: 'pw' }
        // a connection of the worker that is killed breaks
        const reply = await ask('POST', '/_cardea/api/users', { as: ADMIN, body }).catch(() => undefined)
        if (reply) assert.equal(reply.status, 200)
        if (reply) kept.push(name)
      }
    }
    const adding = Promise.all([0, 1, 2, 3].map(addMany))
    await waitUntil(() => kept.length > 8)
    await threads[0]?.terminate()
    const count = kept.length
    await waitUntil(() => threads.length > 2 && kept.length > count + 8)
    isOver = true
    await adding
    for (const name of kept) assert.equal((await ask('GET', `/_cardea/api/users/${name}`, { as: ADMIN })).status, 200)
  })
})
