import assert from 'node:assert/strict'
import { mkdtempSync, readFileSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { ADMIN, basic, type Reply, type Request, send } from '../../support/request.ts'
import type { Scope } from '../../support/scope.ts'
import { type AnyOptions, startServerWithFiles } from '../../support/server.ts'

/** Starts a server for one test, with requests to its configuration as an administrator. */
async function open(scope: Scope, options: AnyOptions = {}, files: readonly string[] = []) {
  const { cardea, document: url } = await startServerWithFiles(scope, files, options)
  const ask = (sent: Request): Promise<Reply> => send(url, sent)
  const config = (method: string, path: string, value?: unknown, headers: Record<string, string> = {}) =>
    ask({
      method,
      path: `/_node/_local/_config${path}`,
      headers: { ...ADMIN, ...headers },
      ...(value === undefined ? {} : { body: JSON.stringify(value) }),
    })
  return { ask, config, close: () => cardea.close() }
}

const json = ({ body }: Reply) => JSON.parse(body)
const refusal = (answer: Reply) => [answer.status, json(answer).error, json(answer).reason]

test('GET admins maps each name to the stored hash of the password', async (t) => {
  const { config } = await open(t)
  assert.match(json(await config('GET', '/admins')).admin, /^-pbkdf2-[0-9a-f]{64},[0-9a-f]{32},1$/)
})

test('PUT admins hashes the password and returns the hash, and the password works at once', async (t) => {
  const { ask, config } = await open(t)
  const answer = await config('PUT', '/admins/carol', 'christmas')
  assert.equal(answer.status, 200)
  assert.match(json(answer), /^-pbkdf2-[0-9a-f]{64},[0-9a-f]{32},1$/)
  assert.equal((await ask({ path: '/_session', headers: { Authorization: basic('carol', 'christmas') } })).status, 200)
})

test('PUT admins with raw=true stores a hashed string as given', async (t) => {
  const { ask, config } = await open(t)
  const stored = '-hashed-d4b5d8403f6c1d1c7975fb19cbbacf260cebecdf,1112283cf988a34f124200a050d308a1'
  assert.equal(json(await config('PUT', '/admins/old?raw=true', stored)), stored)
  assert.equal((await ask({ path: '/_session', headers: { Authorization: basic('old', 'apple') } })).status, 200)
})

test('raw=true rejects a string that is not a hash; without raw the same string is a password', async (t) => {
  const { ask, config } = await open(t)
  const stored = '-hashed-d4b5d8403f6c1d1c7975fb19cbbacf260cebecdf,1112283cf988a34f124200a050d308a1'
  assert.equal((await config('PUT', '/admins/x?raw=true', 'not stored')).status, 400)
  assert.equal((await config('PUT', '/admins/x?raw=maybe', 'x')).status, 400)
  for (const query of ['raw=true&raw=false', 'raw=false&raw=true', 'grace=0&grace=1'])
    assert.equal((await config('PUT', `/admins/x?${query}`, 'x')).status, 400, query)
  assert.notEqual(json(await config('PUT', '/admins/x', stored)), stored)
  assert.equal((await ask({ path: '/_session', headers: { Authorization: basic('x', stored) } })).status, 200)
})

test('DELETE admins returns the removed value, and the administrator is gone at once', async (t) => {
  const { ask, config } = await open(t)
  const stored = json(await config('PUT', '/admins/carol', 'christmas'))
  assert.equal(json(await config('DELETE', '/admins/carol')), stored)
  assert.equal((await ask({ path: '/_session', headers: { Authorization: basic('carol', 'christmas') } })).status, 401)
  assert.deepEqual(refusal(await config('DELETE', '/admins/carol')), [404, 'not_found', 'unknown_config_value'])
})

test('the last administrator cannot be deleted', async (t) => {
  const { config } = await open(t)
  assert.equal((await config('DELETE', '/admins/admin')).status, 403)
  assert.equal((await config('GET', '/admins')).status, 200)
})

test('a deleted administrator stays deleted after a restart, even if a file still lists it', async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'cardea-'))
  const file = join(folder, 'local.ini')
  const options = { store: { url: `sqlite:${join(folder, 'cardea.db')}` } }
  writeFileSync(file, '[admins]\ncarol = christmas ; a comment\n', { mode: 0o600 })
  const first = await open(t, options, [file])
  assert.match(readFileSync(file, 'utf8'), /^\[admins\]\ncarol = -pbkdf2-\S+ ; a comment\n$/)
  assert.equal((await first.config('DELETE', '/admins/carol')).status, 200)
  await first.close()
  const second = await open(t, options, [file])
  assert.deepEqual(Object.keys(json(await second.config('GET', '/admins'))), ['admin'])
})

