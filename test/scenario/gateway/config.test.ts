import assert from 'node:assert/strict'
import type { ServerResponse } from 'node:http'
import { after, test } from 'node:test'
import { gzipSync } from 'node:zlib'
import { ADMIN, send } from '../../support/request.ts'
import { startServer } from '../../support/server.ts'
import { beforeDocument, openBackend } from '../../support/upstream.ts'

const HEADERS = { ...ADMIN, 'Content-Type': 'application/json' }

const backend = await openBackend({ after })
const front = await startServer({ after }, beforeDocument(backend.url))

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

test('CVE-2017-12636: no section that can start programs is changed at the upstream, in any spelling, on any node', async () => {
  for (const node of NODES)
    for (const section of PROTECTED)
      for (const method of ['PUT', 'DELETE'])
        assert.deepEqual(await ask(method, `${node}/${section}/x`), [403, false], `${method} ${node}/${section}`)
})

test('CVE-2018-17188: no name adds lines to a file of the upstream', async () => {
  const names = ['mango/x%0ay', 'mango%5D%0a%5Badmins/x', 'mango/%5Bx%5D', 'mango%0d/x', 'mango/x%7f', 'mango/x%1b/y']
  for (const node of NODES)
    for (const name of names) assert.deepEqual(await ask('PUT', `${node}/${name}`), [400, false], `${node}/${name}`)
})

test('options of Cardea are changed under their own names only, on any node', async () => {
  for (const node of NODES)
    for (const section of ['Admins', '%20admins', 'admins%3B', 'Chttpd_Auth', 'UPSTREAM', 'couchdb%3B', 'ssl%20'])
      assert.deepEqual(await ask('PUT', `${node}/${section}/x`), [400, false], `${node}/${section}`)
})

const LOCATIONS = [
  ...['couchdb/util_driver_dir', 'couchdb/database_dir', 'couchdb/plugin_dir', 'couchdb/uri_file', 'log/file'],
  ...['ssl/cert_file', 'ssl/verify_fun', 'replicator/key_file', 'replicator/ssl_trusted_certificates_file'],
  ...['smoosh/state_dir', 'mine/Log_File', 'mine/some-path', 'httpd/default_handler'],
]

test('no path of files, programs or certificates is changed at the upstream, on any node', async () => {
  for (const node of NODES)
    for (const setting of LOCATIONS)
      for (const method of ['PUT', 'DELETE'])
        assert.deepEqual(await ask(method, `${node}/${setting}`), [403, false], `${method} ${node}/${setting}`)
})

test('administrators are managed by Cardea, on any node', async () => {
  for (const node of ['/_node/other@host/_config', '/_config'])
    for (const method of ['PUT', 'DELETE'])
      assert.deepEqual(await ask(method, `${node}/admins/evil`), [403, false], `${method} ${node}`)
})

test('a name that a file would read differently is rejected', async () => {
  const names = ['mango/util_driver_dir%3Dx', 'mango%3B/x', 'mango/x%20y', 'mango/%23x', 'm%C3%A4ngo/x', 'mango/x%22']
  for (const node of NODES)
    for (const name of names) assert.deepEqual(await ask('PUT', `${node}/${name}`), [400, false], `${node}/${name}`)
})

test('an encoded slash does not hide a configuration path', async () => {
  // reading too: the secrets in the response would not be masked
  for (const path of ['/_config%2Flog/x', '/_node%2Fother@host/_config/mango/x', '/_node/other@host%2F_config/mango/x'])
    for (const method of ['GET', 'PUT']) assert.deepEqual(await ask(method, path), [400, false], `${method} ${path}`)
})

test('a value set under an older section name is shown under that name', async () => {
  const path = '/_node/_local/_config/couch_httpd_auth'
  assert.deepEqual(await ask('PUT', `${path}/public_fields`), [200, false])
  const { body } = await send(front.document, { path, headers: ADMIN })
  assert.equal(JSON.parse(body).public_fields, '1')
  assert.deepEqual(await ask('PUT', `${path}/public_field`), [400, false])
  assert.deepEqual(await ask('PUT', '/_node/_local/_config/httpd/allow_jsonp'), [200, true])
})

const REMOTE = NODES.filter((name) => !name.includes('_local'))

