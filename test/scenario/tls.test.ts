import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { request } from 'node:https'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { createTestCardea } from '../../src/index.ts'
import { sendRaw } from '../support/raw.ts'

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
  const cardea = await createTestCardea({
    options: {
      ssl: {
        enable: true,
        port: 0,
        cert_file: fixture('cert.pem'),
        key_file: fixture('key.pem'),
        keyfile: fixture('both.pem'),
      },
      server: { endpoint: 'ssl://127.0.0.1:0, tcp://127.0.0.1:0' },
      admin: { endpoint: 'ssl://127.0.0.1:0' },
    },
  })
  t.after(() => cardea.close())
  const { document, multiModel, admin } = await cardea.listen()
  assert.equal(await get(`${admin[0]}/_cardea/`), 200)
  const [plainDocument = '', tlsDocument = ''] = document
  const [tlsMultiModel = '', plainMultiModel = ''] = multiModel
  assert.match(tlsDocument, /^https:/)
  assert.equal(await get(`${tlsDocument}/_up`), 200)
  assert.equal(await get(`${tlsMultiModel}/_admin/server/availability`), 200)
  assert.equal((await fetch(`${plainDocument}/_up`)).status, 200)
  assert.equal((await fetch(`${plainMultiModel}/_admin/server/availability`)).status, 200)
})

test('plain HTTP to a TLS port only ends that connection', async (t) => {
  const cardea = await createTestCardea({
    options: { ssl: { keyfile: fixture('both.pem') }, server: { endpoint: 'ssl://127.0.0.1:0' } },
  })
  t.after(() => cardea.close())
  const [url = ''] = (await cardea.listen()).multiModel
  const answer = await sendRaw(Number(new URL(url).port), 'GET / HTTP/1.1\r\nHost: a\r\n\r\n', { untilClosed: true })
  assert.ok(answer.isClosed)
  assert.equal(await get(`${url}/_admin/server/availability`), 200)
})

test('an invalid certificate file is reported with a message, not a stack trace', async (t) => {
  const cardea = await createTestCardea({
    options: { ssl: { keyfile: fixture('README') }, server: { endpoint: 'ssl://127.0.0.1:0' } },
  })
  t.after(() => cardea.close())
  await assert.rejects(cardea.listen(), { name: 'StartError', message: /ssl\.keyfile/ })
})
