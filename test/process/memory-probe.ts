// Sends random and mutated requests to both doors of a server in this process, twice as many the second time, and
// prints the heap after each round and a collection: what the second round leaves behind beyond the first is a leak.
import { connect } from 'node:net'
import fc from 'fast-check'
import { createTestCardea } from '../../src/index.ts'

const collect = (globalThis as { gc?: () => void }).gc
if (!collect) throw new TypeError('run with --expose-gc')

const METHODS = ['GET', 'PUT', 'POST', 'DELETE', 'HEAD', 'OPTIONS', 'PATCH', 'COPY']
const PATHS = [
  ...[
    '/',
    '/_session',
    '/_up',
    '/_users',
    '/_users/_all_docs',
    '/_users/_changes',
    '/_users/_bulk_docs',
    '/_uuids',
    '/_all_dbs',
  ],
  ...[
    '/_users/org.couchdb.user:ada',
    '/_node/_local/_config',
    '/_node/_local/_config/mine/x',
    '/_node/_local/_versions',
  ],
  ...[
    '/_open/auth',
    '/_open/auth/renew',
    '/_api/user',
    '/_api/user/ada',
    '/_api/token/ada',
    '/_api/version',
    '/_admin/server/jwt',
  ],
  ...['/_db/_system/_api/version', '/_cardea/api/users', '/_gate', '/nowhere/at/all'],
]
const ADMIN = `Authorization: Basic ${Buffer.from('admin:adminpw').toString('base64')}`
const HEADERS = [
  ADMIN,
  'Authorization: Bearer a.b.c',
  'Cookie: AuthSession=YTpi',
  'Content-Type: application/json',
  'Origin: http://a',
  'If-Match: "x"',
]

const REQUEST = fc.record({
  method: fc.constantFrom(...METHODS),
  path: fc.constantFrom(...PATHS),
  query: fc.oneof(fc.constant(''), fc.constantFrom('?rev=1-a', '?limit=1', '?include_docs=true', '?%zz', '?raw=true')),
  headers: fc.uniqueArray(fc.constantFrom(...HEADERS), { selector: (line) => line.split(':')[0], maxLength: 4 }),
  body: fc.oneof(fc.constant(''), fc.json(), fc.string({ unit: 'binary-ascii', maxLength: 60 })),
})

type Request = typeof REQUEST extends fc.Arbitrary<infer T> ? T : never

const render = ({ method, path, query, headers, body }: Request): string =>
  [
    `${method} ${path}${query} HTTP/1.1`,
    'Host: a',
    'Connection: close',
    ...headers,
    `Content-Length: ${Buffer.byteLength(body)}`,
    '',
    body,
  ].join('\r\n')

/** The status, or 0 where the connection ended without one. A feed that never ends is left after its head. */
function ask(port: number, text: string): Promise<number> {
  return new Promise((resolve, reject) => {
    const socket = connect(port, '127.0.0.1', () => void socket.write(text))
    const late = setTimeout(() => reject(new Error(`no answer to ${text}`)), 60_000)
    let status = 0
    socket.once('data', (chunk) => {
      status = Number(/^HTTP\/1\.1 (\d{3})/.exec(chunk.toString('latin1'))?.[1] ?? 0)
      socket.destroy()
    })
    socket
      .on('error', () => {})
      .once('close', () => {
        clearTimeout(late)
        resolve(status)
      })
  })
}

const cardea = await createTestCardea({ options: { chttpd_auth_lockout: { mode: 'off' } } })
const { document, multiModel } = await cardea.listen()
const ports = [...document, ...multiModel].map((url) => Number(new URL(url).port))

async function round(count: number, seed: number): Promise<number> {
  for (const request of fc.sample(REQUEST, { numRuns: count, seed })) {
    for (const port of ports) {
      const status = await ask(port, render(request))
      if (status >= 500) throw new Error(`${status} for ${render(request)}`)
    }
  }
  for (let turn = 0; turn < 5; turn += 1) {
    collect?.()
    await new Promise((resolve) => setImmediate(resolve))
  }
  return process.memoryUsage().heapUsed
}

const runs = Number(process.argv[2] ?? 400)
await round(runs, 1)
const before = await round(runs, 2)
const after = await round(runs * 2, 3)
console.log(JSON.stringify({ before, after }))
await cardea.close()