const SHARED = [
  ...['jwt_keys/hmac%3A_default', 'jwt_auth/required_claims', 'chttpd_auth/secret', 'couch_httpd_auth/secret'],
  ...['chttpd_auth/proxy_use_secret', 'chttpd_auth/x_auth_username', 'chttpd/authentication_handlers'],
  ...['chttpd/bind_address', 'chttpd/port', 'httpd/bind_address', 'prometheus/bind_address', 'ssl/password'],
  ...['replicator/password', 'chttpd_auth/Secret', 'chttpd/BIND_ADDRESS', 'smtp/api_key'],
]

test('options shared with the database, and its listeners, are changed on no node', async () => {
  for (const node of REMOTE)
    for (const setting of SHARED)
      for (const method of ['PUT', 'DELETE'])
        assert.deepEqual(await ask(method, `${node}/${setting}`), [403, false], `${method} ${node}/${setting}`)
  for (const setting of ['httpd/port', 'httpd/authentication_handlers', 'replicator/password', 'ssl/password'])
    assert.deepEqual(await ask('PUT', `/_node/_local/_config/${setting}`), [403, false], setting)
})

/** Options that lead requests past what Cardea authorised, open listeners or load modules; and sections no list knows. */
const UNLISTED = [
  ...['vhosts/evil.example', 'chttpd/server_options', 'httpd/socket_options', 'chttpd/secure_rewrites'],
  ...['httpd/secure_rewrites', 'httpd/vhost_global_handlers', 'httpd/redirect_vhost_handler', 'chttpd/backlog'],
  ...['chttpd/config_whitelist', 'chttpd/decode_plus_to_space', 'replicator/socket_options'],
  ...['replicator/auth_plugins', 'prometheus/additional_port', 'couchdb_engines/couch', 'indexers/couch_mrview'],
  ...['couchdb/users_db_suffix', 'couchdb/default_engine', 'log/writer', 'log/syslog_host', 'mem3/nodes_db'],
  ...['dreyfus/name', 'Mango/index_all_disabled', 'of_a_later_version/option'],
]

test('an option of the database that is not listed as open is changed on no node', async () => {
  for (const node of NODES)
    for (const setting of UNLISTED)
      for (const method of ['PUT', 'DELETE'])
        assert.deepEqual(await ask(method, `${node}/${setting}`), [403, false], `${method} ${node}/${setting}`)
})

const LISTED = [
  ...['compactions/_default', 'smoosh.ratio_dbs/min_priority', 'couchdb/max_document_size', 'couchdb/max_dbs_open'],
  ...['couchdb/os_process_timeout', 'replicator/max_jobs', 'query_server_config/reduce_limit', 'ioq.bypass/read'],
  ...['uuids/algorithm', 'mango/index_all_disabled', 'chttpd/changes_timeout', 'cluster/q', 'csp/utils_enable'],
  ...['purge/max_document_id_number', 'couch_scanner_plugins/couch_scanner_plugin_find', 'log/report_level'],
]

test('the options that administrators change over HTTP are forwarded, on every node', async () => {
  for (const node of NODES)
    for (const setting of LISTED)
      for (const method of ['PUT', 'DELETE'])
        assert.deepEqual(await ask(method, `${node}/${setting}`), [200, true], `${method} ${node}/${setting}`)
})

test('without an upstream, a section that can start programs is protected in every spelling', async (t) => {
  const alone = await startServer(t)
  for (const section of ['query_servers', 'Query_Servers', 'query_servers%20', 'OS_DAEMONS']) {
    const path = `/_node/_local/_config/${section}/x`
    for (const method of ['PUT', 'DELETE'])
      assert.equal((await send(alone.document, { method, path, headers: HEADERS, body: '"1"' })).status, 403, section)
  }
})

test('POST /_cluster_setup is rejected: it would change the same options', async () => {
  for (const path of ['/_cluster_setup', '/%5Fcluster_setup', '/_cluster_setup/', '/_node/other@host/_cluster_setup'])
    for (const method of ['POST', 'PUT', 'DELETE']) assert.deepEqual(await ask(method, path), [403, false], path)
  assert.deepEqual(await ask('GET', '/_cluster_setup'), [200, true])
})

const CONFIGURATION = {
  admins: { root: '-pbkdf2-hash-of-root,salt,10' },
  jwt_keys: { 'hmac:_default': 'c2hhcmVkLWtleQ==', 'rsa:a': 'public-key-text' },
  chttpd_auth: { secret: 'shared-secret-text', timeout: '600', proxy_use_secret: 'true', password_regexp: '[]' },
  couch_httpd_auth: { secret: 'older-secret-text' },
  replicator: { password: 'password-text', max_jobs: '500' },
  nouveau: { url: 'http://user:inside-url@127.0.0.1:5987' },
  ssl: { password: 'key-password-text', port: '6984' },
  oauth_consumer_secrets: { app: 'oauth-text' },
}
const SECRETS = [
  ...['hash-of-root', 'c2hhcmVkLWtleQ', 'public-key-text', 'shared-secret-text', 'older-secret-text'],
  ...['password-text', 'inside-url', 'key-password-text', 'oauth-text'],
]

