// A vault of Obsidian LiveSync: the requests that the plug-in (1.0) makes, with the credential of a device.
import assert from 'node:assert/strict'
import { after, describe, it } from 'node:test'
import { toSetupUri } from '../../src/modules/livesync/commands.ts'
import { PouchDB } from '../support/pouchdb.ts'
import { bySecurity, openPouchdbServer } from '../support/pouchdb-server.ts'
import { AS_ADMIN, basic, send } from '../support/request.ts'
import { startServer } from '../support/server.ts'
import { beforeDocument, openBackend } from '../support/upstream.ts'
import { openUsersInCouchdb, removeUser } from '../support/users-in-couchdb.ts'
import { waitUntil } from '../support/wait.ts'

const ORIGINS = ['app://obsidian.md', 'capacitor://localhost', 'http://localhost']
const OPTIONS = {
  chttpd: { enable_cors: true, require_valid_user: true, 'WWW-Authenticate': 'Basic realm="couchdb"' },
  cors: { origins: ORIGINS.join(','), credentials: true },
}
/** Waits for the first request to this path. */
let held: { readonly path: string; readonly seen: () => void; readonly released: Promise<void> } | undefined
const database = await openPouchdbServer(
  { after },
  {
    async mayReach(claims, request, reached) {
      const hold = held?.path === `${request.method} ${request.url}` ? held : undefined
      if (hold) held = undefined
      hold?.seen()
      await hold?.released
      return bySecurity(claims, request, reached)
    },
  },
)
const server = await startServer({ after }, beforeDocument(database.url), OPTIONS)

const add = (vault: string, device = 'phone', { document } = server) =>
  send(document, {
    method: 'POST',
    path: `/_cardea/api/livesync/${encodeURIComponent(vault)}`,
    as: AS_ADMIN,
    body: { device },
  })
const { json: first } = await add('vault-ada')
const AS_PHONE = basic('vault-ada', first.token)
const CONFIG = '/_node/_local/_config'

/** As `_requestToCouchDB` of the plug-in sends it. */
const request = (path: string, more: { method?: string; body?: unknown; origin?: string; as?: string } = {}) => {
  const { method = 'GET', body, origin = 'app://obsidian.md', as = AS_PHONE } = more
  const headers = { authorization: as, origin, 'content-type': 'application/json' }
  return send(server.document, { method, path, headers, ...(body !== undefined && { body: JSON.stringify(body) }) })
}

