import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { appendFileSync, readFileSync, writeFileSync } from 'node:fs'
import { request } from 'node:https'
import { join } from 'node:path'
import { test } from 'node:test'
import { type ConnectionOptions, connect } from 'node:tls'
import { fileURLToPath } from 'node:url'
import { TEST_ADMINISTRATOR } from '../../src/index.ts'
import { createAuthority } from '../support/certificates.ts'
import { sendRaw } from '../support/raw.ts'
import { makeFolder } from '../support/scope.ts'
import { startServer } from '../support/server.ts'

const fixture = (name: string) => fileURLToPath(new URL(`../fixtures/tls/${name}`, import.meta.url))
const ca = readFileSync(fixture('cert.pem'))

const get = (url: string): Promise<number | undefined> =>
  new Promise((resolve, reject) => {
    request(url, { ca, agent: false }, (response) => {
      response.resume()
      resolve(response.statusCode)
    })
      .on('error', reject)
      .end()
  })

test('both doors serve TLS with their own files', async (t) => {
  const files = { cert_file: fixture('cert.pem'), key_file: fixture('key.pem'), keyfile: fixture('both.pem') }
  const { addresses } = await startServer(t, {
    ssl: { enable: true, port: 0, ...files },
    server: { endpoint: 'ssl://127.0.0.1:0, tcp://127.0.0.1:0' },
    admin: { endpoint: 'ssl://127.0.0.1:0' },
  })
  const { document, multiModel, admin } = addresses
  assert.equal(await get(`${admin[0]}/_cardea/`), 200)
  const [plainDocument = '', tlsDocument = ''] = document
  const [tlsMultiModel = '', plainMultiModel = ''] = multiModel
  assert.match(tlsDocument, /^https:/)
  assert.equal(await get(`${tlsDocument}/_up`), 200)
  assert.equal(await get(`${tlsMultiModel}/_admin/server/availability`), 200)
  assert.equal((await fetch(`${plainDocument}/_up`)).status, 200)
  assert.equal((await fetch(`${plainMultiModel}/_admin/server/availability`)).status, 200)
})

/** What a listener and a client agree on; `undefined`: nothing. */
const agree = (url: string, options: ConnectionOptions): Promise<string | undefined> =>
  new Promise((resolve) => {
    const socket = connect({
      host: '127.0.0.1',
      port: Number(new URL(url).port),
      rejectUnauthorized: false,
      ...options,
    })
    socket
      .once('error', () => resolve(undefined))
      .once('secureConnect', () => {
        resolve(`${socket.getProtocol()} ${socket.getCipher().name}`)
        socket.destroy()
      })
  })

test('sessions of TLS 1.2 have forward secrecy and authenticated encryption', async (t) => {
  const keyfile = join(makeFolder(t), 'both.pem')
  // a key of RSA fits suites without forward secrecy, too
  const request = ['req', '-x509', '-newkey', 'rsa:2048', '-nodes', '-subj', '/CN=localhost', '-days', '30']
  execFileSync('openssl', [...request, '-keyout', keyfile, '-out', `${keyfile}.cert`], { stdio: 'pipe' })
  appendFileSync(keyfile, readFileSync(`${keyfile}.cert`))
  const files = { cert_file: keyfile, key_file: keyfile, keyfile }
  const { addresses } = await startServer(t, {
    ssl: { enable: true, port: 0, ...files },
    server: { endpoint: 'ssl://127.0.0.1:0' },
    admin: { endpoint: 'ssl://127.0.0.1:0' },
  })
  for (const url of [addresses.document[1], addresses.multiModel[0], addresses.admin[0]] as string[]) {
    assert.match((await agree(url, {})) ?? '', /^TLSv1\.3 /)
    assert.match((await agree(url, { maxVersion: 'TLSv1.2' })) ?? '', /^TLSv1\.2 ECDHE-\w+-(?:AES\d+-GCM|CHACHA20)/)
    for (const ciphers of ['kRSA', 'kDHE', 'ECDHE+SHA1', 'ECDHE+SHA256:ECDHE+SHA384'])
      assert.equal(await agree(url, { maxVersion: 'TLSv1.2', ciphers: `${ciphers}@SECLEVEL=0` }), undefined, ciphers)
  }
})

test('plain HTTP to a TLS port only ends that connection', async (t) => {
  const options = { ssl: { keyfile: fixture('both.pem') }, server: { endpoint: 'ssl://127.0.0.1:0' } }
  const { multiModel: url } = await startServer(t, options)
  const answer = await sendRaw(Number(new URL(url).port), 'GET / HTTP/1.1\r\nHost: a\r\n\r\n', { untilClosed: true })
  assert.ok(answer.isClosed)
  assert.equal(await get(`${url}/_admin/server/availability`), 200)
})

test('an invalid certificate file is reported with a message, not a stack trace', async (t) => {
  const options = { ssl: { keyfile: fixture('README') }, server: { endpoint: 'ssl://127.0.0.1:0' } }
  await assert.rejects(startServer(t, options), { name: 'StartError', message: /ssl\.keyfile/ })
})

test('an expired certificate is served, with an error in the log, its part of the health failed and its date in the metrics', async (t) => {
  const folder = makeFolder(t)
  const dates = { from: '20200101000000Z', to: '20200201000000Z' } as const
  const { cert, key } = createAuthority(folder, 'old').issue({
    subject: '/CN=localhost',
    usage: 'serverAuth',
    ...dates,
  })
  const keyfile = join(folder, 'both.pem')
  writeFileSync(keyfile, `${cert}${key}`, { mode: 0o600 })
  const ssl = { enable: true, port: 0, cert_file: keyfile, key_file: keyfile, keyfile }
  const { document, log, cardea } = await startServer(t, { ssl }, { server: { endpoint: 'ssl://127.0.0.1:0' } })
  const errors = () => log.filter(({ level, fields }) => level === 'error' && fields['event'] === 'certificate.expired')
  assert.deepEqual(
    errors().map(({ fields: { source, reason } }) => ({ source, reason })),
    [{ source: keyfile, reason: 'the certificate expired on 2020-02-01' }],
  )
  const { name, password } = TEST_ADMINISTRATOR
  const headers = { authorization: `Basic ${btoa(`${name}:${password}`)}` }
  const read = async (path: string) => (await fetch(`${document}${path}`, { headers })).text()
  const outdated = (option: string) =>
    `${option}: the certificate in ${keyfile} expired on 2020-02-01, and clients reject it`
  const { isReady, parts } = JSON.parse(await read('/_cardea/api/health'))
  assert.equal(isReady, false)
  const problem = `${outdated('ssl.cert_file')}; ${outdated('ssl.keyfile')}`
  const found = parts.find((part: { name: string }) => part.name === 'certificates')
  assert.deepEqual(found, { name: 'certificates', state: 'failed', isWorking: false, problem })
  const expiry = /^cardea_certificate_expiry_timestamp_seconds\{.*\} (\d+)$/gm
  const seconds = async () => [...(await read('/_cardea/metrics')).matchAll(expiry)].map(([, found]) => Number(found))
  assert.deepEqual(await seconds(), [Date.UTC(2020, 1, 1) / 1000, Date.UTC(2020, 1, 1) / 1000])
  writeFileSync(keyfile, readFileSync(fixture('both.pem')))
  await cardea.reload()
  assert.deepEqual(await seconds(), [Date.UTC(2126, 9, 22, 2, 52, 18) / 1000, Date.UTC(2126, 9, 22, 2, 52, 18) / 1000])
  assert.equal(errors().length, 1)
})
