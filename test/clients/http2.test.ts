import assert from 'node:assert/strict'
import { execFile, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { connect } from 'node:http2'
import { createConnection } from 'node:net'
import { before, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { sendHttp2 } from '../support/http2.ts'
import { ADMIN, send } from '../support/request.ts'
import { createSharedScope } from '../support/scope.ts'
import { startServer } from '../support/server.ts'
import { beforeDocument, openBackend } from '../support/upstream.ts'

const { findProgram, startProxy } = await import(new URL('../long/proxies/running.ts', import.meta.url).href)

const run = promisify(execFile)
const scope = createSharedScope()
const fixture = (name: string) => fileURLToPath(new URL(`../fixtures/tls/${name}`, import.meta.url))

const urls: string[] = []
before(async () => {
  const files = { cert_file: fixture('cert.pem'), key_file: fixture('key.pem'), keyfile: fixture('both.pem') }
  const { addresses } = await startServer(scope, {
    ssl: { enable: true, port: 0, ...files },
    server: { endpoint: 'ssl://127.0.0.1:0, tcp://127.0.0.1:0' },
  })
  urls.push(...addresses.document.map((url) => `${url}/_up`))
  urls.push(...addresses.multiModel.map((url) => `${url}/_admin/server/availability`))
})

const ROWS: readonly { command: string; args: readonly string[]; expect: RegExp }[] = [
  {
    command: 'curl',
    args: ['-q', '-sS', '-k', '--noproxy', '*', '--http2-prior-knowledge', '-w', ' %{http_version} %{http_code}'],
    expect: / 2 200$/,
  },
  { command: 'nghttp', args: ['-nv'], expect: /:status: 200/ },
  { command: 'h2load', args: ['-n200', '-c2', '-m20'], expect: /200 succeeded, 0 failed/ },
]

for (const { command, args, expect } of ROWS) {
  const skip = spawnSync(command, ['--version']).error !== undefined && `${command} is not installed`
  test(`${command} speaks HTTP/2 with both doors, with TLS and without`, { skip }, async () => {
    assert.equal(urls.length, 4)
    for (const url of urls) assert.match((await run(command, [...args, url])).stdout, expect, url)
  })
}

test('a client signs in at the multi-model door without the length of its body', async (t) => {
  const { multiModel } = await startServer(t)
  const session = connect(multiModel)
  t.after(() => session.destroy())
  const stream = session.request({ ':method': 'POST', ':path': '/_open/auth' })
  stream.end(JSON.stringify({ username: 'admin', password: 'adminpw' }))
  const [headers] = await once(stream, 'response')
  assert.equal(headers[':status'], 200)
})

/** Requests that clients of both databases send with an empty body, whose length they need not say. */
const EMPTY_BODIES: readonly { door: 'document' | 'multiModel'; method: string; path: string; status: number }[] = [
  { door: 'document', method: 'POST', path: '/_session', status: 400 },
  { door: 'document', method: 'PUT', path: '/shop', status: 201 },
  { door: 'multiModel', method: 'POST', path: '/_open/auth', status: 400 },
]

for (const { door, method, path, status } of EMPTY_BODIES)
  test(`${method} ${path} with an empty body of unknown length is answered at once`, async (t) => {
    const upstream = await openBackend(t, (_request, response) => void response.writeHead(201).end())
    const server = await startServer(t, beforeDocument(upstream.url))
    const headers = { 'content-type': 'application/json', ...ADMIN }
    assert.equal((await sendHttp2(server[door] + path, { method, headers })).status, status)
  })

const HAPROXY = {
  files: ['haproxy', '/usr/sbin/haproxy'],
  version: ['-v'],
  arguments: (_folder: string, file: string) => ['-db', '-f', file],
  render: ({ port, gate }: { readonly port: number; readonly gate: string }) =>
    [
      'defaults',
      '  mode http',
      '  timeout connect 10s',
      '  timeout client 60s',
      '  timeout server 60s',
      'frontend clients',
      `  bind 127.0.0.1:${port}`,
      '  default_backend cardea',
      'backend cardea',
      `  server cardea ${gate} proto h2 send-proxy-v2`,
      '',
    ].join('\n'),
}
const skip = findProgram(HAPROXY) === undefined && 'haproxy is not installed'

test('HAProxy speaks HTTP/2 with a door, and names the client by the PROXY protocol', { skip }, async (t) => {
  const backend = await openBackend(t)
  const options = { door: { 'proxy-protocol': 'document' }, chttpd: { trusted_proxies: 'loopback' } }
  const { document } = await startServer(t, beforeDocument(backend.url), options)
  const proxy = await startProxy('haproxy', HAPROXY, { gate: new URL(document).host })
  t.after(() => proxy.stop())
  const url = `http://127.0.0.1:${proxy.port}`
  assert.equal((await send(url, { path: '/db/first', headers: ADMIN })).status, 200)
  const to = { host: '127.0.0.1', port: proxy.port, localAddress: '127.0.0.3' }
  const session = connect(url, { createConnection: () => createConnection(to) })
  t.after(() => session.destroy())
  const [head] = await once(session.request({ ':path': '/db/second', ...ADMIN }).resume(), 'response')
  assert.equal(head[':status'], 200)
  assert.deepEqual(
    backend.seen.map(({ url: path, header }) => [path, header('x-forwarded-for')]),
    [
      ['/db/first', '127.0.0.1'],
      ['/db/second', '127.0.0.3'],
    ],
  )
})
