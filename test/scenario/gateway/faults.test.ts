import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { request as httpRequest, type IncomingMessage } from 'node:http'
import { createServer as createTlsServer } from 'node:https'
import { type AddressInfo, createServer as createTcpServer, type Socket } from 'node:net'
import { test } from 'node:test'
import { isDeepStrictEqual } from 'node:util'
import { sendRaw } from '../../support/raw.ts'
import { ADMIN, send } from '../../support/request.ts'
import { makeFolder, type Scope } from '../../support/scope.ts'
import { startServer } from '../../support/server.ts'
import { beforeDocument, beforeMultiModel, openBackend, openServer } from '../../support/upstream.ts'
import { waitUntil } from '../../support/wait.ts'

/** A server that writes what it likes to every connection. */
async function openRaw(scope: Scope, onConnection: (socket: Socket) => void): Promise<string> {
  const sockets = new Set<Socket>()
  const server = createTcpServer((socket) => {
    sockets.add(socket)
    socket.on('error', () => {}).on('close', () => sockets.delete(socket))
    onConnection(socket)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  scope.after(() => {
    for (const socket of sockets) socket.destroy()
    server.close()
  })
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

/** An address without a listener. */
async function findClosed(): Promise<string> {
  const server = createTcpServer()
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  await new Promise((resolve) => server.close(resolve))
  return `http://127.0.0.1:${port}`
}

/** For upstreams that never respond: one that does may take longer than this on a busy machine. */
const SHORT = { upstream: { 'first-byte-timeout': 0.2, 'idle-timeout': 0.2, 'connect-timeout': 1 } }
/** For upstreams that respond to some requests. */
const LONGER = { upstream: { 'first-byte-timeout': 2.5 } }

const GARBAGE: readonly (readonly [name: string, bytes: string])[] = [
  ['rubbish', 'rubbish\r\n\r\n'],
  ['a status that is none', 'HTTP/1.1 abc OK\r\n\r\n'],
  ['two lengths', 'HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab'],
  ['length and chunks', 'HTTP/1.1 200 OK\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n'],
  ['a folded header', 'HTTP/1.1 200 OK\r\nX-A: b\r\n c\r\nContent-Length: 0\r\n\r\n'],
  ['a zero byte', 'HTTP/1.1 200 OK\r\nX-A: b\0\r\nContent-Length: 0\r\n\r\n'],
  ['an upgrade that was not requested', 'HTTP/1.1 101 Switching\r\nConnection: upgrade\r\nUpgrade: x\r\n\r\n'],
  ['headers without end', `HTTP/1.1 200 OK\r\nX-A: ${'a'.repeat(100_000)}\r\n\r\n`],
  ['nothing at all', ''],
]

for (const [name, bytes] of GARBAGE)
  test(`an upstream that responds with ${name} is 502`, async (t) => {
    const url = await openRaw(t, (socket) => socket.once('data', () => socket.end(Buffer.from(bytes, 'latin1'))))
    const front = await startServer(t, beforeDocument(url), beforeMultiModel(t, url))
    const document = await send(front.document, { path: '/db', headers: ADMIN })
    assert.deepEqual([document.status, JSON.parse(document.body).error], [502, 'bad_gateway'])
    const multiModel = await send(front.multiModel, { path: '/_api/x', headers: ADMIN })
    assert.deepEqual([multiModel.status, JSON.parse(multiModel.body).code], [502, 502])
  })

test('an upstream that refuses connections is 503 with Retry-After', async (t) => {
  const url = await findClosed()
  const front = await startServer(t, beforeDocument(url), beforeMultiModel(t, url))
  for (const answer of [
    await send(front.document, { path: '/db' }),
    await send(front.document, { path: '/db' }),
    await send(front.document, { path: '/db', method: 'POST', body: '{}' }),
    await send(front.multiModel, { path: '/app' }),
  ]) {
    assert.equal(answer.status, 503)
    assert.match(answer.headers['retry-after'] ?? '', /^[1-9]\d*$/)
  }
})

test('the health check fails and recovers with the upstream', async (t) => {
  const backend = await openBackend(t)
  const front = await startServer(t, beforeDocument(backend.url), beforeMultiModel(t, backend.url))
  const look = async () => {
    const answers = [
      await send(front.document, { path: '/_up' }),
      await send(front.multiModel, { path: '/_admin/server/availability' }),
    ]
    return answers.map(({ status, headers }) => [status, headers['retry-after']])
  }
  const well = [
    [200, undefined],
    [200, undefined],
  ]
  assert.deepEqual(await look(), well)
  await backend.close()
  // one check serves all requests of a second
  const unwell = [
    [503, '1'],
    [503, '1'],
  ]
  await waitUntil(async () => isDeepStrictEqual(await look(), unwell))
  await openServer(t, (_request, response) => response.end('{}'), [], backend.port)
  await waitUntil(async () => isDeepStrictEqual(await look(), well))
})

test('an upstream that accepts and never responds is 504, which names the option', async (t) => {
  const url = await openRaw(t, () => {})
  const front = await startServer(t, beforeDocument(url), beforeMultiModel(t, url), SHORT)
  const document = await send(front.document, { path: '/db' })
  const reason = 'The upstream server sent nothing for 0.2 s (upstream.first-byte-timeout).'
  assert.deepEqual([document.status, JSON.parse(document.body)], [504, { error: 'gateway_timeout', reason }])
  const [logged] = front.log.filter(({ fields }) => fields['event'] === 'upstream.failed')
  assert.equal(logged?.fields['reason'], reason)
  assert.equal((await send(front.multiModel, { path: '/app' })).status, 504)
})

for (const [method, body] of [
  ['GET', undefined],
  ['PUT', '{}'],
] as const)
  test(`an upstream that sends only 1xx responses to ${method} is 504`, async (t) => {
    const url = await openRaw(t, (socket) =>
      socket.once('data', () => {
        const early = setInterval(() => socket.write('HTTP/1.1 103 Early Hints\r\nLink: a\r\n\r\n'), 20)
        socket.on('close', () => clearInterval(early))
      }),
    )
    const front = await startServer(t, beforeDocument(url), SHORT)
    const answer = await send(front.document, { path: '/db/doc', method, headers: ADMIN, ...(body ? { body } : {}) })
    assert.equal(answer.status, 504)
  })

/** A timeout that does not pass: an upstream that responds at once takes less, also on a busy machine. */
const LONG_MS = 3000

/** Sends a body of 32 MiB, as fast as it is taken. */
function upload(base: string, headers: Record<string, string> = {}): Promise<number> {
  return new Promise((resolve, reject) => {
    const { hostname, port } = new URL(base)
    const sent = { ...ADMIN, 'Content-Length': String(32 << 20), ...headers }
    const request = httpRequest({ hostname, port, path: '/db/doc', method: 'PUT', agent: false, headers: sent })
    request.on('response', (response) => resolve(response.statusCode ?? 0)).on('error', reject)
    request.end(Buffer.alloc(32 << 20))
  })
}

for (const [how, headers] of [
  ['by undici', {}],
  ['directly', { Expect: '100-continue' }],
] as const) {
  test(`an upstream that pauses during an upload is not timed out for its response (${how})`, async (t) => {
    const backend = await openServer(t, (request, response) => {
      setTimeout(() => request.resume(), 1.5 * LONG_MS)
      request.on('end', () => response.end('{}'))
    })
    const front = await startServer(t, beforeDocument(backend.url), {
      upstream: { 'first-byte-timeout': LONG_MS / 1000 },
    })
    assert.equal(await upload(front.document, headers), 200)
  })

  test(`an upstream that reads nothing of an upload for idle-timeout is 504 (${how})`, async (t) => {
    const backend = await openServer(t, (request) => void request.on('error', () => {}))
    const limits = { upstream: { 'first-byte-timeout': 0, 'idle-timeout': 0.3 } }
    const front = await startServer(t, beforeDocument(backend.url), limits)
    assert.equal(await upload(front.document, headers).catch((error) => error.code), 504)
  })

  test(`an upstream that has the whole upload and does not respond is 504 (${how})`, async (t) => {
    const backend = await openServer(t, (request) => void request.resume())
    const front = await startServer(t, beforeDocument(backend.url), { upstream: { 'first-byte-timeout': 0.3 } })
    assert.equal(await upload(front.document, headers), 504)
  })
}

test('a pause of the client during its body does not count as a slow upstream', async (t) => {
  const backend = await openBackend(t)
  const limits = { upstream: { 'first-byte-timeout': LONG_MS / 1000, 'idle-timeout': LONG_MS / 1000 } }
  const front = await startServer(t, beforeDocument(backend.url), limits)
  const { hostname, port } = new URL(front.document)
  const headers = { ...ADMIN, 'Content-Length': '6' }
  const request = httpRequest({ hostname, port, path: '/db/doc', method: 'PUT', agent: false, headers })
  const answer = new Promise<IncomingMessage>((resolve, reject) => request.on('response', resolve).on('error', reject))
  request.write('abc')
  setTimeout(() => request.end('def'), 1.5 * LONG_MS)
  assert.equal((await answer).statusCode, 200)
  assert.equal(String(backend.seen[0]?.body), 'abcdef')
})

test('a connection that is not established is 504 after connect-timeout', async (t) => {
  const url = await openRaw(t, () => {})
  const limits = { upstream: { 'connect-timeout': 1.1 } }
  const front = await startServer(t, beforeDocument(url.replace('http:', 'https:')), limits)
  const start = performance.now()
  assert.equal((await send(front.document, { path: '/db', headers: ADMIN })).status, 504)
  const ms = performance.now() - start
  assert.ok(ms > 1090, `${ms} ms`)
})

function readUntilBroken(base: string, path: string): Promise<{ readonly text: string; readonly isBroken: boolean }> {
  return new Promise((resolve, reject) => {
    const { hostname, port } = new URL(base)
    const request = httpRequest({ hostname, port, path, agent: false, headers: ADMIN }, (response: IncomingMessage) => {
      let text = ''
      response.on('data', (chunk) => {
        text += chunk
      })
      response.on('error', () => resolve({ text, isBroken: true }))
      response.on('end', () => resolve({ text, isBroken: false }))
    })
    request.on('error', reject).end()
  })
}

const HALVES: readonly (readonly [name: string, bytes: string])[] = [
  ['a length', 'HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhalf'],
  ['chunks', 'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nhalf\r\n'],
  ['a bad chunk', 'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nhalf\r\nzz\r\n'],
]

for (const [name, bytes] of HALVES)
  test(`an upstream that dies during a body with ${name} breaks the connection`, async (t) => {
    const url = await openRaw(t, (socket) => socket.once('data', () => socket.write(bytes, () => socket.destroy())))
    const front = await startServer(t, beforeDocument(url))
    const answer = await readUntilBroken(front.document, '/db').catch((error) => ({ isBroken: true, text: error.code }))
    assert.ok(answer.isBroken, answer.text)
  })

test('an upstream that stops sending during a body breaks the connection', async (t) => {
  const url = await openRaw(t, (socket) => socket.once('data', () => socket.write(HALVES[0]?.[1] ?? '')))
  const front = await startServer(t, beforeDocument(url), { upstream: { 'idle-timeout': 0.2 } })
  assert.deepEqual(await readUntilBroken(front.document, '/db'), { text: 'half', isBroken: true })
})

test('a client that stalls during its body is 408, and the upstream request is aborted', async (t) => {
  const { promise: closed, resolve: tell } = Promise.withResolvers<void>()
  const url = await openRaw(t, (socket) => socket.on('data', () => {}).on('close', () => tell()))
  const front = await startServer(t, beforeDocument(url), { door: { 'body-timeout': 0.2 } })
  const bytes = 'PUT /db/doc HTTP/1.1\r\nHost: a\r\nContent-Length: 10\r\n\r\nabc'
  const answer = await sendRaw(Number(new URL(front.document).port), bytes)
  assert.equal(answer.status, 408)
  await closed
})

test('tries the next server if one refuses connections, and the first again when it is up', async (t) => {
  const first = await openBackend(t)
  const second = await openBackend(t)
  const front = await startServer(t, beforeDocument(first.url, second.url))
  await first.close()
  for (let i = 0; i < 5; i += 1) {
    const answer = await send(front.document, { path: '/db', method: 'POST', body: '{}', headers: ADMIN })
    assert.equal(answer.status, 200)
  }
  assert.equal(second.seen.length, 5)
  const again = await openBackendAt(t, first.port)
  await second.close()
  await waitUntil(async () => {
    await send(front.document, { path: '/db', headers: ADMIN })
    return again.seen.length > 0
  })
})

async function openBackendAt(scope: Scope, port: number) {
  const seen: string[] = []
  await openServer(
    scope,
    (request, response) => {
      seen.push(request.url ?? '')
      response.end('{}')
    },
    [],
    port,
  )
  return { seen }
}

test('an idempotent request is retried if its connection broke before a byte, others are not', async (t) => {
  let broken = 0
  const bad = await openRaw(t, (socket) =>
    socket.once('data', () => {
      broken += 1
      socket.destroy()
    }),
  )
  const good = await openBackend(t)
  const front = await startServer(t, beforeDocument(bad, good.url))
  const get = await send(front.document, { path: '/db', headers: ADMIN })
  assert.deepEqual([get.status, broken, good.seen.length], [200, 1, 1])
  const answers = await Promise.all(
    [1, 2].map(() => send(front.document, { path: '/db', method: 'POST', headers: ADMIN, body: '{}' })),
  )
  const statuses = answers.map(({ status }) => status).sort()
  assert.deepEqual([statuses, broken, good.seen.length], [[200, 502], 2, 2])
})

/**
 * Whether more requests in a row succeeded than three servers in turn would allow. The first pauses of a failed server
 * are shorter than a few requests may take on a busy machine.
 */
const isAvoided = (statuses: readonly number[]): boolean =>
  statuses.length > 5 && statuses.slice(-5).every((status) => status === 200)

test('a server that breaks connections fails two requests, then others are used', async (t) => {
  const bad = await openRaw(t, (socket) => socket.once('data', () => socket.resetAndDestroy()))
  const [good, better] = [await openBackend(t), await openBackend(t)]
  const front = await startServer(t, beforeDocument(bad, good.url, better.url))
  const statuses: number[] = []
  await waitUntil(async () => {
    statuses.push((await send(front.document, { path: '/db', method: 'POST', headers: ADMIN, body: '{}' })).status)
    return isAvoided(statuses)
  })
  assert.deepEqual(statuses.slice(0, 5), [502, 200, 200, 502, 200])
})

test('slow requests do not delay requests to other servers', async (t) => {
  const open = () =>
    openBackend(t, (request, response) => {
      if (request.url !== '/db/slow') response.end('{}')
    })
  const [one, other] = [await open(), await open()]
  const front = await startServer(t, beforeDocument(one.url, other.url), LONGER)
  const ask = async (path: string) => (await send(front.document, { path, headers: ADMIN })).status
  const slow = Promise.all(Array.from({ length: 12 }, () => ask('/db/slow')))
  let isOver = false
  void slow.then(() => {
    isOver = true
  })
  const statuses = new Set<number>()
  while (!isOver) statuses.add(await ask('/db'))
  for (let i = 0; i < 20; i += 1) for (const status of await Promise.all([ask('/db'), ask('/db')])) statuses.add(status)
  assert.deepEqual([...statuses], [200])
  assert.deepEqual(new Set(await slow), new Set([504]))
})

test('a server that hangs fails one request, and is then avoided', async (t) => {
  const hanging = await openRaw(t, () => {})
  const [good, better] = [await openBackend(t), await openBackend(t)]
  const front = await startServer(t, beforeDocument(hanging, good.url, better.url), LONGER)
  const statuses: number[] = []
  await waitUntil(async () => {
    statuses.push((await send(front.document, { path: '/db', headers: ADMIN })).status)
    return isAvoided(statuses)
  })
  assert.equal(statuses[0], 504)
  assert.ok(good.seen.length > 0 && better.seen.length > 0)
})

test('a server that is up again is used at once', async (t) => {
  const backend = await openBackend(t)
  const front = await startServer(t, beforeDocument(backend.url))
  await backend.close()
  const look = async () => (await send(front.document, { path: '/db', headers: ADMIN })).status
  assert.deepEqual([await look(), await look()], [503, 503])
  await openBackendAt(t, backend.port)
  assert.equal(await look(), 200)
})

test('a request goes to the server with the fewest running requests', async (t) => {
  const waiting: (() => void)[] = []
  const slow = await openBackend(t, (_request, response) => void waiting.push(() => response.end('{}')))
  const other = await openBackend(t)
  const front = await startServer(t, beforeDocument(slow.url, other.url))
  const first = send(front.document, { path: '/db/1' })
  while (waiting.length === 0) await new Promise((resolve) => setImmediate(resolve))
  for (let i = 0; i < 3; i += 1) await send(front.document, { path: '/db/2' })
  assert.deepEqual([slow.seen.length, other.seen.length], [1, 3])
  for (const go of waiting) go()
  await first
})

test('an upstream killed and restarted under load: every response has a documented status', async (t) => {
  const backend = await openBackend(t)
  const front = await startServer(t, beforeDocument(backend.url))
  const statuses = new Map<number, number>()
  let isOver = false
  const client = async () => {
    while (!isOver) {
      const { status } = await send(front.document, { path: '/db', headers: ADMIN })
      statuses.set(status, (statuses.get(status) ?? 0) + 1)
    }
  }
  const clients = Array.from({ length: 8 }, client)
  while ((statuses.get(200) ?? 0) < 100) await new Promise((resolve) => setImmediate(resolve))
  await backend.close()
  while ((statuses.get(503) ?? 0) < 20) await new Promise((resolve) => setImmediate(resolve))
  await openServer(t, (_request, response) => response.end('{}'), [], backend.port)
  const before = statuses.get(200) ?? 0
  while ((statuses.get(200) ?? 0) < before + 100) await new Promise((resolve) => setImmediate(resolve))
  isOver = true
  await Promise.all(clients)
  assert.deepEqual(
    [...statuses.keys()].filter((status) => ![200, 502, 503].includes(status)),
    [],
  )
})

test('the certificate of the upstream is verified, whatever the Host header (CVE-2026-107318)', async (t) => {
  const { cert, key } = await makeCertificate(t)
  const server = createTlsServer({ cert, key }, (_request, response) => response.end('{}'))
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  t.after(() => server.close())
  const { port } = server.address() as AddressInfo
  const url = `https://localhost:${port}`
  const stranger = await startServer(t, beforeDocument(url))
  assert.equal((await send(stranger.document, { path: '/db', headers: ADMIN })).status, 502)
  const file = `${makeFolder(t)}/ca.pem`
  writeFileSync(file, cert)
  const known = await startServer(t, beforeDocument(url), { upstream: { 'ca-file': file } })
  const headers = { ...ADMIN, Host: 'evil.example' }
  assert.equal((await send(known.document, { path: '/db', headers })).status, 200, 'a host of the client’s own')
  const wrong = await startServer(t, beforeDocument(`https://127.0.0.1:${port}`), { upstream: { 'ca-file': file } })
  const claimed = { ...ADMIN, Host: 'localhost' }
  assert.equal(
    (await send(wrong.document, { path: '/db', headers: claimed })).status,
    502,
    'a name of the client’s own',
  )
  const expecting = { path: '/db', method: 'PUT', body: 'x' }
  const statuses = [
    await send(known.document, { ...expecting, headers: { ...headers, Expect: '100-continue' } }),
    await send(wrong.document, { ...expecting, headers: { ...claimed, Expect: '100-continue' } }),
  ].map(({ status }) => status)
  assert.deepEqual(statuses, [200, 502], 'and with an expectation')
})

/** Of `localhost` alone, signed by itself. */
async function makeCertificate(scope: Scope): Promise<{ readonly cert: string; readonly key: string }> {
  const folder = makeFolder(scope)
  const words = `req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2 -subj /CN=localhost -addext subjectAltName=DNS:localhost -keyout ${folder}/key.pem -out ${folder}/cert.pem`
  execFileSync('openssl', words.split(' '), { stdio: 'ignore' })
  return { cert: readFileSync(`${folder}/cert.pem`, 'utf8'), key: readFileSync(`${folder}/key.pem`, 'utf8') }
}
