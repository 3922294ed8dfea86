// A service worker from a database must not control the pages of /_cardea/, which share its origin.
import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { ADMIN, send } from '../../support/request.ts'
import { type AnyOptions, startServer } from '../../support/server.ts'
import { beforeDocument, beforeMultiModel, openBackend } from '../../support/upstream.ts'

const scope = { after }
const backend = await openBackend(scope, ({ headers, url = '' }, response) => {
  const type = url.includes('json') ? 'application/json' : 'text/javascript'
  const status = headers['if-none-match'] ? 304 : 200
  response.writeHead(status, { ...(status === 200 && { 'Content-Type': type }), Vary: 'Accept' }).end()
})
const BOTH: readonly AnyOptions[] = [beforeDocument(backend.url), beforeMultiModel(scope, backend.url)]
const front = await startServer(scope, ...BOTH, { services: { app: `/app ${backend.url}` } })

const WORKER = { 'Service-Worker': 'script' }
const ask = (url: string, path: string, headers: Readonly<Record<string, string>> = {}) =>
  send(url, { path, headers: { ...ADMIN, ...headers } })

for (const door of ['document', 'multiModel'] as const) {
  for (const path of ['/sw.js', '/sw.js?of=/folder/', '/sw%2Ejs'])
    test(`${door} door: the worker script ${path} is rejected and not forwarded`, async () => {
      const before = backend.seen.length
      const reply = await ask(front[door], path, WORKER)
      assert.equal(reply.status, 403, reply.body)
      assert.match(reply.body, /service worker/)
      assert.equal(backend.seen.length, before)
    })

  test(`${door} door: a worker script in a folder is forwarded`, async () =>
    assert.equal((await ask(front[door], '/folder/app/sw.js', WORKER)).status, 200))

  test(`${door} door: a cached script does not become a worker script`, async () => {
    const varyOf = async (path: string, headers?: Readonly<Record<string, string>>) =>
      (await ask(front[door], path, headers)).lines['vary']?.join(', ') ?? ''
    assert.match(await varyOf('/sw.js'), /^Accept\b.*\bService-Worker$/)
    assert.match(await varyOf('/sw.js', { 'If-None-Match': '"1"' }), /\bService-Worker$/)
    assert.doesNotMatch(await varyOf('/folder/sw.js'), /Service-Worker/)
    assert.doesNotMatch(await varyOf('/json'), /Service-Worker/)
  })
}

test('the worker scripts of services are forwarded', async () =>
  assert.equal((await ask(front.multiModel, '/app', WORKER)).status, 200))

test('upstream.sandbox = false forwards every worker script', async (t) => {
  const open = await startServer(t, ...BOTH, { upstream: { sandbox: false } })
  assert.equal((await ask(open.document, '/sw.js', WORKER)).status, 200)
})
