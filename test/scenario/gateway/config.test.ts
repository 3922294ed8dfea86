import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { beforeDocument, openBackend, openFront } from '../../support/gateway.ts'
import { ADMIN, send } from '../../support/scenario.ts'

const HEADERS = { ...ADMIN, 'Content-Type': 'application/json' }

const backend = await openBackend({ after })
const front = await openFront({ after }, beforeDocument(backend.url))

/** The status, and whether the database behind was asked. */
async function ask(method: string, path: string): Promise<readonly [number, boolean]> {
  const before = backend.seen.length
  const body = method === 'PUT' ? { body: '"1"' } : {}
  const { status } = await send(front.document, { method, path, headers: HEADERS, ...body })
  return [status, backend.seen.length > before]
}

const NODES = ['/_node/_local/_config', '/_node/other@host/_config', '/_node/_local/%5Fconfig', '/_config']

const PROTECTED = [
  ...['query_servers', 'os_daemons', 'native_query_servers', 'external', 'httpd_global_handlers', 'daemons'],
  ...['httpd_db_handlers', 'httpd_design_handlers', 'feature_flags', 'update_notification'],
  ...['Query_Servers', 'QUERY_SERVERS', '%20query_servers', 'query_servers%20', 'query_servers%09', 'query%5Fservers'],
  ...['query-servers', 'query_servers%3B', '%EF%BD%91uery_servers', '_config/query_servers'],
]

test('CVE-2017-12636: no section that could start programs is changed behind the door, in any spelling, on any node', async () => {
  for (const node of NODES)
    for (const section of PROTECTED)
      for (const method of ['PUT', 'DELETE'])
        assert.deepEqual(await ask(method, `${node}/${section}/x`), [403, false], `${method} ${node}/${section}`)
})

test('CVE-2018-17188: no name brings lines into a file behind the door', async () => {
  const names = ['mango/x%0ay', 'mango%5D%0a%5Badmins/x', 'mango/%5Bx%5D', 'mango%0d/x', 'mango/x%7f', 'mango/x%1b/y']
  for (const node of NODES)
    for (const name of names) assert.deepEqual(await ask('PUT', `${node}/${name}`), [400, false], `${node}/${name}`)
})

test('what is Cardea’s is changed here under its own name alone', async () => {
  for (const section of ['Admins', '%20admins', 'Chttpd_Auth', 'UPSTREAM'])
    assert.deepEqual(await ask('PUT', `/_node/_local/_config/${section}/x`), [400, false], section)
})

const ROWS: readonly (readonly [
  name: string,
  method: string,
  setting: string,
  expected: readonly [number, boolean],
])[] = [
  ['reading what is protected harms nobody', 'GET', 'query_servers/x', [200, true]],
  ['a section of the database', 'PUT', 'mango/index_all_disabled', [200, true]],
  ['its sections have any names', 'PUT', 'cors%3Ahttps%3A%2F%2Fapp.example/origins', [200, true]],
  ['an option of the database in a section of Cardea’s', 'PUT', 'couchdb/max_document_size', [200, true]],
  ['the same, read', 'GET', 'couchdb/max_document_size', [200, true]],
  ['the same, deleted', 'DELETE', 'couchdb/max_document_size', [200, true]],
  ['an option of Cardea’s', 'PUT', 'chttpd_auth/timeout', [200, false]],
  ['an option under its earlier name', 'PUT', 'couch_httpd_auth/timeout', [200, false]],
  ['an option nobody knows in a section of Cardea’s', 'PUT', 'chttpd/require_valid_usr', [400, false]],
  ['the place of a file', 'PUT', 'log/file', [403, false]],
  ['the place of a folder with programs', 'PUT', 'couchdb/plugin_dir', [403, false]],
  ['what concerns certificates', 'PUT', 'ssl/verify_fun', [403, false]],
]

for (const [name, method, setting, expected] of ROWS)
  test(`${method} of ${setting}: ${name}`, async () => {
    assert.deepEqual(await ask(method, `/_node/_local/_config/${setting}`), expected)
  })

test('without a database behind an option it would use is kept, and has no effect', async (t) => {
  const alone = await openFront(t)
  const path = '/_node/_local/_config/couchdb/max_document_size'
  assert.equal((await send(alone.document, { method: 'PUT', path, headers: HEADERS, body: '"1"' })).status, 200)
  assert.equal((await send(alone.document, { path, headers: ADMIN })).body.trim(), '"1"')
})

test('what stands below /_session is nobody’s', async () => {
  for (const path of ['/_session/x', '/%5Fsession/x']) assert.deepEqual(await ask('GET', path), [404, false], path)
})
