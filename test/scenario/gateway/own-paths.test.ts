// Cardea's own paths are never forwarded, in any encoding. Paths that only resemble them are.
import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { ADMIN, send } from '../../support/request.ts'
import { startServer } from '../../support/server.ts'
import { beforeDocument, beforeMultiModel, openBackend } from '../../support/upstream.ts'

const backend = await openBackend({ after })
const front = await startServer({ after }, beforeDocument(backend.url), beforeMultiModel({ after }, backend.url))
const alone = await startServer({ after })

const ROWS: readonly (readonly [
  door: 'document' | 'multiModel',
  path: string,
  status: number,
  isForwarded: boolean,
])[] = [
  ['document', '/%5Fgate', 400, false],
  ['document', '/_g%61te', 400, false],
  ['document', '/%5Fcardea/api/health', 400, false],
  ['document', '/%2ewell-known/jwks.json', 400, false],
  ['document', '/.well-known/jwks%2Ejson', 400, false],
  ['document', '/_gate%2F', 400, false],
  ['document', '/_cardea%2fapi/health', 400, false],
  ['document', '/.well-known%2fjwks.json', 400, false],
  ['document', '/_users%2Fx', 400, false],
  ['document', '/_session%2Fx', 400, false],
  ['document', '/_session/x', 404, false],
  ['document', '/_open/x', 200, true],
  ['document', '/db%2Fname/_doc%2Fid', 200, true],
  ['document', '/%2f_users', 400, false],
  ['document', '/db%2f..%2f_users', 400, false],
  ['document', '/a%5c..%5c_users', 400, false],
  ['document', '/db/a%2F..%2F..%2F_users', 400, false],
  ['document', '/_gate/', 204, false],
  ['document', '/.well-known/jwks.json', 200, false],
  ['document', '/.well-known/acme-challenge/x', 200, true],
  ['document', '/.well-known', 200, true],
  ['document', '/.well-known/jwks.jsonp', 200, true],
  ['multiModel', '/%5Fgate', 400, false],
  ['multiModel', '/%5Fcardea/api/health', 400, false],
  ['multiModel', '/%2ewell-known/jwks.json', 400, false],
  ['multiModel', '/_gate/', 204, false],
  ['multiModel', '/.well-known/jwks.json', 200, false],
  ['multiModel', '/.well-known/acme-challenge/x', 200, true],
  ['multiModel', '/_cardea%2fapi/health', 400, false],
  ['multiModel', '/_session/x', 200, true],
  ['multiModel', '/_open/cerberus', 404, false],
  ['multiModel', '/_open', 404, false],
  ['multiModel', '/_db/_system/_open/cerberus', 404, false],
  ['multiModel', '/_db/_system/.well-known/jwks.json', 200, true],
]

for (const [door, path, status, isForwarded] of ROWS)
  test(`${door} ${path}: ${isForwarded ? 'forwarded' : status}`, async () => {
    const before = backend.seen.length
    const answer = await send(front[door], { path, headers: ADMIN })
    assert.deepEqual([answer.status, backend.seen.length > before], [status, isForwarded])
    if (isForwarded) assert.equal(backend.seen.at(-1)?.url, path)
  })

test('without an upstream, paths beside the key set are 404 in the dialect of the door', async () => {
  const path = '/.well-known/acme-challenge/x'
  const document = await send(alone.document, { path, headers: ADMIN })
  assert.deepEqual([document.status, JSON.parse(document.body).error], [404, 'not_found'])
  const multiModel = await send(alone.multiModel, { path, headers: ADMIN })
  assert.deepEqual([multiModel.status, JSON.parse(multiModel.body).errorNum], [404, 404])
})
