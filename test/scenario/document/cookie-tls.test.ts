import assert from 'node:assert/strict'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import type { IncomingMessage } from 'node:http'
import { request } from 'node:https'
import { describe, it, test } from 'node:test'
import { connect } from 'node:tls'
import { fileURLToPath } from 'node:url'
import { TEST_ADMINISTRATOR } from '../../../src/index.ts'
import { sendRaw } from '../../support/raw.ts'
import { createSharedScope } from '../../support/scope.ts'
import { startServer } from '../../support/server.ts'
import { openBackend, UPSTREAM_SECRET } from '../../support/upstream.ts'

const fixture = (name: string) => fileURLToPath(new URL(`../../fixtures/tls/${name}`, import.meta.url))
const ca = readFileSync(fixture('cert.pem'))

interface Sent {
  readonly method?: string
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: string
}

async function send(url: string, { method = 'GET', headers = {}, body }: Sent = {}) {
  const sent = request(url, { ca, agent: false, method, headers }).end(body)
  const response: IncomingMessage = (await once(sent, 'response'))[0]
  const text: string = await response.setEncoding('utf8').reduce((all: string, part: string) => all + part, '')
  return { status: response.statusCode, headers: response.headers, text }
}

/** Everything that the server sends until it closes the connection. */
async function sendBytes(url: string, bytes: string): Promise<string> {
  const { hostname, port } = new URL(url)
  const socket = connect({ host: hostname, port: Number(port), ca })
  socket.write(bytes)
  return socket.setEncoding('utf8').reduce((all: string, part: string) => all + part, '')
}

const signOut = async (url: string): Promise<string> =>
  (await send(`${url}/_session`, { method: 'DELETE' })).headers['set-cookie']?.join() ?? ''

const ssl = { enable: true, port: 0, cert_file: fixture('cert.pem'), key_file: fixture('key.pem') }

test('a cookie sent over TLS is Secure', async (t) => {
  const [plain = '', secure = ''] = (await startServer(t, { ssl })).addresses.document
  assert.match(await signOut(secure), /; Max-Age=600; Secure; Path=\/; HttpOnly$/)
  const answer = await fetch(`${plain}/_session`, { method: 'DELETE' })
  assert.doesNotMatch(answer.headers.get('set-cookie') ?? '', /Secure/)
  assert.equal((await send(`${secure}/_up`)).headers['strict-transport-security'], undefined)
})

test('cookie_partitioned marks the cookie, only over TLS', async (t) => {
  const chttpd_auth = { same_site: 'none', cookie_partitioned: true }
  const [plain = '', secure = ''] = (await startServer(t, { ssl, chttpd_auth })).addresses.document
  assert.match(await signOut(secure), /; Secure; Path=\/; HttpOnly; SameSite=None; Partitioned$/)
  const answer = await fetch(`${plain}/_session`, { method: 'DELETE' })
  assert.match(answer.headers.get('set-cookie') ?? '', /; HttpOnly; SameSite=None$/)
})

const LOGIN = {
  method: 'POST',
  headers: { 'content-type': 'application/json' },
  body: JSON.stringify(TEST_ADMINISTRATOR),
} as const

describe('with cookie_host_prefix and hsts', async () => {
  const scope = createSharedScope()
  const backend = await openBackend(scope, (_request, response) => {
    const cookies = ['__Host-AuthSession=forged; Secure; Path=/', 'theirs=1']
    response.writeHead(200, { 'Set-Cookie': cookies, 'strict-transport-security': 'max-age=1' }).end('{}')
  })
  const { addresses, multiModel } = await startServer(scope, {
    ssl: { ...ssl, keyfile: fixture('both.pem'), hsts: 'max-age=600; includeSubDomains' },
    server: { endpoint: 'ssl://127.0.0.1:0' },
    chttpd_auth: { cookie_host_prefix: true },
    upstream: { document: backend.url, 'document-secret': UPSTREAM_SECRET },
  })
  const [plain = '', secure = ''] = addresses.document
  const whoIs = async (url: string, cookie: string): Promise<unknown> => {
    const headers = { cookie }
    const text = url === plain ? await (await fetch(`${url}/_session`, { headers })).text() : undefined
    return JSON.parse(text ?? (await send(`${url}/_session`, { headers })).text).userCtx.name
  }

  it('the session cookie has the prefix over TLS, and no other name is accepted there', async () => {
    const [cookie = ''] = (await send(`${secure}/_session`, LOGIN)).headers['set-cookie'] ?? []
    assert.match(cookie, /^__Host-AuthSession=\S+; Version=1; Expires=.*; Max-Age=600; Secure; Path=\/; HttpOnly$/)
    const value = /=([^;]+)/.exec(cookie)?.[1]
    assert.equal(await whoIs(secure, `__Host-AuthSession=${value}`), 'admin')
    assert.equal(await whoIs(secure, `AuthSession=${value}`), null)
    assert.match(await signOut(secure), /^__Host-AuthSession=;/)
  })

  it('clients without TLS keep the name AuthSession', async () => {
    const cookie = (await fetch(`${plain}/_session`, LOGIN)).headers.get('set-cookie') ?? ''
    assert.match(cookie, /^AuthSession=[^;]+; Version=1;(?!.*Secure)/)
    assert.equal(await whoIs(plain, cookie.split(';', 1)[0] ?? ''), 'admin')
  })

  it('the cookie is neither forwarded nor accepted from the database, and the HSTS header of the database is replaced', async () => {
    const [own] = (await send(`${secure}/_session`, LOGIN)).headers['set-cookie'] ?? []
    const { headers } = await send(`${secure}/db`, { headers: { cookie: `${own?.split(';', 1)[0]}; theirs=1` } })
    assert.equal(backend.seen.at(-1)?.header('cookie'), 'theirs=1')
    assert.deepEqual(headers['set-cookie'], ['theirs=1'])
    assert.equal(headers['strict-transport-security'], 'max-age=600; includeSubDomains')
  })

  it('the response to bytes that are not HTTP has the HSTS header over TLS', async () => {
    for (const url of [secure, multiModel]) {
      const text = await sendBytes(url, 'not HTTP\r\n\r\n')
      assert.match(text, /^HTTP\/1\.1 400 /)
      assert.deepEqual(text.match(/^strict-transport-security: .*$/gim), [
        'Strict-Transport-Security: max-age=600; includeSubDomains',
      ])
    }
    assert.doesNotMatch((await sendRaw(Number(new URL(plain).port), 'not HTTP\r\n\r\n')).text, /strict-transport/i)
  })

  it('every response over TLS has the HSTS header, errors too, and none without TLS', async () => {
    for (const url of [`${secure}/_up`, `${secure}/_config`, `${multiModel}/_api/version`])
      assert.equal((await send(url)).headers['strict-transport-security'], 'max-age=600; includeSubDomains', url)
    assert.equal((await fetch(`${plain}/_up`)).headers.get('strict-transport-security'), null)
    const headers = { 'x-forwarded-proto': 'https' }
    const behindProxy = await fetch(`${plain}/_up`, { headers })
    assert.equal(behindProxy.headers.get('strict-transport-security'), 'max-age=600; includeSubDomains')
  })
})