describe('cardea livesync add', () => {
  it('makes a user with a role and no password, a database that names it, and a token for it alone', async () => {
    assert.deepEqual([first.vault, first.device, first.url, typeof first.token], ['vault-ada', 'phone', '', 'string'])
    const user = await server.cardea.users.find('vault-ada')
    assert.deepEqual([user?.roles, user?.grants], [['livesync'], {}])
    for (const holders of ['admins', 'members'] as const)
      assert.deepEqual(database.securities.get('vault-ada')?.[holders], { roles: ['_admin'], names: ['vault-ada'] })
    const { json } = await send(server.document, { path: '/_cardea/api/users/vault-ada/tokens', as: AS_ADMIN })
    assert.deepEqual(
      json.tokens.map(({ name, databases, access }: Record<string, unknown>) => [name, databases, access]),
      [['phone', ['vault-ada'], undefined]],
    )
  })

  it('adds devices to a vault, whose tokens end alone', async () => {
    const { json } = await add('vault-ada', 'tablet')
    const path = '/vault-ada'
    assert.equal((await request(path, { as: basic('vault-ada', json.token) })).status, 200)
    const removed = { method: 'DELETE', path: '/_cardea/api/users/vault-ada/tokens/tablet', as: AS_ADMIN }
    assert.equal((await send(server.document, removed)).status, 200)
    assert.equal((await request(path, { as: basic('vault-ada', json.token) })).status, 401)
    assert.equal((await request(path)).status, 200)
  })

  it('takes no other user, no other database and no odd name', async () => {
    await server.cardea.users.create({ name: 'bob', password: 'pw' })
    await send(server.document, { method: 'PUT', path: '/shop', as: AS_ADMIN })
    const security = { members: { names: ['bob'] } }
    await send(server.document, { method: 'PUT', path: '/shop/_security', as: AS_ADMIN, body: security })
    for (const [vault, status] of [
      ['bob', 409],
      ['admin', 409],
      ['shop', 409],
      ['_users', 400],
      ['Vault', 400],
      ['x'.repeat(239), 400],
    ] as const)
      assert.equal((await add(vault)).status, status, vault)
    assert.equal((await add('vault-ada')).status, 409, 'the device exists')
    assert.equal(await server.cardea.users.find('shop'), undefined)
    assert.deepEqual(database.securities.get('shop'), security)
    const byUser = { method: 'POST', path: '/_cardea/api/livesync/mine', as: basic('bob', 'pw'), body: { device: 'x' } }
    assert.equal((await send(server.document, byUser)).status, 403)
  })

  it('creates no database for a user that cannot be created', async (t) => {
    const folded = await startServer(t, beforeDocument(database.url), OPTIONS, { auth: { names: 'folded' } })
    await folded.cardea.users.create({ name: 'Alike', password: 'pw' })
    assert.equal((await add('alike', 'phone', folded)).status, 409)
    for (const name of ['alike', 'bob', 'admin'])
      assert.equal((await send(folded.document, { path: `/${name}`, as: AS_ADMIN })).status, 404, name)
  })

  it('creates one database, records it, and returns its address without a slash at the end', async (t) => {
    const enabled = {
      'user-databases': { enabled: true, 'on-delete': 'remove' },
      console: { 'public-url': 'https://db.example.org/' },
    }
    const front = await startServer(t, beforeDocument(database.url), OPTIONS, enabled)
    const { json } = await add('vault-max', 'phone', front)
    assert.equal(json.url, 'https://db.example.org')
    const as = basic('vault-max', json.token)
    assert.equal((await send(front.document, { path: '/vault-max', as })).status, 200)
    await send(front.document, { method: 'POST', path: '/_cardea/api/databases/of-users', as: AS_ADMIN })
    const shown = await send(front.document, { path: '/_cardea/api/users/vault-max/databases', as: AS_ADMIN })
    assert.deepEqual(shown.json.databases, [{ server: 'CouchDB', database: 'vault-max', state: 'ready' }])
    const events = front.takeEvents().filter(({ event }) => event.startsWith('user-database.'))
    assert.deepEqual(
      events.map(({ event, subject, database: name }) => [event, subject, name]),
      [['user-database.created', 'vault-max', 'vault-max']],
    )
    await front.cardea.users.remove('vault-max')
    await waitUntil(() => database.securities.get('vault-max')?.members?.names?.length === 0)
  })

  it('grants the database where grants are enforced', async (t) => {
    const enforced = await startServer(t, beforeDocument(database.url), OPTIONS, { document: { grants: 'enforce' } })
    const { json } = await add('vault-eve', 'phone', enforced)
    const as = basic('vault-eve', json.token)
    assert.equal((await send(enforced.document, { path: '/vault-eve', as })).status, 200)
  })

  it('closes the database of a vault whose user is deleted: a later user of the name does not get it', async () => {
    await add('vault-eva')
    await database.open('vault-eva').put({ _id: 'note.md' })
    // the name stays in the database without it
    await server.cardea.users.update('vault-eva', { roles: [] })
    await server.cardea.users.remove('vault-eva')
    await server.cardea.users.create({ name: 'vault-eva', password: 'pw' })
    const members = () => database.securities.get('vault-eva')?.members
    await waitUntil(() => members()?.names?.length === 0)
    assert.deepEqual(members(), { roles: ['_admin'], names: [] })
    const as = basic('vault-eva', 'pw')
    assert.equal((await send(server.document, { path: '/vault-eva/note.md', as })).status, 403)
    const other = await server.cardea.users.create({ name: 'plain', password: 'pw' })
    database.securities.set('plain', { members: { names: ['plain'] } })
    await server.cardea.users.remove(other.name)
    await server.cardea.users.create({ name: 'last', password: 'pw' })
    assert.deepEqual(database.securities.get('plain'), { members: { names: ['plain'] } }, 'it was no vault')
  })

  it('closes the database of a vault of which only the role is known: a later user of the name does not get it', async () => {
    await database.open('vault-old').put({ _id: 'note.md' })
    database.securities.set('vault-old', { members: { names: ['vault-old'] } })
    await server.cardea.users.create({ name: 'vault-old', password: 'pw', roles: ['livesync'] })
    await server.cardea.users.remove('vault-old')
    await server.cardea.users.create({ name: 'vault-old', password: 'pw' })
    const members = () => database.securities.get('vault-old')?.members
    await waitUntil(() => members()?.names?.length === 0)
    assert.deepEqual(members(), { roles: ['_admin'], names: [] })
    const as = basic('vault-old', 'pw')
    assert.equal((await send(server.document, { path: '/vault-old/note.md', as })).status, 403)
  })

  it('is refused until the database of the deleted user is closed, and no device loses its vault to that', async () => {
    const [seen, released] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
    await add('vault-tom')
    held = { path: 'GET /vault-tom/_security', seen: seen.resolve, released: released.promise }
    await server.cardea.users.remove('vault-tom')
    await seen.promise
    const early = await add('vault-tom')
    released.resolve()
    assert.deepEqual(
      [early.status, early.json.reason],
      [409, 'vault-tom is being closed, because its user was deleted: try again soon.'],
    )
    let again = early
    await waitUntil(async () => {
      again = await add('vault-tom')
      return again.status === 200
    })
    assert.deepEqual(database.securities.get('vault-tom')?.members?.names, ['vault-tom'])
    const as = basic('vault-tom', again.json.token)
    assert.equal((await send(server.document, { path: '/vault-tom', as })).status, 200)
  })

  it('is closed, too, if users are in CouchDB, and deleted there or here', async (t) => {
    const { server: front, users, database: couchdb, isReady } = await openUsersInCouchdb(t, [])
    await isReady()
    for (const [vault, remove] of [
      ['vault-kim', () => removeUser(users, 'vault-kim')],
      ['vault-lee', () => front.cardea.users.remove('vault-lee')],
    ] as const) {
      assert.equal((await add(vault, 'phone', front)).status, 200)
      const members = () => couchdb.securities.get(vault)?.members
      assert.deepEqual(members()?.names, [vault])
      await remove()
      await waitUntil(() => members()?.names?.length === 0)
      assert.deepEqual(members(), { roles: ['_admin'], names: [] })
    }
  })

  it('gives the plug-in its settings in a QR code, as the plug-in packs them', () => {
    const uri = toSetupUri({ url: 'https://db.example.org', vault: 'vault-ada', token: 'x'.repeat(40) })
    const packed = `V0fVmhttps://db.example.orgV9vault-adaW14${'x'.repeat(40)}V9vault-ada`
    assert.equal(uri, `obsidian://setuplivesync?settingsQR=${encodeURIComponent(packed)}`)
  })
})

