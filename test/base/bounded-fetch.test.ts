import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer, type RequestListener } from 'node:http'
import type { AddressInfo } from 'node:net'
import { it } from 'node:test'
import { setImmediate } from 'node:timers/promises'
import { boundedFetch, isSecureUrl } from '../../src/base/bounded-fetch.ts'

const MISBEHAVIOUR: readonly [name: string, handle: RequestListener, reason: RegExp][] = [
  ['redirects', (_, response) => response.writeHead(302, { location: '/keys' }).end(), /it redirects/],
  ['sends too much', (_, response) => response.end('a'.repeat(600_000)), /longer than 524288 bytes/],
  ['breaks off', (_, response) => response.socket?.destroy(), /127\.0\.0\.1/],
]
for (const [name, handle, reason] of MISBEHAVIOUR)
  it(`a server that ${name} is an error`, async (t) => {
    const server = createServer(handle).listen(0, '127.0.0.1')
    await once(server, 'listening')
    t.after(() => server.close())
    await assert.rejects(boundedFetch(`http://127.0.0.1:${(server.address() as AddressInfo).port}/`), reason)
  })

for (const [name, handle] of [
  ['does not respond', () => {}],
  ['does not end its response', (_, response) => response.write('a')],
] as const satisfies readonly [string, RequestListener][])
  it(`a server that ${name} is an error after 5 s`, async (t) => {
    const server = createServer(handle).listen(0, '127.0.0.1')
    await once(server, 'listening')
    t.after(() => server.close())
    // its types leave this name out
    t.mock.timers.enable({ apis: ['AbortSignal.timeout' as 'setTimeout'] })
    let isOver = false
    const fetched = boundedFetch(`http://127.0.0.1:${(server.address() as AddressInfo).port}/`).finally(() => {
      isOver = true
    })
    const rejected = assert.rejects(fetched, /no complete response within 5 s/)
    await once(server, 'request')
    t.mock.timers.tick(4999)
    await setImmediate()
    assert.equal(isOver, false)
    t.mock.timers.tick(1)
    await rejected
  })

const [REMOTE, LOCAL] = ['https://id.example.com/.well-known/x', 'http://127.0.0.1:8080/.well-known/x']

const ROWS: readonly [url: string, isSecure: boolean, source?: string][] = [
  ['https://id.example.com/keys', true],
  ['HTTPS://id.example.com/keys', true, REMOTE],
  ['http://id.example.com/keys', false],
  ['http://127.0.0.1:8080/keys', true],
  ['http://[::1]/keys', true, LOCAL],
  ['http://localhost/keys', true, LOCAL],
  ['http://localhost/keys', false, REMOTE],
  ['http://127.0.0.1:8080/keys', false, REMOTE],
  ['http://127.0.0.1.example.com/keys', false, LOCAL],
  ['javascript:alert(1)', false],
  ['keys', false],
]

for (const [url, isSecure, source = ''] of ROWS)
  it(`${url} named by ${source || 'the configuration'} is ${isSecure ? 'used' : 'not used'}`, () =>
    assert.equal(isSecureUrl(url, source), isSecure))
