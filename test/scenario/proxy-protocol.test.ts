import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { connect } from 'node:net'
import { describe, it } from 'node:test'
import { connect as connectTls } from 'node:tls'
import { fileURLToPath } from 'node:url'
import { sendRaw } from '../support/raw.ts'
import { ADMIN } from '../support/request.ts'
import type { Scope } from '../support/scope.ts'
import { type AnyOptions, startServer } from '../support/server.ts'
import { beforeDocument, openBackend } from '../support/upstream.ts'

const SIGNATURE = '\r\n\r\n\0\r\nQUIT\n'
const V1 = 'PROXY TCP4 203.0.113.7 192.0.2.1 56324 443\r\n'

/** A header of version 2. */
function binary(command: number, family: number, further: Buffer): Buffer {
  const length = Buffer.alloc(2)
  length.writeUInt16BE(further.length)
  return Buffer.concat([Buffer.from(SIGNATURE, 'latin1'), Buffer.of(command, family), length, further])
}

const IPV4 = Buffer.from([203, 0, 113, 7, 192, 0, 2, 1, 0xdc, 4, 1, 0xbb])
const IPV6 = Buffer.from(`20010db8${'0'.repeat(23)}7${'0'.repeat(32)}dc0401bb`, 'hex')
const GET = (...headers: string[]): string =>
  ['GET /db/doc HTTP/1.1', 'Host: a', `Authorization: ${ADMIN.Authorization}`, ...headers, '', ''].join('\r\n')

async function open(t: Scope, options: AnyOptions = {}) {
  const backend = await openBackend(t, (_request, response) => void response.end('{}'))
  const settings = { door: { 'proxy-protocol': 'document', ...options['door'] }, chttpd: options['chttpd'] ?? {} }
  const server = await startServer(t, beforeDocument(backend.url), settings, { ssl: options['ssl'] ?? {} })
  const port = Number(new URL(server.document).port)
  const forwarded = (): unknown => backend.seen.at(-1)?.header('x-forwarded-for')
  return { ...server, backend, port, forwarded }
}

async function countRefused(multiModel: string): Promise<string | undefined> {
  const text = await (await fetch(`${multiModel}/_cardea/metrics`, { headers: ADMIN })).text()
  return /cardea_proxy_headers_refused_total\{door="document"\} (\d+)/.exec(text)?.[1]
}

describe('the address of the client is that of the header', () => {
  const rows: readonly (readonly [name: string, header: string | Buffer, address: string])[] = [
    ['version 1, IPv4', V1, '203.0.113.7'],
    ['version 1, IPv6', 'PROXY TCP6 2001:DB8:0:0::7 ::1 1 2\r\n', '2001:db8::7'],
    ['version 2, IPv4', binary(0x21, 0x11, IPV4), '203.0.113.7'],
    ['version 2, IPv6', binary(0x21, 0x21, IPV6), '2001:db8::7'],
    ['version 2, further fields', binary(0x21, 0x11, Buffer.concat([IPV4, Buffer.from([4, 0, 1, 0])])), '203.0.113.7'],
    ['version 1, unknown', 'PROXY UNKNOWN\r\n', '127.0.0.1'],
    ['version 1, unknown with addresses', 'PROXY UNKNOWN ffff::1 ffff::2 1 2\r\n', '127.0.0.1'],
    ['version 2, the proxy itself', binary(0x20, 0x00, Buffer.alloc(0)), '127.0.0.1'],
    ['version 2, a Unix socket', binary(0x21, 0x31, Buffer.alloc(216)), '127.0.0.1'],
  ]
  for (const [name, header, address] of rows)
    it(name, async (t) => {
      const { port, forwarded } = await open(t)
      const head = Buffer.from(header as string, 'latin1')
      // the client's own header counts for none of these
      const answer = await sendRaw(port, Buffer.concat([head, Buffer.from(GET('X-Forwarded-For: 198.51.100.9'))]))
      assert.deepEqual([answer.status, forwarded()], [200, address])
    })
  it('in a header that arrives byte by byte, before the request', async (t) => {
    const { port, forwarded } = await open(t)
    const socket = connect(port, '127.0.0.1').setNoDelay()
    for (const byte of [...binary(0x21, 0x11, IPV4)])
      await new Promise<void>((done) => socket.write(Buffer.of(byte), () => done()))
    socket.write(GET())
    const chunk = await new Promise((resolve) => socket.once('data', resolve))
    assert.match(String(chunk), /^HTTP\/1\.1 200/)
    assert.equal(forwarded(), '203.0.113.7')
    socket.destroy()
  })
  it('for every request of the connection, and pipelined ones', async (t) => {
    const { port, backend } = await open(t)
    await sendRaw(port, V1 + GET() + GET() + GET('Connection: close'), { untilClosed: true })
    const seen = backend.seen.map(({ header }) => header('x-forwarded-for'))
    assert.deepEqual(seen, ['203.0.113.7', '203.0.113.7', '203.0.113.7'])
  })
  it('before the handshake of TLS', async (t) => {
    const fixture = (name: string) => fileURLToPath(new URL(`../fixtures/tls/${name}`, import.meta.url))
    const ssl = { enable: true, port: 0, cert_file: fixture('cert.pem'), key_file: fixture('key.pem') }
    const { addresses, forwarded } = await open(t, { ssl })
    const url = addresses.document.find((address) => address.startsWith('https:')) ?? assert.fail()
    const socket = connect(Number(new URL(url).port), '127.0.0.1')
    socket.write(V1)
    const secure = connectTls({ socket, servername: 'localhost', ca: readFileSync(fixture('cert.pem')) })
    secure.write(GET())
    const chunk = await new Promise((resolve, reject) => secure.once('data', resolve).once('error', reject))
    assert.match(String(chunk), /^HTTP\/1\.1 200/)
    assert.equal(forwarded(), '203.0.113.7')
    secure.destroy()
  })
  it('in security events', async (t) => {
    const { port, takeEvents } = await open(t)
    takeEvents()
    const wrong = `Basic ${Buffer.from('jo:wrong').toString('base64')}`
    const answer = await sendRaw(port, `${V1}GET /_session HTTP/1.1\r\nHost: a\r\nAuthorization: ${wrong}\r\n\r\n`)
    assert.equal(answer.status, 401)
    assert.ok(takeEvents().some((event) => JSON.stringify(event).includes('203.0.113.7')))
  })
})

