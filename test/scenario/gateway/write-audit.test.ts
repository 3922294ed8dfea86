// `audit.writes`: who wrote what through the gateway of the document door.
import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { AS_ADMIN, basic, send } from '../../support/request.ts'
import { startServer } from '../../support/server.ts'
import { beforeDocument, openBackend } from '../../support/upstream.ts'
import { waitUntil } from '../../support/wait.ts'

const ROWS = Array.from({ length: 5000 }, (_, index) => ({ ok: true, id: `d${index}`, rev: '1-a' }))
const REPLIES: Readonly<Record<string, readonly [status: number, body: unknown, headers?: Record<string, string>]>> = {
  'PUT /shop/doc': [201, { ok: true, id: 'doc', rev: '2-b' }],
  'POST /shop': [201, { ok: true, id: 'made', rev: '1-c' }],
  'DELETE /shop/doc': [200, { ok: true, id: 'doc', rev: '3-d' }],
  'COPY /shop/doc': [201, { id: 'copy', ok: true, rev: '1-e' }],
  'PUT /shop/_design/app': [201, { ok: true, id: '_design/app', rev: '1-f' }],
  'PUT /shop/doc/file': [201, { ok: true, id: 'doc', rev: '4-g' }],
  'PUT /shop/busy': [409, { error: 'conflict' }],
  'POST /shop/_bulk_docs': [201, [...ROWS, { id: 'x', error: 'conflict' }]],
  'POST /shop/_bulk_docs?replicated': [201, []],
  'GET /shop/_design/app/_update/f/doc': [201, 'done', { 'X-Couch-Id': 'doc', 'X-Couch-Update-NewRev': '5-h' }],
}
const backend = await openBackend({ after }, (request, response) => {
  const [status, body, headers] = REPLIES[`${request.method} ${request.url}`] ?? [200, { ok: true }]
  response.writeHead(status, { 'Content-Type': 'application/json', ...headers }).end(JSON.stringify(body))
})
const server = await startServer({ after }, beforeDocument(backend.url), { audit: { writes: 'shop' } })
await server.cardea.users.create({ name: 'ada', password: 'pw' })
const written: Record<string, unknown>[] = []
server.cardea.events.on('document.written', ({ fields }) => void written.push({ ...fields }))

const ask = (line: string) => {
  const [method = '', path = ''] = line.split(' ')
  return send(server.document, {
    method,
    path,
    headers: { Authorization: basic('ada', 'pw') },
    ...(method !== 'GET' && { body: '{}' }),
  })
}

for (const [line, expected] of [
  ['PUT /shop/doc', { document: 'doc', revision: '2-b' }],
  ['POST /shop', { document: 'made', revision: '1-c' }],
  ['DELETE /shop/doc', { document: 'doc', revision: '3-d' }],
  ['COPY /shop/doc', { document: 'copy', revision: '1-e' }],
  ['PUT /shop/_design/app', { document: '_design/app', revision: '1-f' }],
  ['PUT /shop/doc/file', { document: 'doc', revision: '4-g' }],
  ['PUT /sho%70/doc', { document: 'doc' }],
  ['POST /shop/_bulk_docs', { endpoint: '_bulk_docs', count: 5000 }],
  ['POST /shop/_bulk_docs?replicated', { endpoint: '_bulk_docs' }],
  ['GET /shop/_design/app/_update/f/doc', { endpoint: '_update', document: 'doc', revision: '5-h' }],
  ['POST /shop/_compact', { endpoint: '_compact' }],
  ['HEAD /shop/_design/app%2F_update%2Ff', { document: '_design/app/_update/f' }],
  ['PUT /shop/_local/0123456789abcdef0123456789abcdef', { document: '_local/0123456789abcdef0123456789abcdef' }],
] as const)
  test(`${line} leaves a record`, async () => {
    written.length = 0
    await ask(line)
    await waitUntil(() => written.length > 0)
    const [{ actor, peer, door, handler, request, method, database, ...others } = {}] = written
    assert.deepEqual(
      [actor, peer, door, handler, method, database],
      ['ada', '127.0.0.1', 'document', 'default', line.split(' ')[0], 'shop'],
    )
    assert.equal(typeof request, 'string')
    assert.deepEqual(others, expected)
  })

test('reads, failures and other databases leave none', async () => {
  written.length = 0
  for (const line of ['GET /shop/doc', 'POST /shop/_find', 'PUT /shop/busy', 'PUT /market/doc', 'GET /shop/_changes'])
    await ask(line)
  // the table has no row for the last two
  for (const line of ['GET /shop/_purged_infos_limit', 'HEAD /shop/_new_endpoint', 'OPTIONS /shop/_new_endpoint'])
    await ask(line)
  await ask('PUT /shop/doc')
  await waitUntil(() => written.length > 0)
  assert.deepEqual(
    written.map(({ document }) => document),
    ['doc'],
  )
})

test('a database that is created or removed leaves a record', async () => {
  written.length = 0
  for (const [method, path] of [
    ['PUT', '/shop'],
    ['DELETE', '/shop/'],
  ] as const)
    await send(server.document, { method, path, as: AS_ADMIN })
  await waitUntil(() => written.length > 1)
  assert.deepEqual(
    written.map(({ method, database, document, endpoint }) => [method, database, document, endpoint]),
    [
      ['PUT', 'shop', undefined, '/'],
      ['DELETE', 'shop', undefined, '/'],
    ],
  )
})

test('a rewrite in any database leaves a record: it may lead to one of those', async () => {
  written.length = 0
  await ask('GET /market/_design/app/_rewrite/x')
  await waitUntil(() => written.length > 0)
  assert.deepEqual([written[0]?.['database'], written[0]?.['endpoint']], ['market', '_rewrite'])
})

test('a checkpoint of a read-only user leaves a record', async (t) => {
  const options = { audit: { writes: 'shop' }, document: { grants: 'enforce' } }
  const { document, cardea } = await startServer(t, beforeDocument(backend.url), options)
  await cardea.users.create({ name: 'ada', password: 'pw', grants: { shop: 'ro' } })
  const records: unknown[] = []
  cardea.events.on('document.written', ({ fields }) => void records.push(fields.document))
  const path = `/shop/_local/${'a'.repeat(32)}`
  const headers = { Authorization: basic('ada', 'pw'), 'Content-Type': 'application/json' }
  assert.equal((await send(document, { method: 'PUT', path, headers, body: '{}' })).status, 200)
  await waitUntil(() => records.length > 0)
  assert.deepEqual(records, [`_local/${'a'.repeat(32)}`])
})

test('* means every database', async (t) => {
  const all = await startServer(t, beforeDocument(backend.url), { audit: { writes: '*' } })
  await all.cardea.users.create({ name: 'ada', password: 'pw' })
  const databases: unknown[] = []
  all.cardea.events.on('document.written', ({ fields }) => void databases.push(fields.database))
  await send(all.document, {
    method: 'PUT',
    path: '/market/doc',
    headers: { Authorization: basic('ada', 'pw') },
    body: '{}',
  })
  await waitUntil(() => databases.length > 0)
  assert.deepEqual(databases, ['market'])
})