test('a change takes effect at once, returns the previous value, and survives a restart', async (t) => {
  const url = `sqlite:${join(mkdtempSync(join(tmpdir(), 'cardea-')), 'cardea.db')}`
  const first = await open(t, { store: { url } })
  assert.equal(json(await first.config('PUT', '/chttpd/require_valid_user', 'true')), '')
  assert.equal((await first.ask({ path: '/' })).status, 401)
  assert.equal(json(await first.config('PUT', '/chttpd/require_valid_user', 'false')), 'true')
  assert.equal((await first.ask({ path: '/' })).status, 200)
  await first.config('PUT', '/chttpd/require_valid_user', 'true')
  await first.close()
  const second = await open(t, { store: { url } })
  assert.equal((await second.ask({ path: '/' })).status, 401)
  assert.equal(json(await second.config('DELETE', '/chttpd/require_valid_user')), 'true')
  assert.equal((await second.ask({ path: '/' })).status, 200)
})

test('a change with X-Couch-Persist: false lasts until the configuration is reloaded', async (t) => {
  const { ask, config } = await open(t)
  await config('PUT', '/couchdb/maintenance_mode', 'true', { 'X-Couch-Persist': 'false' })
  assert.equal((await ask({ path: '/_up' })).status, 404)
  assert.deepEqual(json(await config('POST', '/_reload')), { ok: true })
  assert.equal((await ask({ path: '/_up' })).status, 200)
})

test('a DELETE with X-Couch-Persist: false hides the stored value until the configuration is reloaded', async (t) => {
  const { ask, config } = await open(t)
  const passing = { 'X-Couch-Persist': 'false' }
  await config('PUT', '/couchdb/maintenance_mode', 'true')
  assert.equal(json(await config('DELETE', '/couchdb/maintenance_mode', undefined, passing)), 'true')
  assert.equal((await ask({ path: '/_up' })).status, 200)
  assert.equal((await config('GET', '/couchdb/maintenance_mode')).status, 404)
  assert.equal((await config('DELETE', '/couchdb/maintenance_mode', undefined, passing)).status, 404)
  await config('POST', '/_reload')
  assert.equal((await ask({ path: '/_up' })).status, 404)
  await config('DELETE', '/couchdb/maintenance_mode', undefined, passing)
  await config('PUT', '/couchdb/maintenance_mode', 'nolb')
  assert.equal(json(await config('GET', '/couchdb/maintenance_mode')), 'nolb')
})

test('X-Couch-Persist: false is rejected for administrators', async (t) => {
  const { config } = await open(t)
  const passing = { 'X-Couch-Persist': 'false' }
  await config('PUT', '/admins/carol', 'christmas')
  for (const answer of [
    await config('PUT', '/admins/dave', 'david', passing),
    await config('DELETE', '/admins/carol', undefined, passing),
  ]) {
    assert.equal(answer.status, 400)
    assert.match(json(answer).reason, /X-Couch-Persist: false is not supported for them/)
  }
  assert.deepEqual(Object.keys(json(await config('GET', '/admins'))), ['admin', 'carol'])
})