describe('a connection is closed, counted and reported', () => {
  const tooLong = `PROXY UNKNOWN ${'x'.repeat(100)}\r\n`
  const rows: readonly (readonly [name: string, header: string | Buffer])[] = [
    ['without a header', ''],
    ['with half a signature', '\r\n\r\n\0\r\nQUOT\n'],
    ['with an address of the other family', 'PROXY TCP6 203.0.113.7 192.0.2.1 1 2\r\n'],
    ['with a text in place of an address', 'PROXY TCP4 example 192.0.2.1 1 2\r\n'],
    ['with a port above 65535', 'PROXY TCP4 203.0.113.7 192.0.2.1 70000 2\r\n'],
    ['with a header of version 1 that is too long', tooLong],
    ['with another version', binary(0x31, 0x11, IPV4)],
    ['with another command', binary(0x22, 0x11, IPV4)],
    ['with UDP', binary(0x21, 0x12, IPV4)],
    ['with addresses that are cut off', binary(0x21, 0x11, IPV4.subarray(0, 8))],
    ['with too many further fields', binary(0x21, 0x11, Buffer.alloc(5000))],
  ]
  it('for each wrong header', async (t) => {
    const { port, multiModel, log, backend } = await open(t)
    for (const [name, header] of rows) {
      const bytes = Buffer.concat([Buffer.from(header as string, 'latin1'), Buffer.from(GET())])
      const { text, isClosed } = await sendRaw(port, bytes, { untilClosed: true })
      assert.deepEqual([text, isClosed], ['', true], name)
    }
    assert.equal(await countRefused(multiModel), String(rows.length))
    assert.equal(backend.seen.length, 0)
    const warnings = log.filter(({ message }) => message.includes('PROXY protocol'))
    assert.deepEqual(
      warnings.map(({ level, fields }) => [level, fields['door'], fields['peer'], fields['reason']]),
      [['warn', 'document', '127.0.0.1', 'the header is missing or invalid']],
    )
  })
  it('from a peer that is not trusted', async (t) => {
    const { port, multiModel } = await open(t, { chttpd: { trusted_proxies: '192.0.2.0/24' } })
    assert.equal((await sendRaw(port, V1 + GET(), { untilClosed: true })).text, '')
    assert.equal(await countRefused(multiModel), '1')
  })
  it('if the header does not arrive in time', async (t) => {
    const { port, multiModel } = await open(t, { door: { 'header-timeout': 1 } })
    assert.equal((await sendRaw(port, 'PROXY TCP4', { untilClosed: true })).text, '')
    assert.equal(await countRefused(multiModel), '1')
  })
  it('only at the listeners of the option', async (t) => {
    const { multiModel } = await open(t)
    assert.equal((await fetch(`${multiModel}/_admin/server/availability`)).status, 200)
  })
})

it('a server that stops closes connections that wait for their header', async (t) => {
  const { port, cardea } = await open(t)
  const waiting = sendRaw(port, 'PROXY', { untilClosed: true })
  // accepted in the order in which they connect
  await new Promise((resolve) =>
    connect(port, '127.0.0.1')
      .once('connect', resolve)
      .on('error', () => {}),
  )
  await cardea.close()
  assert.ok((await waiting).isClosed)
})
