import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { INTERNAL_NAMES, type InternalName, probeInternals } from '../../src/base/node-internals/probes.ts'
import { PREFACE } from '../support/frames.ts'
import { sendHttp2 } from '../support/http2.ts'
import { request, sendRaw } from '../support/raw.ts'
import { AS_ADMIN, send } from '../support/request.ts'
import type { Scope } from '../support/scope.ts'
import { type Server, startServer } from '../support/server.ts'
import { beforeDocument, openBackend } from '../support/upstream.ts'

const AUTHORIZED = `Authorization: ${AS_ADMIN}`
const WRONG = `Authorization: Basic ${btoa('admin:wrong')}`
/** In chunks of one byte it has too many. */
const CREDENTIALS = '{"name":"eve","password":"wrong"}'.padEnd(1000)
const UPLOAD = 'x'.repeat(1 << 20)

/** A server that lacks these internals, until the scope ends. */
async function startWithout(scope: Scope, missing: readonly InternalName[]) {
  probeInternals(missing)
  scope.after(() => probeInternals())
  const upstream = await openBackend(scope, (_request, response, body) => void response.end(`${body.length} bytes`))
  const server = await startServer(scope, beforeDocument(upstream.url), { door: { http2: 'document' } })
  return { server, upstream, port: Number(new URL(server.document).port) }
}

/** Errors, and warnings that do not name an internal. */
const listFailures = ({ log }: Server) =>
  log.filter(({ level, message }) => level === 'error' || /could not be answered/.test(message))

for (const missing of [...INTERNAL_NAMES.map((name) => [name]), INTERNAL_NAMES])
  describe(`without ${missing.length > 1 ? 'any internal of Node' : missing[0]}`, () => {
    it('the log names what is missing and what is different', async (t) => {
      const { server } = await startWithout(t, missing)
      const warnings = server.log.filter(({ level }) => level === 'warn').map(({ message }) => message)
      for (const name of missing)
        assert.equal(warnings.filter((text) => text.includes(`uses, ${name}, is not in`)).length, 1, `${warnings}`)
    })

    it('pipelined requests are answered in order, each by its own credential', async (t) => {
      const { server, upstream, port } = await startWithout(t, missing)
      const requests = [request('/a', AUTHORIZED), request('/b', WRONG), request('/c', AUTHORIZED, 'Connection: close')]
      const { text } = await sendRaw(port, requests.join(''), { untilClosed: true })
      assert.deepEqual(text.match(/HTTP\/1\.1 \d+/g), ['HTTP/1.1 200', 'HTTP/1.1 401', 'HTTP/1.1 200'])
      assert.deepEqual(
        upstream.seen.map(({ url }) => url),
        ['/a', '/c'],
      )
      assert.deepEqual(listFailures(server), [])
    })

    it('bodies arrive whole, and one in tiny chunks is rejected', async (t) => {
      const { server, port } = await startWithout(t, missing)
      const upload = { as: 'admin:adminpw', method: 'PUT', path: '/shop/doc', body: UPLOAD }
      assert.equal((await send(server.document, upload)).body, `${UPLOAD.length} bytes`)
      const head = request('/_session', 'Content-Type: application/json', 'Transfer-Encoding: chunked')
      const chunks = CREDENTIALS.replaceAll(/./g, '1\r\n$&\r\n')
      const { status } = await sendRaw(port, `${head.replace('GET', 'POST')}${chunks}0\r\n\r\n`)
      assert.equal(status, 400)
      assert.equal((await send(server.document, { path: '/_up' })).status, 200)
      assert.deepEqual(listFailures(server), [])
    })

    it('a client that knows HTTP/2 is served, or refused where its session would not be safe', async (t) => {
      const { server, port } = await startWithout(t, missing)
      const isRefused = missing.includes('session-start')
      const headers = { authorization: AS_ADMIN }
      const { status } = isRefused
        ? await sendRaw(port, PREFACE)
        : await sendHttp2(`${server.document}/_session`, { headers })
      assert.equal(status, isRefused ? 400 : 200)
      assert.equal((await send(server.document, { path: '/_up' })).status, 200)
      assert.deepEqual(listFailures(server), [])
    })
  })
