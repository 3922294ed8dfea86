/** What CouchDB does to a path after Cardea has authorised it: no request reaches what its user may not reach. */
import assert from 'node:assert/strict'
import { request as httpRequest } from 'node:http'
import { test } from 'node:test'
import { ADMIN } from '../support/request.ts'
import type { Scope } from '../support/scope.ts'
import type { Couchdb } from './couchdb.ts'
import type { Scene } from './in-front.ts'

/** A function is not bound by `secure_rewrites`: it sends the request to any path of the server. */
const TO_ANY_PATH = `function (req) {
  var to = req.query.to || req.path.slice(4).join('/')
  return { path: '../../../' + to, method: req.method, body: req.body }
}`
const ONLY_ADMINISTRATORS = { admins: { names: [], roles: ['_admin'] }, members: { names: [], roles: ['_admin'] } }

interface Sent {
  readonly method?: string
  /** Byte for byte. */
  readonly path: string
  readonly headers?: Record<string, string>
  readonly body?: string
}

/** `fetch` would normalise the path and set its own `Host`. */
function send(
  url: string,
  { method = 'GET', path, headers = {}, body }: Sent,
): Promise<{ status: number; text: string }> {
  const { hostname, port } = new URL(url)
  return new Promise((resolve, reject) => {
    const sent = httpRequest({ hostname, port, method, path, headers }, (response) => {
      const chunks: Buffer[] = []
      response.on('data', (chunk: Buffer) => chunks.push(chunk))
      response.on('end', () => resolve({ status: response.statusCode ?? 0, text: Buffer.concat(chunks).toString() }))
    })
    sent.on('error', reject).end(body)
  })
}

const asAdministrator = ({ urlWithCredentials }: Couchdb): Record<string, string> => {
  const { username, password } = new URL(urlWithCredentials)
  return { Authorization: `Basic ${Buffer.from(`${username}:${password}`).toString('base64')}` }
}

async function createApp(scope: Scope, scene: Scene, owner: string): Promise<string> {
  const app = await scene.createDatabase(scope, {
    admins: { names: [owner], roles: [] },
    members: { names: [], roles: [] },
  })
  await scene.couchdb.request('PUT', `/${app}/_design/app`, { rewrites: TO_ANY_PATH })
  return app
}

export function testRewrites(scene: Scene): void {
  testUserRewrites(scene)
  testSpellings(scene)
  testHeaders(scene)
}

function testUserRewrites(scene: Scene): void {
  test('a rewritten request of a user has the rights of that user', async (t) => {
    const { couchdb } = scene
    const { headers, name } = await scene.createUser(`rewrite-${Date.now()}`)
    const app = await createApp(t, scene, name)
    const secret = await scene.createDatabase(t, ONLY_ADMINISTRATORS)
    const ask = (path: string, more: Partial<Sent> = {}) =>
      send(scene.url(), { ...more, path: `/${app}/_design/app/_rewrite/${path}`, headers })
    assert.equal(
      (await send(couchdb.url, { path: `/${app}/_design/app/_rewrite/${secret}`, headers: asAdministrator(couchdb) }))
        .status,
      200,
      'the rewrite works',
    )
    assert.match((await ask('_session')).text, new RegExp(`"name":"${name}"`))
    for (const path of [secret, '_all_dbs', '_node/_local/_config', '_node/_local/_config/admins', '_users/_all_docs'])
      assert.ok([401, 403].includes((await ask(path)).status), path)
    assert.ok([401, 403].includes((await ask(`${app}-new`, { method: 'PUT' })).status))
  })
}

const toRewriteSpellings = (app: string): readonly string[] => [
  `/${app}/_design/app/_rewrite/`,
  `/${app}/_design/app/%5Frewrite/`,
  `/${app}/_design/app/_re%77rite/`,
  `/${app}/_design/app/_rewrite//`,
  `/${app}/_design//app/_rewrite/`,
  `//${app}/_design/app/_rewrite/`,
  `/${app}/_design%2Fapp/_rewrite/`,
  `/${app}/_design%2fapp/%5frewrite/`,
  `/${app}/_design%2Fapp%2F_rewrite/`,
  `/${app}/_design/app%2F_rewrite/`,
  `/${app}/_design/app/_rewrite%2F`,
  `/${app}/%5Fdesign/app/_rewrite/`,
  `/${app}/./_design/app/_rewrite/`,
  `/${app}/x/../_design/app/_rewrite/`,
  `/${app}/_design/app/_rewrite?/`,
  `/${app}/_design/app/_rewrite+/`,
]

const toUsersSpellings = (app: string, id: string): readonly string[] => [
  `/_users/${id}`,
  `/%5Fusers/${id}`,
  `//_users/${id}`,
  `/_users%2F${id}`,
  `/${app}/../_users/${id}`,
  `/${app}%2F..%2F_users/${id}`,
  `/${app}/%2E%2E/_users/${id}`,
  `/${app}/..%2F_users/${id}`,
  `/${app}/..%5C_users/${id}`,
  `/./_users/${id}`,
  `/_users/./${id}`,
  `/_users;a=b/${id}`,
  `/_users/${id.replace(':', '%3A')}`,
  `/_USERS/${id}`,
]

