// The contract about administrators, passwords and user documents, sentence by sentence.
import assert from 'node:assert/strict'
import { mkdtempSync, readFileSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { type CardeaOptions, createCardea } from '../../../src/index.ts'
import { ADMIN, basic, type Request, send } from '../../support/request.ts'
import { startServerWithFiles } from '../../support/server.ts'

const APPLE = '1112283cf988a34f124200a050d308a1'
const STORED = {
  '-hashed-<hash>,<salt>': `-hashed-d4b5d8403f6c1d1c7975fb19cbbacf260cebecdf,${APPLE}`,
  '-pbkdf2-<hash>,<salt>,<iterations>': `-pbkdf2-e579375db0e0c6a6fc79cd9e36a36859f71575c3,${APPLE},10`,
}

async function open(t: TestContext, options: CardeaOptions = {}, ...inis: string[]) {
  const folder = mkdtempSync(join(tmpdir(), 'cardea-'))
  const files = inis.map((text, index) => {
    const file = join(folder, `${index}.ini`)
    writeFileSync(file, text, { mode: 0o600 })
    return file
  })
  const { document: url } = await startServerWithFiles(t, files, options)
  const ask = async (sent: Request) => {
    const { status, body } = await send(url, sent)
    return { status, json: JSON.parse(body) }
  }
  const put = (path: string, value: unknown, headers: Record<string, string> = ADMIN) =>
    ask({
      method: 'PUT',
      path,
      headers: { 'Content-Type': 'application/json', ...headers },
      body: JSON.stringify(value),
    })
  const putUser = (name: string, more: object, headers?: Record<string, string>) =>
    put(`/_users/org.couchdb.user:${name}`, { type: 'user', name, roles: [], ...more }, headers)
  const signIn = async (name: string, password: string) =>
    (await ask({ path: '/_session', headers: { Authorization: basic(name, password) } })).status
  return { ask, put, putUser, signIn, files }
}

const CONFIG = '/_node/_local/_config'
const HASHED = /^-pbkdf2-[0-9a-f]{64},[0-9a-f]{32},1$/

const PROMISES: Readonly<Record<string, (t: TestContext) => Promise<void>>> = {
  'administrators are defined in configuration or through the admin-config endpoint, not in the users database': async (
    t,
  ) => {
    const { ask, put } = await open(t)
    await put(`${CONFIG}/admins/carol`, 'christmas')
    assert.equal((await ask({ path: '/_users/org.couchdb.user:carol', headers: ADMIN })).status, 404)
  },
  '[admins] maps an administrator name to a password; it may be plaintext in the file and is then salted and hashed':
    async (t) => {
      const { signIn, files } = await open(t, {}, '[admins]\ncarol = christmas\n')
      assert.equal(await signIn('carol', 'christmas'), 200)
      assert.match(readFileSync(files[0] ?? '', 'utf8'), /^\[admins\]\ncarol = -pbkdf2-[0-9a-f]{64},[0-9a-f]{32},1\n$/)
    },
  'the last [admins] section found while loading the ini files applies': async (t) => {
    const { signIn } = await open(
      t,
      {},
      '[admins]\nfirst = one\n',
      '[admins]\nsecond = two\n[log]\nlevel = info\n[admins]\nthird = three\n',
    )
    assert.deepEqual(
      [await signIn('first', 'one'), await signIn('second', 'two'), await signIn('third', 'three')],
      [401, 401, 200],
    )
  },
  'GET admins: a JSON object mapping each administrator name to its stored hashed password string': async (t) => {
    const { ask } = await open(t)
    const { status, json } = await ask({ path: `${CONFIG}/admins`, headers: { ...ADMIN, Accept: 'application/json' } })
    assert.equal(status, 200)
    assert.deepEqual(Object.keys(json), ['admin'])
    assert.match(json.admin, HASHED)
  },
  'PUT admins: the password is hashed by the server; no restart is needed; the answer is the stored value': async (
    t,
  ) => {
    const { put, signIn } = await open(t)
    const { status, json } = await put(`${CONFIG}/admins/carol`, 'christmas')
    assert.equal(status, 200)
    assert.match(json, HASHED)
    assert.equal(await signIn('carol', 'christmas'), 200)
  },
  'PUT admins with raw=true: the body is an already hashed string, stored as given, not hashed again': async (t) => {
    const { put, signIn } = await open(t)
    for (const [form, stored] of Object.entries(STORED)) {
      assert.equal((await put(`${CONFIG}/admins/old?raw=true`, stored)).json, stored, form)
      assert.equal(await signIn('old', 'apple'), 200, form)
    }
  },
  'DELETE admins supports deleting an administrator': async (t) => {
    const { ask, put, signIn } = await open(t)
    await put(`${CONFIG}/admins/carol`, 'christmas')
    assert.equal((await ask({ method: 'DELETE', path: `${CONFIG}/admins/carol`, headers: ADMIN })).status, 200)
    assert.equal(await signIn('carol', 'christmas'), 401)
  },
  'GET /_up is the only endpoint reachable anonymously when require_valid_user_except_for_up is true': async (t) => {
    const { ask } = await open(t, { chttpd: { require_valid_user_except_for_up: true } })
    assert.equal((await ask({ path: '/_up' })).status, 200)
    for (const path of ['/', '/_session', '/_users', '/_all_dbs', '/_uuids', '/db', '/_node/_local/_versions']) {
      assert.equal((await ask({ path })).status, 401, path)
    }
  },
  'GET _versions can be used to retrieve the hash algorithms the installation supports': async (t) => {
    const { ask } = await open(t)
    const { json } = await ask({ path: '/_node/_local/_versions', headers: ADMIN })
    for (const name of ['sha', 'sha224', 'sha256', 'sha384', 'sha512'])
      assert.ok(json.erlang.supported_hashes.includes(name), name)
  },
  'an admin account is required at start': async () => {
    await assert.rejects(createCardea({ options: { store: { url: 'sqlite::memory:' } } }), {
      name: 'StartError',
      message: /administrator/,
    })
  },
  'iterations: PBKDF2 iteration count for password hashing': async (t) => {
    const { ask, putUser } = await open(t, { chttpd_auth: { iterations: 7 } })
    await putUser('ada', { password: 'apple' })
    const { json } = await ask({ path: '/_users/org.couchdb.user:ada', headers: ADMIN })
    assert.deepEqual([json.password_scheme, json.iterations], ['pbkdf2', 7])
  },
  'min_iterations: users hashed with fewer iterations are forbidden; max_iterations: with more': async (t) => {
    const { put, putUser, signIn } = await open(t)
    await putUser('ada', { password: 'apple' })
    assert.equal(await signIn('ada', 'apple'), 200)
    await put(`${CONFIG}/chttpd_auth/max_iterations`, '1')
    assert.equal(await signIn('ada', 'apple'), 200)
    await putUser('bob', {
      password_scheme: 'pbkdf2',
      pbkdf2_prf: 'sha',
      salt: APPLE,
      iterations: 10,
      derived_key: 'e579375db0e0c6a6fc79cd9e36a36859f71575c3',
    })
    assert.equal(await signIn('bob', 'apple'), 403)
    await put(`${CONFIG}/chttpd_auth/max_iterations`, '100')
    assert.equal(await signIn('bob', 'apple'), 200)
  },
  'password_regexp: a failing element’s reason text is appended to the default reason': async (t) => {
    const rules = '["[a-z]", {"[0-9]", "A digit is missing."}]'
    const { put, putUser } = await open(t, { chttpd_auth: { password_regexp: rules } })
    const refused = { error: 'bad_request', reason: 'Password does not conform to requirements. A digit is missing.' }
    assert.deepEqual((await putUser('ada', { password: 'letters' })).json, refused)
    assert.deepEqual((await put(`${CONFIG}/admins/carol`, 'letters')).json, refused)
    assert.equal((await putUser('bob', { password: '123' })).json.reason, 'Password does not conform to requirements.')
    assert.equal((await putUser('ada', { password: 'letters1' })).status, 201)
  },
  'public_fields: readable by any user, when users_db_public is true; otherwise users read only their own document':
    async (t) => {
      const closed = await open(t, { chttpd_auth: { public_fields: 'nick' } })
      const opened = await open(t, { chttpd_auth: { public_fields: 'nick', users_db_public: true } })
      for (const server of [closed, opened])
        for (const name of ['ada', 'bob']) await server.putUser(name, { password: 'apple', nick: 'x' })
      const asAda = { Authorization: basic('ada', 'apple') }
      const bob = { path: '/_users/org.couchdb.user:bob', headers: asAda }
      assert.equal((await closed.ask(bob)).status, 404)
      assert.equal((await closed.ask({ ...bob, path: '/_users/org.couchdb.user:ada' })).status, 200)
      const { json } = await opened.ask(bob)
      assert.deepEqual(Object.keys(json).sort(), ['_id', '_rev', 'nick'])
    },
  'by default only admins browse all user documents': async (t) => {
    const { ask, putUser } = await open(t)
    await putUser('ada', { password: 'apple' })
    assert.equal(
      (await ask({ path: '/_users/_all_docs', headers: { Authorization: basic('ada', 'apple') } })).status,
      401,
    )
    assert.equal((await ask({ path: '/_users/_all_docs', headers: ADMIN })).json.rows.length, 1)
  },
  'auth_cache_size: number of user context objects cached in memory; none still signs in': async (t) => {
    const { putUser, signIn } = await open(t, { chttpd_auth: { auth_cache_size: 0 } })
    await putUser('ada', { password: 'apple' })
    assert.equal(await signIn('ada', 'apple'), 200)
  },
  'the earlier section [couch_httpd_auth] is read as a fallback': async (t) => {
    const { ask, putUser } = await open(
      t,
      {},
      '[couch_httpd_auth]\npublic_fields = nick\n[chttpd_auth]\nusers_db_public = true\n',
    )
    for (const name of ['ada', 'bob']) await putUser(name, { password: 'apple', nick: 'x' })
    const { json } = await ask({
      path: '/_users/org.couchdb.user:bob',
      headers: { Authorization: basic('ada', 'apple') },
    })
    assert.equal(json.nick, 'x')
  },
}

for (const [promise, show] of Object.entries(PROMISES)) test(promise, show)
