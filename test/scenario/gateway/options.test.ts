// Options set over HTTP while requests and streams go on.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { beforeDocument, beforeMultiModel, type Front, openBackend, openFront } from '../../support/gateway.ts'
import { ADMIN, send } from '../../support/scenario.ts'

async function setOption(front: Front, name: string, value: string): Promise<void> {
  const path = `/_node/_local/_config/${name}`
  const answer = await send(front.document, { method: 'PUT', path, headers: ADMIN, body: JSON.stringify(value) })
  assert.equal(answer.status, 200, answer.body)
}

test('a header that tells who somebody is passes nowhere from the moment it is named', async (t) => {
  const backend = await openBackend(t)
  const services = { services: { shop: `/shop ${backend.url}` } }
  const front = await openFront(t, beforeDocument(backend.url), beforeMultiModel(t, backend.url), services)
  const headers = { 'Foo-User': 'evil', foo_user: 'evil', 'X-Other': 'kept' }
  const places = [
    { base: front.document, path: '/db/doc' },
    { base: front.multiModel, path: '/app' },
    { base: front.multiModel, path: '/shop' },
  ]
  for (const { base, path } of places) await send(base, { path, headers })
  assert.equal(backend.seen.filter((seen) => seen.header('foo-user') === 'evil').length, places.length)
  await setOption(front, 'chttpd_auth/x_auth_username', 'Foo-User')
  for (const { base, path } of places) {
    await send(base, { path, headers })
    const raw = backend.seen.at(-1)?.raw ?? []
    assert.ok(raw.includes('kept') && !raw.includes('evil'), path)
  }
})