const CONFIG_SPELLINGS: readonly string[] = [
  '/_node/NODE/_config/admins/intruder',
  '/_node/NODE/%5Fconfig/admins/intruder',
  '/_node/NODE/_config/%61dmins/intruder',
  '/_node/NODE/_config/admins%2Fintruder',
  '/_node/NODE/_config%2Fadmins/intruder',
  '/_node/NODE%2F_config/admins/intruder',
  '/_node//NODE/_config/admins/intruder',
  '/%5Fnode/NODE/_config/admins/intruder',
  '/_node/NODE/_config/+admins/intruder',
  '/_node/NODE/_config/ADMINS/intruder',
  '/_node/NODE/_config//admins/intruder',
]

function testSpellings(scene: Scene): void {
  const { couchdb } = scene

  test('no spelling of _rewrite is forwarded for an administrator', async (t) => {
    const app = await createApp(t, scene, 'owner')
    let rewritten = 0
    for (const path of toRewriteSpellings(app)) {
      const target = `${path}_node/_local/_config/admins`
      const direct = await send(couchdb.url, { path: target, headers: asAdministrator(couchdb) })
      if (direct.text.includes('-pbkdf2')) rewritten += 1
      const through = await send(scene.url(), { path: target, headers: ADMIN })
      assert.doesNotMatch(through.text, /-pbkdf2/, path)
    }
    assert.ok(rewritten >= 5, `CouchDB rewrites ${rewritten} of them`)
  })

  test('no spelling leads to the users of CouchDB itself', async (t) => {
    const app = await scene.createDatabase(t)
    const id = 'org.couchdb.user:only-in-couchdb'
    const made = await couchdb.request('PUT', `/_users/${id}`, {
      name: 'only-in-couchdb',
      type: 'user',
      roles: [],
      password: 'p',
    })
    t.after(() => couchdb.request('DELETE', `/_users/${id}?rev=${(made as { rev: string }).rev}`))
    for (const path of toUsersSpellings(app, id))
      for (const headers of [ADMIN, {}]) {
        const { text } = await send(scene.url(), { path, headers })
        assert.doesNotMatch(text, /derived_key/, path)
      }
  })

  test('no spelling makes an administrator of CouchDB', async () => {
    const [node = ''] = ((await couchdb.request('GET', '/_membership')) as { all_nodes: string[] }).all_nodes
    for (const spelling of CONFIG_SPELLINGS) {
      const path = spelling.replace('NODE', node)
      await send(scene.url(), { method: 'PUT', path, headers: ADMIN, body: '"password"' })
      assert.deepEqual(
        Object.keys((await couchdb.request('GET', '/_node/_local/_config/admins')) as object),
        ['admin'],
        path,
      )
    }
  })
}

function testHeaders(scene: Scene): void {
  const { couchdb } = scene

  test('a header does not change the method or the path', async (t) => {
    const db = await scene.createDatabase(t)
    await couchdb.request('PUT', `/${db}/doc`, {})
    for (const name of ['X-HTTP-Method-Override', 'X-HTTP-Method', 'X-Method-Override', 'X_HTTP_Method_Override']) {
      const sent = { method: 'POST', path: `/${db}`, headers: { ...ADMIN, [name]: 'DELETE' } }
      assert.equal((await send(scene.url(), sent)).status, 400, name)
    }
    for (const name of ['X-Couchdb-Vhost-Path', 'X-Couchdb-Requested-Path', 'X-Original-URL', 'X-Rewrite-URL']) {
      const { text } = await send(scene.url(), { path: `/${db}/doc`, headers: { ...ADMIN, [name]: '/_all_dbs' } })
      assert.match(text, /"_id":"doc"/, name)
    }
    await couchdb.request('GET', `/${db}`)
  })

  test('COPY stays within its database', async (t) => {
    const [db, other] = [await scene.createDatabase(t), await scene.createDatabase(t)]
    await couchdb.request('PUT', `/${db}/doc`, {})
    for (const destination of [
      `../${other}/copy`,
      `/${other}/copy`,
      `${scene.url()}/${other}/copy`,
      `..%2F${other}%2Fcopy`,
    ])
      await send(scene.url(), { method: 'COPY', path: `/${db}/doc`, headers: { ...ADMIN, Destination: destination } })
    assert.equal(((await couchdb.request('GET', `/${other}`)) as { doc_count: number }).doc_count, 0)
  })

  test('with [vhosts] the host decides the path in CouchDB: Cardea can reject unknown hosts', async (t) => {
    const app = await createApp(t, scene, 'owner')
    t.after(
      await setOption(couchdb.url, asAdministrator(couchdb), ['vhosts/app.example', `/${app}/_design/app/_rewrite`]),
    )
    const headers = { ...ADMIN, Host: 'app.example' }
    const ask = () => send(scene.url(), { path: '/any?to=_node/_local/_config/admins', headers })
    assert.match((await ask()).text, /-pbkdf2/, 'the request of an administrator is rewritten')
    const { hostname } = new URL(scene.url())
    const resetHosts = await setOption(scene.url(), ADMIN, ['chttpd/valid_hosts', hostname])
    const resetCheck = await setOption(scene.url(), ADMIN, ['chttpd/validate_host', 'true'])
    // in this order: without valid hosts, every request would be rejected
    t.after(() => resetCheck().then(resetHosts))
    assert.equal((await ask()).status, 400)
  })
}

/** Returns what undoes it. */
async function setOption(url: string, headers: Record<string, string>, [name, value]: readonly [string, string]) {
  const path = `/_node/_local/_config/${name}`
  const { status, text } = await send(url, { method: 'PUT', path, headers, body: JSON.stringify(value) })
  assert.equal(status, 200, text)
  return () => send(url, { method: 'DELETE', path, headers })
}
