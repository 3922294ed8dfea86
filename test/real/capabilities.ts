/** Vaults of Obsidian LiveSync, records of writes and limits of keys, with a CouchDB that has the data. */
import assert from 'node:assert/strict'
import { createHmac, randomBytes } from 'node:crypto'
import { test } from 'node:test'
import { PouchDB } from '../support/pouchdb.ts'
import { AS_ADMIN, basic, send } from '../support/request.ts'
import type { Scope } from '../support/scope.ts'
import { waitUntil } from '../support/wait.ts'
import type { Scene } from './in-front.ts'

const ISSUER_SECRET = randomBytes(32)

export const CAPABILITY_OPTIONS = {
  audit: { writes: '*' },
  jwt_keys: { 'hmac:phones': ISSUER_SECRET.toString('base64') },
  jwt_key_limits: { 'hmac:phones': 'names=phone-* roles=reader' },
}

export function testCapabilities(scene: Scene): void {
  test('a device synchronises its vault, and reaches no other database', (t) => useVault(scene, t))
  test('a write is recorded with the revision that CouchDB gives it', (t) => recordWrites(scene, t))
  test('a key with limits reaches what its names and roles reach', (t) => useLimitedKey(scene, t))
}

async function useVault({ couchdb, createDatabase, url }: Scene, scope: Scope): Promise<void> {
  // as the guide says: without it, CouchDB has no such option
  const option = '/_node/_local/_config/couchdb/max_document_size'
  await couchdb.request('PUT', option, '50000000')
  scope.after(() => couchdb.request('DELETE', option))
  const vault = `vault-${randomBytes(6).toString('hex')}`
  scope.after(() => couchdb.fetch(`/${vault}`, { method: 'DELETE' }))
  const path = `/_cardea/api/livesync/${vault}`
  const added = await send(url(), { method: 'POST', path, as: AS_ADMIN, body: { device: 'phone' } })
  assert.equal(added.status, 200, added.body)
  const password = added.json.token
  const as = basic(vault, password)
  const { json: configuration } = await send(url(), { path: '/_node/_local/_config', as })
  assert.deepEqual(configuration.admins, {})
  assert.deepEqual(configuration.couchdb, { max_document_size: '50000000' })
  const local = new PouchDB(vault, { adapter: 'memory' })
  const remote = new PouchDB(`${url()}/${vault}`, { skip_setup: true, auth: { username: vault, password } })
  scope.after(() => Promise.all([local.destroy(), remote.close()]))
  await local.put({ _id: 'note.md', children: [] })
  await local.sync(remote)
  assert.equal((await couchdb.fetch(`/${vault}/note.md`)).status, 200)
  const other = await createDatabase(scope, { members: { names: [vault] } })
  assert.equal((await send(url(), { path: `/${other}`, as })).status, 403)
  await send(url(), { method: 'DELETE', path: `/_cardea/api/users/${vault}`, as: AS_ADMIN })
  const readMembers = async () => Object(await couchdb.request('GET', `/${vault}/_security`)).members
  await waitUntil(async () => (await readMembers()).names.length === 0)
  assert.deepEqual((await readMembers()).roles, ['_admin'])
}

async function recordWrites({ couchdb, createDatabase, createUser, url }: Scene, scope: Scope): Promise<void> {
  const user = await createUser(`writer-${randomBytes(4).toString('hex')}`)
  const database = await createDatabase(scope, { members: { names: [user.name] } })
  const ask = (method: string, path: string, body?: object) =>
    send(url(), { method, path: `/${database}${path}`, headers: user.headers, ...(body && { body }) })
  const docs = [{ _id: 'doc' }, { _id: 'a' }, { _id: 'b' }]
  const put = await ask('PUT', '/doc', {})
  await ask('POST', '/_bulk_docs', { docs })
  await ask('PUT', '/doc', { _rev: '1-0' })
  for (const path of ['/doc', '/_revs_limit', '/_all_docs']) assert.equal((await ask('GET', path)).status, 200)
  const limit = await send(url(), { path: `/${database}/_purged_infos_limit`, as: AS_ADMIN })
  assert.equal(limit.status, 200)
  const removed = await ask('DELETE', `/doc?rev=${put.json.rev}`)
  const list = '/_cardea/api/audit?event=document.written&order=oldest'
  const read = async () =>
    (await send(url(), { path: list, as: AS_ADMIN })).json.records.filter(
      (record: Readonly<Record<string, unknown>>) => record['database'] === database,
    )
  await waitUntil(async () => (await read()).length >= 3)
  const shown = (await read()).map((record: Readonly<Record<string, unknown>>) => [
    record['actor'],
    record['method'],
    record['document'] ?? record['endpoint'],
    record['revision'] ?? record['count'],
  ])
  assert.deepEqual(shown, [
    [user.name, 'PUT', 'doc', put.json.rev],
    [user.name, 'POST', '_bulk_docs', 2],
    [user.name, 'DELETE', 'doc', removed.json.rev],
  ])
  assert.equal((await couchdb.fetch(`/${database}/doc`)).status, 404)
}

async function useLimitedKey({ createDatabase, url }: Scene, scope: Scope): Promise<void> {
  const database = await createDatabase(scope, {
    members: { names: ['phone-1', 'tablet-1'], roles: ['reader', 'editor'] },
  })
  const closed = await createDatabase(scope, { members: { names: ['nobody'], roles: ['editor'] } })
  const read = async (name: string, sub: string, roles: readonly string[] = []) =>
    (await send(url(), { path: `/${name}`, headers: { Authorization: toToken({ sub, '_couchdb.roles': roles }) } }))
      .status
  assert.equal(await read(database, 'phone-1'), 200)
  assert.equal(await read(database, 'tablet-1'), 401)
  assert.equal(await read(database, 'phone-2', ['reader']), 200)
  assert.equal(await read(closed, 'phone-2', ['editor', '_admin']), 403)
}

function toToken(claims: object): string {
  const encode = (part: object) => Buffer.from(JSON.stringify(part)).toString('base64url')
  const exp = Math.floor(Date.now() / 1000) + 600
  const text = `${encode({ alg: 'HS256', kid: 'phones' })}.${encode({ ...claims, exp })}`
  return `Bearer ${text}.${createHmac('sha256', ISSUER_SECRET).update(text).digest('base64url')}`
}