test('secrets are masked everywhere, and the mask is rejected as a secret', async (t) => {
  const { config } = await open(t)
  await config('PUT', '/jwt_keys/hmac:_default', 'c2VjcmV0LXRoYXQtbm9ib2R5LXNob3VsZC1zZWU=')
  assert.equal(json(await config('GET', '/chttpd_auth/secret')), '***')
  const all = await config('GET', '')
  assert.doesNotMatch(all.body, /cardea-test|c2VjcmV0|adminpw/)
  assert.equal((await config('PUT', '/jwt_keys/hmac:_default', '***')).status, 400)
})

test('a change of a secret returns *** as the previous value, from any source', async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'cardea-secrets-'))
  writeFileSync(join(folder, 'cookie'), 'a-secret-in-a-file-of-its-own')
  writeFileSync(join(folder, 'local.ini'), '[chttpd_auth]\nsecret = @file:cookie\n', { mode: 0o600 })
  const { config } = await open(t, { chttpd_auth: { secret: undefined } }, [join(folder, 'local.ini')])
  const rows: readonly (readonly [path: string, first: string, second: string])[] = [
    ['/chttpd_auth/secret', 'the-first-secret-of-cookies', 'the-second-secret-of-cookies'],
    ['/couch_httpd_auth/secret', 'the-first-older-secret', 'the-second-older-secret'],
    ['/jwt_keys/hmac:a', 'Zmlyc3Qta2V5LW9mLXRva2Vucy1mb3ItdGVzdHM=', 'c2Vjb25kLWtleS1vZi10b2tlbnMtZm9yLXRlc3Rz'],
    ['/mine/password', 'first', 'second'],
  ]
  assert.equal(json(await config('GET', '/chttpd_auth/secret')), '***')
  for (const [path, first, second] of rows) {
    const before = json(await config('PUT', path, first))
    assert.ok(before === '***' || before === '', `${path}: ${before}`)
    assert.equal(json(await config('PUT', path, second)), '***', path)
    assert.equal(json(await config('DELETE', path)), '***', path)
  }
})

test('an option that is set by a flag cannot be changed, and the error says why', async (t) => {
  const { config } = await open(t, { chttpd: { enable_cors: false } })
  const answer = await config('PUT', '/chttpd/enable_cors', 'true')
  assert.equal(answer.status, 400)
  assert.match(json(answer).reason, /options\.chttpd\.enable_cors/)
})

interface Row {
  readonly name: string
  readonly method: string
  readonly path: string
  readonly body?: string
  readonly expect: [status: number, error: string, reason: string | RegExp]
}

