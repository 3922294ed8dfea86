/** Databases of users and enforced grants, with a CouchDB behind them that would allow everything. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { DECISIONS, decide, type Level } from '../modules/document-grants/decisions.ts'
import { PouchDB } from '../support/pouchdb.ts'
import { toUserDatabase } from '../support/pouchdb-server.ts'
import { basic, send } from '../support/request.ts'
import type { Scope } from '../support/scope.ts'
import { waitUntil } from '../support/wait.ts'
import type { Couchdb } from './couchdb.ts'
import type { Scene } from './in-front.ts'

export const GRANT_OPTIONS = {
  'user-databases': { enabled: 'true', wait: '60' },
  document: { grants: 'enforce' },
  upstream: { 'document-rewrites': 'true' },
}

const AS_ADMIN = basic('admin', 'adminpw')

export function testGrants(scene: Scene): void {
  test('the database of a user is the one that couch_peruser makes', (t) => comparePeruser(scene, t))
  test('a pull with ro works, and a push leaves nothing', (t) => pullAndPush(scene, t))
  for (const level of ['none', 'ro', 'rw'] as const)
    test(`every request with ${level}`, (t) => sendAll(scene, t, level))
}

/** A database that only exists during the test. */
async function makeDatabase({ request, fetch }: Couchdb, scope: Scope, name: string, security: object): Promise<void> {
  const path = `/${encodeURIComponent(name)}`
  scope.after(() => fetch(path, { method: 'DELETE' }))
  await request('PUT', path)
  await request('PUT', `${path}/_security`, security)
}

async function comparePeruser({ couchdb, createUser }: Scene, scope: Scope): Promise<void> {
  // otherwise the daemon ends at the first deleted user without a database, such as those of earlier tests
  const undo = await couchdb.configure('[couch_peruser]\nenable = true\ndelete_dbs = true\n')
  scope.after(undo)
  const [theirs, ours] = ['peruser-theirs', 'peruser-ours']
  const document = { name: theirs, type: 'user', roles: [], password: 'pw' }
  const { rev } = Object(await couchdb.request('PUT', `/_users/org.couchdb.user:${theirs}`, document))
  scope.after(() => couchdb.fetch(`/_users/org.couchdb.user:${theirs}?rev=${rev}`, { method: 'DELETE' }))
  for (const name of [theirs, ours]) scope.after(() => couchdb.fetch(`/${toUserDatabase(name)}`, { method: 'DELETE' }))
  await createUser(ours)
  const read = async (name: string) => (await couchdb.fetch(`/${toUserDatabase(name)}/_security`)).text()
  await waitUntil(async () => (await read(theirs)).includes(theirs) && (await read(ours)).includes(ours))
  assert.equal(await read(ours), (await read(theirs)).replaceAll(theirs, ours))
}

async function grant({ url }: Scene, user: string, database: string, level: Level): Promise<void> {
  const path = `/_cardea/api/users/${user}/grants`
  const reply = await send(url(), { method: 'PUT', path, as: AS_ADMIN, body: { database, level } })
  assert.equal(reply.status, 200, reply.body)
}

async function pullAndPush(scene: Scene, scope: Scope): Promise<void> {
  const { couchdb, createUser, url } = scene
  const { name, password } = await createUser('puller')
  await makeDatabase(couchdb, scope, 'pulled', { admins: { names: [name] }, members: { names: [name] } })
  await couchdb.request('PUT', '/pulled/note', { text: 'x' })
  await grant(scene, name, 'pulled', 'ro')
  const remote = new PouchDB(`${url()}/pulled`, { skip_setup: true, auth: { username: name, password } })
  const local = new PouchDB('real-pulled', { adapter: 'memory' })
  scope.after(() => Promise.all([remote.close(), local.destroy()]))
  const pulled = await local.replicate.from(remote)
  assert.deepEqual([pulled.ok, pulled.docs_written], [true, 1])
  assert.equal((await local.replicate.from(remote)).docs_read, 0, 'the checkpoint was kept')
  await local.put({ _id: 'mine' })
  await assert.rejects(async () => local.replicate.to(remote))
  assert.equal((await couchdb.fetch('/pulled/mine')).status, 404)
}

const DESIGN = {
  views: { v: { map: 'function (doc) { emit(doc._id) }' } },
  shows: { s: 'function (doc, req) { return "shown" }' },
  lists: { l: 'function (head, req) { return "listed" }' },
  updates: { u: 'function (doc, req) { return [{ _id: req.uuid, made: true }, "made"] }' },
  rewrites: [{ from: '*', to: '../../doc', method: '*' }],
}

/** Everything of a database that a write could change, except checkpoints. */
async function describeDatabase({ fetch }: Couchdb, name: string) {
  const path = `/${encodeURIComponent(name)}`
  const read = async (rest: string) => (await fetch(`${path}${rest}`)).json()
  const { update_seq, doc_count, doc_del_count } = Object(await read(''))
  const locals = Object(await read('/_local_docs')).rows.map(({ id }: { id: string }) => id)
  return {
    changes: String(update_seq).split('-')[0],
    doc_count,
    doc_del_count,
    others: await Promise.all(['/_security', '/_revs_limit', '/_purged_infos_limit', '/_index'].map(read)),
    locals: locals.filter((id: string) => !/^_local\/(?:[0-9a-f]{32}|[\w.]{22}==)$/.test(id)),
  }
}

async function sendAll(scene: Scene, scope: Scope, level: Level): Promise<void> {
  const { couchdb, createUser, url } = scene
  const { name, headers: authorization } = await createUser(`level-${level}`)
  for (const database of ['shop', 'a/b']) {
    await makeDatabase(couchdb, scope, database, { admins: { names: [name] }, members: { names: [name] } })
    await couchdb.request('PUT', `/${encodeURIComponent(database)}/doc`, { text: 'x' })
    if (level !== 'none') await grant(scene, name, database, level)
  }
  await couchdb.request('PUT', '/shop/_design/app', DESIGN)
  const before = await Promise.all(['shop', 'a/b'].map((each) => describeDatabase(couchdb, each)))
  const wrong: unknown[] = []
  for (const row of DECISIONS) {
    const { method, path, headers, body } = row
    const hasBody = method !== 'GET' && method !== 'HEAD'
    const reply = await send(url(), {
      method,
      path,
      headers: { ...headers, ...authorization },
      ...(hasBody && { body }),
    })
    const refusal = decide(level, row)
    if (refusal !== undefined && reply.status !== refusal) wrong.push([method, path, reply.status, refusal])
    if (level === 'ro' && refusal === undefined && reply.status === 403) wrong.push([method, path, reply.body])
  }
  assert.deepEqual(wrong, [])
  const now = await Promise.all(['shop', 'a/b'].map((each) => describeDatabase(couchdb, each)))
  if (level === 'rw') assert.notDeepEqual(now, before)
  else assert.deepEqual(now, before)
}
