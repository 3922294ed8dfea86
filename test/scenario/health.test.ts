// /_cardea/live and /_cardea/ready: what orchestrators and load balancers ask.
import assert from 'node:assert/strict'
import { mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { describe, test } from 'node:test'
import { superuser } from '../support/multi-model.ts'
import { ADMIN, basic, send } from '../support/request.ts'
import { makeFolder } from '../support/scope.ts'
import { startServer } from '../support/server.ts'
import { beforeDocument, beforeMultiModel, openBackend } from '../support/upstream.ts'
import { waitUntil } from '../support/wait.ts'

const READY = '/_cardea/ready'
const LIVE = '/_cardea/live'
/** The body of the first response that is not 200. One check serves all requests of a second. */
async function waitForUnready({ document }: { readonly document: string }) {
  const ask = () => send(document, { path: READY, headers: ADMIN })
  await waitUntil(async () => (await ask()).status === 503)
  return (await ask()).json
}

const HEALTHY = { status: 'ok', components: { store: 'ok', keys: 'ok', clock: 'ok' } }

test('both doors answer anonymous probes', async (t) => {
  const front = await startServer(t)
  for (const base of [front.document, front.multiModel]) {
    const live = await send(base, { path: LIVE })
    assert.deepEqual([live.status, live.json], [200, { status: 'ok' }])
    const ready = await send(base, { path: READY })
    assert.deepEqual([ready.status, ready.json], [200, HEALTHY])
    assert.equal(ready.headers['cache-control'], 'no-store')
    assert.equal((await send(base, { path: READY, method: 'HEAD' })).status, 200)
    assert.equal((await send(base, { path: READY, method: 'PUT', headers: ADMIN })).status, 405)
  }
})

test('a closed port of an upstream makes the server unready, and it stays alive', async (t) => {
  const backend = await openBackend(t)
  const front = await startServer(t, beforeDocument(backend.url))
  const components = { store: 'ok', keys: 'ok', clock: 'ok', 'upstream.document': 'ok' }
  assert.deepEqual((await send(front.document, { path: READY })).json, { status: 'ok', components })
  await backend.close()
  const second = await startServer(t, beforeDocument(backend.url))
  const ready = await send(second.document, { path: READY })
  const failed = { status: 'failed', components: { ...components, 'upstream.document': 'failed' } }
  assert.deepEqual([ready.status, ready.json], [503, failed])
  assert.equal((await send(second.document, { path: LIVE })).status, 200)
})

test('the state of an upstream is asked again after a second', async (t) => {
  const backend = await openBackend(t)
  const front = await startServer(t, beforeMultiModel(t, backend.url))
  const ask = async () => (await send(front.multiModel, { path: READY })).status
  assert.equal(await ask(), 200)
  await backend.close()
  await waitUntil(async () => (await ask()) === 503)
})

test('requests of one second share one check of the upstream', async (t) => {
  let checks = 0
  const backend = await openBackend(t, (_request, response) => {
    checks += 1
    response.end('{}')
  })
  const front = await startServer(t, beforeDocument(backend.url))
  const startMs = performance.now()
  const replies = await Promise.all(Array.from({ length: 20 }, () => send(front.document, { path: READY })))
  const seconds = Math.ceil((performance.now() - startMs) / 1000)
  assert.ok(replies.every(({ status }) => status === 200))
  assert.ok(checks > 0 && checks <= 1 + seconds, `${checks} checks`)
})

describe('the reason of a failure', () => {
  test('is shown to administrators only', async (t) => {
    const backend = await openBackend(t, (_request, response) => void response.writeHead(404).end('{"status":"nolb"}'))
    const front = await startServer(t, beforeDocument(backend.url))
    const ann = { user: 'ann', passwd: 'apple' }
    await send(front.multiModel, { method: 'POST', path: '/_api/user', headers: ADMIN, body: ann })
    const ask = async (headers: Record<string, string>) => (await send(front.document, { path: READY, headers })).json
    const components = { store: 'ok', keys: 'ok', clock: 'ok', 'upstream.document': 'failed' }
    for (const headers of [{}, { Authorization: basic('ann', 'apple') }])
      assert.deepEqual(await ask(headers), { status: 'failed', components })
    const reasons = { 'upstream.document': 'the server responds with the status nolb' }
    assert.deepEqual(await ask(ADMIN), { status: 'failed', components, reasons })
  })

  test('is not shown to the cookie of an administrator', async (t) => {
    const front = await startServer(t, beforeDocument('http://127.0.0.1:9'), { chttpd: { require_valid_user: true } })
    const body = { name: 'admin', password: 'adminpw' }
    const session = await send(front.document, { method: 'POST', path: '/_session', body })
    const headers = { Cookie: (session.headers['set-cookie']?.[0] ?? '').split(';')[0] ?? '' }
    const ready = await send(front.document, { path: READY, headers })
    assert.deepEqual([ready.status, Object.keys(ready.json)], [503, ['status', 'components']])
  })

  test('a wrong password is rejected', async (t) => {
    const front = await startServer(t)
    const headers = { Authorization: basic('admin', 'wrong') }
    assert.equal((await send(front.document, { path: READY, headers })).status, 401)
  })
})

test('secrets that cannot be reloaded make the server unready', async (t) => {
  const folder = join(makeFolder(t), 'secrets')
  mkdirSync(folder)
  writeFileSync(join(folder, 'a'), 'cardea-test-token-secret')
  const server = { 'jwt-secret': undefined, 'jwt-secret-folder': folder, 'jwt-secret-watch': false }
  const front = await startServer(t, { server })
  assert.equal((await send(front.document, { path: READY })).status, 200)
  rmSync(join(folder, 'a'))
  const reload = { method: 'POST', path: '/_admin/server/jwt', headers: { Authorization: superuser({}) } }
  assert.notEqual((await send(front.multiModel, reload)).status, 200)
  const ready = await waitForUnready(front)
  assert.deepEqual(ready.components, { store: 'ok', keys: 'failed', clock: 'ok' })
  assert.match(ready.reasons.keys, /secret/)
  assert.equal((await send(front.document, { path: '/_up' })).status, 200, 'the old secrets are in use')
})

for (const table of ['cardea_state', 'cardea_users', 'cardea_sessions'])
  test(`a store without ${table} makes the server unready, and writes are 503`, async (t) => {
    const file = join(makeFolder(t), 'cardea.db')
    const front = await startServer(t, { store: { url: `sqlite:${file}` } })
    assert.deepEqual((await send(front.document, { path: READY })).json, HEALTHY)
    const other = new DatabaseSync(file)
    other.exec(`DROP TABLE ${table}`)
    other.close()
    const ready = await waitForUnready(front)
    assert.deepEqual(ready.components, { store: 'failed', keys: 'ok', clock: 'ok' })
    assert.match(ready.reasons.store, /^a table is missing/)
  })

test('a reload of the configuration that finds no secrets makes the server unready until one succeeds', async (t) => {
  const folder = join(makeFolder(t), 'secrets')
  const fill = () => {
    mkdirSync(folder)
    writeFileSync(join(folder, '1.key'), 'a secret')
  }
  fill()
  const front = await startServer(t, {
    server: { 'jwt-secret': undefined, 'jwt-secret-folder': folder, 'jwt-secret-watch': false },
  })
  const reload = () => send(front.document, { method: 'POST', path: '/_cardea/api/reload', headers: ADMIN })
  rmSync(folder, { recursive: true })
  await reload()
  assert.deepEqual((await waitForUnready(front)).components, { store: 'ok', keys: 'failed', clock: 'ok' })
  fill()
  await reload()
  await waitUntil(async () => (await send(front.document, { path: READY })).status === 200)
})