/** A database that answers with a configuration as CouchDB does, compressed where it is asked to be. */
const openDatabase = (scope: { after(work: () => unknown): void }) =>
  openBackend(scope, (request, response) => {
    const [, names = ''] = /_config\/?(.*)$/.exec(decodeURIComponent(request.url ?? '')) ?? []
    const value = names
      .split('/')
      .filter((name) => name !== '')
      .reduce<unknown>((inner, name) => Reflect.get(Object(inner), name), CONFIGURATION)
    const body = Buffer.from(`${JSON.stringify(value ?? { error: 'not_found' })}\n`)
    const isCompressed = request.headers['accept-encoding'] !== undefined
    response
      .writeHead(value === undefined ? 404 : 200, {
        'Content-Type': 'application/json',
        ...(isCompressed && { 'Content-Encoding': 'gzip' }),
      })
      .end(isCompressed ? gzipSync(body) : body)
  })

test('no secret of the database is shown, on any node, as a whole, by section or by key', async (t) => {
  const database = await openDatabase(t)
  const { document } = await startServer(t, beforeDocument(database.url))
  const keys = Object.entries(CONFIGURATION).flatMap(([section, values]) =>
    Object.keys(values).map((key) => `/${section}/${encodeURIComponent(key)}`),
  )
  const paths = ['', '/', ...Object.keys(CONFIGURATION).map((section) => `/${section}`), ...keys]
  const headers = { ...ADMIN, 'Accept-Encoding': 'gzip', Range: 'bytes=0-9' }
  for (const node of ['/_node/other@host/_config', '/_node/other@host/%5Fconfig', '/_config'])
    for (const path of paths) {
      const { status, body } = await send(document, { path: `${node}${path}`, headers })
      assert.equal(status, 200, path)
      for (const secret of SECRETS) assert.ok(!body.includes(secret), `${node}${path}: ${body}`)
      JSON.parse(body)
    }
  const whole = JSON.parse((await send(document, { path: '/_node/other@host/_config', headers })).body)
  assert.deepEqual(whole.chttpd_auth, {
    secret: '***',
    timeout: '600',
    proxy_use_secret: 'true',
    password_regexp: '[]',
  })
  assert.deepEqual(whole.admins, { root: '***' })
  assert.deepEqual(whole.replicator, { password: '***', max_jobs: '500' })
  const missing = await send(document, { path: '/_node/other@host/_config/none', headers })
  assert.deepEqual([missing.status, missing.body], [404, '{"error":"not_found"}\n'])
  const replicator = await send(document, { path: '/_node/_local/_config/replicator/password', headers })
  assert.equal(replicator.body, '"***"\n')
})

const UNREADABLE: readonly (readonly [name: string, answer: (response: ServerResponse) => void])[] = [
  ['is not JSON', (response) => response.end('secret: shared-secret-text')],
  ['is compressed unasked', (response) => response.setHeader('Content-Encoding', 'gzip').end(gzipSync('{}'))],
  ['is too large', (response) => response.end(JSON.stringify({ a: { b: 'x'.repeat(2 << 20) } }))],
  ['is nested too deeply', (response) => response.end(`${'['.repeat(50_000)}${']'.repeat(50_000)}`)],
  [
    'breaks off',
    (response) => {
      response.writeHead(200, { 'Content-Length': '99' }).write('{"chttpd_auth":{"secret":"shared-secret-text"')
      setImmediate(() => response.destroy())
    },
  ],
]

for (const [name, answer] of UNREADABLE)
  test(`a configuration that ${name} is 502, and nothing of it is shown`, async (t) => {
    const database = await openBackend(t, (_request, response) => answer(response))
    const { document } = await startServer(t, beforeDocument(database.url))
    const { status, body } = await send(document, { path: '/_node/other@host/_config', headers: ADMIN })
    assert.equal(status, 502)
    assert.ok(!body.includes('shared-secret-text'))
  })

