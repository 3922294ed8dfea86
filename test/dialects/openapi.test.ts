import assert from 'node:assert/strict'
import { test } from 'node:test'
import { OPERATIONS } from '../../src/modules.ts'
import { type ApiCall, checkApiCall } from '../support/check-api.ts'
import { AS_ADMIN, send } from '../support/request.ts'
import { startServer } from '../support/server.ts'

const PATH = '/_cardea/api/openapi.json'

test('serves an OpenAPI document that describes every operation', async (t) => {
  const { document: url } = await startServer(t)
  const { status, json } = await send(url, { path: PATH, as: AS_ADMIN })
  assert.equal(status, 200)
  assert.equal((await send(url, { path: PATH })).status, 401)
  assert.equal(json.openapi, '3.1.0')
  for (const [id, { method, path }] of Object.entries(OPERATIONS)) {
    const operation = json.paths[path]?.[method.toLowerCase()]
    assert.equal(operation?.operationId, id)
    assert.match(operation.summary, /^[A-Z].*[^.]$/, id)
    assert.ok(operation.responses['200'].content['application/json'].schema, id)
  }
})

test('refers to each named schema', async (t) => {
  const { document: url } = await startServer(t)
  const { json, body } = await send(url, { path: PATH, as: AS_ADMIN })
  const referred = [...body.matchAll(/"\$ref":"#\/components\/schemas\/(\w+)"/g)].map(([, name]) => name)
  assert.deepEqual([...new Set(referred)].sort(), Object.keys(json.components.schemas).sort())
  assert.doesNotMatch(body, /"title":"(?!Cardea admin API)/)
})

const GOOD: ApiCall = {
  method: 'GET',
  path: '/users?limit=1',
  sent: undefined,
  status: 200,
  received: { users: [] },
}
const WRONG: Readonly<Record<string, Partial<ApiCall>>> = {
  'an undocumented member': { received: { users: [], more: 1 } },
  'a missing member': { received: {} },
  'an error without a reason': { status: 400, received: { error: 'bad_request' } },
  'an undocumented operation': { path: '/nothing' },
  'an undocumented member of the body': { method: 'DELETE', path: '/users/a', sent: { why: '' } },
}

test('the check of responses accepts what the document describes', () => checkApiCall(GOOD))

for (const [name, wrong] of Object.entries(WRONG)) {
  test(`the check of responses finds ${name}`, () => {
    assert.throws(() => checkApiCall({ ...GOOD, ...wrong }), /OpenAPI document/)
  })
}