const ROWS: Row[] = [
  {
    name: 'an unknown option: the error suggests the nearest name',
    method: 'PUT',
    path: '/_node/_local/_config/chttpd_auth/timout',
    body: '"5"',
    expect: [400, 'bad_request', /did you mean timeout\?/],
  },
  {
    name: 'a misspelt section: the error suggests the nearest name',
    method: 'PUT',
    path: '/_node/_local/_config/chtpd/require_valid_user',
    body: '"true"',
    expect: [400, 'bad_request', /^unknown section \[chtpd\]; did you mean \[chttpd\]\?$/],
  },
  {
    name: 'a misspelt section of administrators: no password is stored',
    method: 'PUT',
    path: '/_node/_local/_config/Admins/bob',
    body: '"pw"',
    expect: [400, 'bad_request', /did you mean \[admins\]\?/],
  },
  {
    name: 'an invalid value: the error says what is expected',
    method: 'PUT',
    path: '/_node/_local/_config/chttpd_auth/timeout',
    body: '"soon"',
    expect: [400, 'bad_request', /expected .*got "soon"/],
  },
  {
    name: 'an option that names a folder',
    method: 'PUT',
    path: '/_node/_local/_config/server/jwt-secret-keyfile',
    body: '"/etc/passwd"',
    expect: [403, 'forbidden', /cannot be changed at run time, because /],
  },
  {
    name: 'the URL of the store',
    method: 'PUT',
    path: '/_node/_local/_config/store/url',
    body: '"sqlite:/tmp/x"',
    expect: [403, 'forbidden', /cannot be changed at run time, because /],
  },
  {
    name: 'certificates',
    method: 'PUT',
    path: '/_node/_local/_config/ssl/keyfile',
    body: '"/tmp/x"',
    expect: [403, 'forbidden', /cannot be changed at run time, because /],
  },
  {
    name: 'the upstream of a door',
    method: 'PUT',
    path: '/_node/_local/_config/upstream/document',
    body: '"http://10.0.0.1"',
    expect: [403, 'forbidden', /cannot be changed at run time, because /],
  },
  {
    name: 'services',
    method: 'PUT',
    path: '/_node/_local/_config/services/app',
    body: '"/x http://127.0.0.1:1"',
    expect: [403, 'forbidden', /cannot be changed at run time, because /],
  },
  {
    name: 'the file of a secret',
    method: 'PUT',
    path: '/_node/_local/_config/jwt_keys/hmac:x',
    body: '"@file:/etc/passwd"',
    expect: [400, 'bad_request', /file/],
  },
  {
    name: 'a protected section',
    method: 'PUT',
    path: '/_node/_local/_config/os_daemons/x',
    body: '"y"',
    expect: [403, 'forbidden', 'Config section blacklisted for modification over HTTP API.'],
  },
  {
    name: 'DELETE in a protected section',
    method: 'DELETE',
    path: '/_node/_local/_config/query_servers/x',
    expect: [403, 'forbidden', /blacklisted/],
  },
  {
    name: 'a line feed in a value',
    method: 'PUT',
    path: '/_node/_local/_config/mine/x',
    body: '"a\\n[admins]\\nb = c"',
    expect: [400, 'bad_request', 'Invalid configuration value'],
  },
  {
    name: 'a bracket in a section',
    method: 'PUT',
    path: '/_node/_local/_config/%5Badmins%5D/x',
    body: '"a"',
    expect: [400, 'bad_request', 'Invalid configuration section'],
  },
  {
    name: 'a control character in a key',
    method: 'PUT',
    path: '/_node/_local/_config/mine/%01',
    body: '"a"',
    expect: [400, 'bad_request', 'Invalid configuration key'],
  },
  {
    name: 'a number',
    method: 'PUT',
    path: '/_node/_local/_config/mine/x',
    body: '5',
    expect: [400, 'bad_request', 'a JSON string expected'],
  },
  {
    name: 'broken JSON',
    method: 'PUT',
    path: '/_node/_local/_config/mine/x',
    body: '"open',
    expect: [400, 'bad_request', 'invalid UTF-8 JSON'],
  },
  {
    name: 'no body',
    method: 'PUT',
    path: '/_node/_local/_config/mine/x',
    expect: [400, 'bad_request', /Missing request body|invalid UTF-8 JSON/],
  },
  {
    name: 'an empty password',
    method: 'PUT',
    path: '/_node/_local/_config/admins/new',
    body: '""',
    expect: [400, 'bad_request', /must not be empty/],
  },
  {
    name: 'a duration that is too long for a timer',
    method: 'PUT',
    path: '/_node/_local/_config/door/body-timeout',
    body: '"3000000"',
    expect: [400, 'bad_request', /at most 2147483/],
  },
  {
    name: 'an invalid name',
    method: 'PUT',
    path: '/_node/_local/_config/admins/_x',
    body: '"pw"',
    expect: [400, 'bad_request', /./],
  },
  {
    name: 'an unknown key',
    method: 'GET',
    path: '/_node/_local/_config/chttpd/nothing',
    expect: [404, 'not_found', 'unknown_config_value'],
  },
  {
    name: 'a property of Object.prototype as a key',
    method: 'GET',
    path: '/_node/_local/_config/admins/constructor',
    expect: [404, 'not_found', 'unknown_config_value'],
  },
  {
    name: 'an unknown key to delete',
    method: 'DELETE',
    path: '/_node/_local/_config/mine/nothing',
    expect: [404, 'not_found', 'unknown_config_value'],
  },
  {
    name: 'an unknown node',
    method: 'GET',
    path: '/_node/nowhere@127.0.0.1/_config',
    expect: [404, 'not_found', 'no such node: nowhere@127.0.0.1'],
  },
  {
    name: 'an incomplete path',
    method: 'GET',
    path: '/_node',
    expect: [400, 'bad_request', 'Incomplete path to _node request'],
  },
  { name: 'a deeper path', method: 'GET', path: '/_node/_local/_config/a/b/c', expect: [404, 'not_found', 'missing'] },
  {
    name: 'another method',
    method: 'PUT',
    path: '/_node/_local/_config/mine',
    body: '""',
    expect: [405, 'method_not_allowed', 'Only GET allowed'],
  },
  {
    name: 'another method of a value',
    method: 'POST',
    path: '/_node/_local/_config/mine/x',
    body: '""',
    expect: [405, 'method_not_allowed', 'Only GET,PUT,DELETE allowed'],
  },
  {
    name: '_reload with GET',
    method: 'GET',
    path: '/_node/_local/_config/_reload',
    expect: [405, 'method_not_allowed', 'Only POST allowed'],
  },
]

