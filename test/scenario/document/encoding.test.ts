// Content encodings: decoded wherever this door reads JSON, up to the limit for plain bodies.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { gzipSync } from 'node:zlib'
import { ADMIN } from '../../support/request.ts'
import { createSharedScope } from '../../support/scope.ts'
import { startServer } from '../../support/server.ts'

const { document: url } = await startServer(createSharedScope(), { door: { 'max-body-bytes': 100_000 } })

async function send(method: string, path: string, body: Buffer, coding: string) {
  const headers = { ...ADMIN, 'Content-Type': 'application/json', 'Content-Encoding': coding }
  const answer = await fetch(`${url}${path}`, { method, headers, body: new Uint8Array(body) })
  return [answer.status, await answer.json()] as const
}

const user = { name: 'zip', type: 'user', roles: [], password: 'pw' }
const PLACES = [
  { method: 'PUT', path: '/_users/org.couchdb.user:zip', body: user, status: 201 },
  { method: 'POST', path: '/_users', body: { ...user, name: 'zap', _id: 'org.couchdb.user:zap' }, status: 201 },
  { method: 'POST', path: '/_users/_bulk_docs', body: { docs: [] }, status: 201 },
  { method: 'POST', path: '/_users/_all_docs', body: { keys: ['x'] }, status: 200 },
  { method: 'POST', path: '/_users/_changes?filter=_doc_ids', body: { doc_ids: ['x'] }, status: 200 },
  { method: 'PUT', path: '/_users/_local/note', body: { a: 1 }, status: 201 },
  { method: 'PUT', path: '/_node/_local/_config/mine/x', body: 'y', status: 200 },
  { method: 'PUT', path: '/_node/_local/_config/admins/zoe', body: 'zoe-pw', status: 200 },
  { method: 'POST', path: '/_dbs_info', body: { keys: ['_users'] }, status: 200 },
] as const

for (const { method, path, body, status } of PLACES) {
  test(`${method} ${path}`, async () => {
    const text = JSON.stringify(body)
    const broken = await send(method, path, Buffer.from(text), 'gzip')
    assert.deepEqual(broken, [400, { error: 'bad_request', reason: 'Request body is not properly gzipped.' }])
    const foreign = await send(method, path, Buffer.from(text), 'br')
    assert.deepEqual(foreign, [415, { error: 'bad_content_type', reason: 'br is not a supported content encoding.' }])
    const bomb = await send(method, path, gzipSync(`"${' '.repeat(100_000)}"`), 'gzip')
    assert.deepEqual(bomb, [413, { error: 'too_large', reason: 'the request entity is too large' }])
    assert.equal((await send(method, path, gzipSync(text), 'GZIP'))[0], status)
    assert.notEqual((await send(method, path, Buffer.from(text), 'identity'))[0], 415)
  })
}