describe('"Check database configuration" of the plug-in', () => {
  it('gets the values that it compares, for every origin of Obsidian', async () => {
    for (const origin of ORIGINS) {
      const { status, json, lines } = await request(CONFIG, { origin })
      assert.equal(status, 200)
      assert.deepEqual(json, {
        admins: {},
        chttpd: { require_valid_user: 'true', enable_cors: 'true', max_http_request_size: '4294967296' },
        httpd: { 'WWW-Authenticate': 'Basic realm="couchdb"' },
        couchdb: {},
        cors: { credentials: 'true', origins: ORIGINS.join(',') },
      })
      assert.match(lines['server']?.[0] ?? '', /CouchDB\/3\.\d/, 'otherwise it looks for options of CouchDB 2')
      assert.deepEqual(
        [lines['access-control-allow-credentials'], lines['access-control-allow-origin']],
        [['true'], [origin]],
      )
    }
  })

  it('has the size of documents from CouchDB', async (t) => {
    const couchdb = await openBackend(t, ({ url }, response) => {
      const isSize = url === `${CONFIG}/couchdb/max_document_size`
      const isNew = url === '/vault'
      response.writeHead(isNew ? 201 : 200, { 'Content-Type': 'application/json' })
      response.end(isSize ? '"50000000"' : '{"admins":{"root":"-pbkdf2-x"}}')
    })
    const front = await startServer(t, beforeDocument(couchdb.url), OPTIONS)
    const { json } = await add('vault', 'phone', front)
    const config = await send(front.document, { path: CONFIG, as: basic('vault', json.token) })
    assert.deepEqual(config.json.couchdb, { max_document_size: '50000000' })
    assert.deepEqual(config.json.admins, {})
  })

  it('cannot change anything, and no other request or user gets that reply', async () => {
    const put = (key: string) => request(`${CONFIG}/${key}`, { method: 'PUT', body: 'true' })
    for (const key of ['chttpd/require_valid_user', 'cors/origins', 'couchdb/max_document_size', 'admins/vault-ada'])
      assert.equal((await put(key)).status, 403, key)
    for (const path of [`${CONFIG}/`, `${CONFIG}?x=1`, `${CONFIG}/chttpd`, '/_node/_local', '/_node/%5Flocal/_config'])
      assert.equal((await request(path)).status, 403, `${path}: the token is for the database`)
    assert.equal((await request(CONFIG, { method: 'HEAD' })).status, 403)
    await server.cardea.users.create({ name: 'eve', password: 'pw', roles: ['other'] })
    assert.equal((await request(CONFIG, { as: basic('eve', 'pw') })).status, 401)
    assert.equal((await request(CONFIG, { as: basic('vault-ada', 'wrong') })).status, 401)
    await server.cardea.users.create({ name: 'pat', password: 'pw', roles: ['livesync'] })
    assert.equal((await request(`${CONFIG}/chttpd`, { as: basic('pat', 'pw') })).status, 401)
    const whole = await send(server.document, { path: CONFIG, as: AS_ADMIN })
    assert.ok('admin' in whole.json.admins, 'an administrator reads the whole configuration')
  })
})