test('changes that are rejected', async (t) => {
  const { ask } = await open(t)
  for (const { name, method, path, body, expect } of ROWS) {
    await t.test(name, async () => {
      const [status, error, reason] = refusal(
        await ask({ method, path, headers: ADMIN, ...(body === undefined ? {} : { body }) }),
      )
      assert.deepEqual([status, error], expect.slice(0, 2), reason)
      if (expect[2] instanceof RegExp) assert.match(reason, expect[2])
      else assert.equal(reason, expect[2])
    })
  }
})

test('only administrators may read the configuration', async (t) => {
  const { ask } = await open(t)
  for (const path of [
    '/_node/_local/_config',
    '/_node/_local/_config/admins',
    '/_node/_local/_versions',
    '/_node/_local',
    '/%5Fnode/_local/_config/admins',
  ]) {
    assert.deepEqual(refusal(await ask({ path })), [401, 'unauthorized', 'You are not a server admin.'], path)
  }
})

test('the node returns its name, under _local and under its own name', async (t) => {
  const { ask } = await open(t, { node: { name: 'one@127.0.0.1' } })
  for (const name of ['_local', 'one@127.0.0.1']) {
    assert.deepEqual(json(await ask({ path: `/_node/${name}`, headers: ADMIN })), { name: 'one@127.0.0.1' })
  }
})

test('_versions lists the supported hash algorithms', async (t) => {
  const { ask, config } = await open(t)
  const { erlang } = json(await ask({ path: '/_node/_local/_versions', headers: ADMIN }))
  assert.ok(erlang.supported_hashes.includes('sha256'))
  for (const name of erlang.supported_hashes) {
    assert.equal((await config('PUT', '/chttpd_auth/hash_algorithms', name)).status, 200, name)
  }
})

test('endpoints of a server without databases', async (t) => {
  const { ask } = await open(t)
  const get = async (path: string) => json(await ask({ path, headers: ADMIN }))
  assert.deepEqual(await get('/_all_dbs'), ['_users'])
  assert.deepEqual(await get('/_membership'), { all_nodes: ['cardea@127.0.0.1'], cluster_nodes: ['cardea@127.0.0.1'] })
  assert.deepEqual(await get('/_active_tasks'), [])
  assert.equal((await get('/_uuids?count=3')).uuids.length, 3)
  assert.match((await get('/_uuids')).uuids[0], /^[0-9a-f]{32}$/)
  assert.equal((await ask({ path: '/_uuids' })).headers['cache-control'], 'no-cache')
  assert.equal((await ask({ path: '/_uuids?count=1001' })).status, 400)
  assert.equal((await ask({ path: '/_uuids?count=x' })).status, 400)
  assert.equal((await ask({ path: '/_active_tasks' })).status, 401)
  assert.equal((await get('/_dbs_info'))[0].key, '_users')
  const info = await ask({ method: 'POST', path: '/_dbs_info', headers: ADMIN, body: '{"keys":["_users","x"]}' })
  assert.deepEqual(json(info)[1], { key: 'x', error: 'not_found' })
})