test('other requests for a node are forwarded', async () => {
  for (const node of REMOTE)
    for (const setting of ['couchdb/max_document_size', 'chttpd_auth/timeout', 'chttpd_auth/password_scheme'])
      assert.deepEqual(await ask('PUT', `${node}/${setting}`), [200, true], `${node}/${setting}`)
})

const ROWS: readonly (readonly [
  name: string,
  method: string,
  setting: string,
  expected: readonly [number, boolean],
])[] = [
  ['a protected option may be read', 'GET', 'query_servers/x', [200, true]],
  ['a section of the database', 'PUT', 'mango/index_all_disabled', [200, true]],
  ['its sections have any names', 'PUT', 'cors%3Ahttps%3A%2F%2Fapp.example/origins', [200, true]],
  ['an option of the database in a section of Cardea’s', 'PUT', 'couchdb/max_document_size', [200, true]],
  ['the same, read', 'GET', 'couchdb/max_document_size', [200, true]],
  ['the same, deleted', 'DELETE', 'couchdb/max_document_size', [200, true]],
  ['an option of Cardea’s', 'PUT', 'chttpd_auth/timeout', [200, false]],
  ['an option under its earlier name', 'PUT', 'couch_httpd_auth/timeout', [200, false]],
  ['an unknown option in a section of Cardea', 'PUT', 'chttpd/require_valid_usr', [400, false]],
  ['a misspelt section of Cardea’s', 'PUT', 'chtpd/require_valid_user', [400, false]],
  ['the same, read', 'GET', 'chtpd/require_valid_user', [200, true]],
  ['the same, deleted', 'DELETE', 'chtpd/require_valid_user', [403, false]],
  ['the place of a file', 'PUT', 'log/file', [403, false]],
  ['the place of a folder with programs', 'PUT', 'couchdb/plugin_dir', [403, false]],
  ['what concerns certificates', 'PUT', 'ssl/verify_fun', [403, false]],
]

for (const [name, method, setting, expected] of ROWS)
  test(`${method} of ${setting}: ${name}`, async () => {
    assert.deepEqual(await ask(method, `/_node/_local/_config/${setting}`), expected)
  })

test('without an upstream, an option of the database is stored and has no effect', async (t) => {
  const alone = await startServer(t)
  const path = '/_node/_local/_config/couchdb/max_document_size'
  assert.equal((await send(alone.document, { method: 'PUT', path, headers: HEADERS, body: '"1"' })).status, 200)
  assert.equal((await send(alone.document, { path, headers: ADMIN })).body.trim(), '"1"')
})

test('paths below /_session are 404', async () => {
  for (const path of ['/_session/x', '/%5Fsession/x']) assert.deepEqual(await ask('GET', path), [404, false], path)
})

test('the whole configuration, and a section of Cardea, show options of CouchDB that Cardea does not use', async (t) => {
  const theirs: Readonly<Record<string, Record<string, string>>> = {
    couchdb: { max_document_size: '50000000', uuid: 'of CouchDB', database_dir: './data' },
    chttpd: { port: '15984', buffer_response: 'true', require_valid_user: 'false' },
    chttpd_auth: { secret: 'CANARY-secret', timeout: '1' },
    admins: { root: 'CANARY-hash' },
    jwt_keys: { 'hmac:_default': 'CANARY-key' },
    replicator: { password: 'CANARY-password', max_jobs: '500' },
  }
  const couch = await openBackend(t, (request, response) => {
    const [, section] = /_config\/(\w+)$/.exec(request.url ?? '') ?? []
    const body = section === undefined ? theirs : theirs[section]
    response.writeHead(200, { 'Content-Type': 'application/json' }).end(JSON.stringify(body))
  })
  const { document } = await startServer(t, beforeDocument(couch.url), { chttpd: { require_valid_user: true } })
  const load = async (path: string) => (await send(document, { path, headers: ADMIN })).json
  const all = await load('/_node/_local/_config')
  assert.equal(all.couchdb.max_document_size, '50000000')
  assert.equal(all.chttpd.buffer_response, 'true')
  assert.equal(all.chttpd.require_valid_user, 'true', "Cardea's own value counts")
  assert.equal(all.replicator.max_jobs, '500')
  assert.doesNotMatch(JSON.stringify(all), /CANARY|15984|of CouchDB/)
  assert.equal(all.admins.root, undefined)
  assert.equal((await load('/_node/_local/_config/couchdb')).max_document_size, '50000000')
  await couch.close()
  const alone = await load('/_node/_local/_config')
  assert.deepEqual([alone.chttpd.require_valid_user, alone.replicator], ['true', undefined])
})