it('a device synchronises its vault and reaches no other', async () => {
  const note = { _id: 'note.md', children: [], path: 'note.md' }
  const local = new PouchDB('livesync-device', { adapter: 'memory' })
  await local.put(note)
  const remote = new PouchDB(`${server.document}/vault-ada`, {
    skip_setup: true,
    auth: { username: 'vault-ada', password: first.token },
  })
  try {
    // how the plug-in connects: the size of the database, the version, and which devices it has accepted
    assert.equal((await remote.info()).db_name, 'vault-ada')
    await remote.put({ _id: 'obsydian_livesync_version', type: 'versioninfo', version: 12 })
    await remote.put({ _id: '_local/obsydian_livesync_milestone', accepted_nodes: ['a'], locked: false })
    await remote.put({ _id: '_local/obsidian_livesync_sync_parameters', pbkdf2salt: 'x' })
    await local.sync(remote)
    assert.equal((await remote.get('note.md')).path, 'note.md')
    assert.equal((await local.get('obsydian_livesync_version')).version, 12)
    assert.equal((await request('/shop')).status, 403)
    assert.equal((await request('/_all_dbs')).status, 403)
    assert.equal((await request('/vault-ada', { method: 'DELETE' })).status, 401)
  } finally {
    await Promise.all([local.close(), remote.close()])
  }
})
