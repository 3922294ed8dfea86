/** Users that stay in CouchDB are written there first. */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { openPouchdbServer } from '../support/pouchdb-server.ts'
import { basic, send } from '../support/request.ts'
import { startServer } from '../support/server.ts'
import { beforeDocument } from '../support/upstream.ts'
import {
  changeUser,
  createActs,
  hashPassword,
  IN_COUCHDB,
  openUsersInCouchdb,
  removeUser,
  toDocument,
  toId,
  UNLIMITED,
} from '../support/users-in-couchdb.ts'
import { waitUntil } from '../support/wait.ts'

describe('a change of a user through Cardea', () => {
  it('is in CouchDB, with a hash and its revision, when the reply is sent', async (t) => {
    const { users, isReady, api, signIn } = await openUsersInCouchdb(t, [], UNLIMITED)
    await isReady()
    assert.equal((await api('POST', '/users', { name: 'zoe', password: 'pw', roles: ['staff'] })).status, 200)
    const created = await users.get(toId('zoe'))
    assert.deepEqual([created['name'], created['type'], created['roles']], ['zoe', 'user', ['staff']])
    assert.equal(created['password'], undefined)
    assert.equal(created['password_scheme'], 'pbkdf2')
    assert.equal((await api('GET', '/users/zoe')).json.revision, created['_rev'])
    assert.equal((await signIn('zoe')).status, 200)
    assert.equal((await api('PUT', '/users/zoe/password', { password: 'new' })).status, 200)
    const changed = await users.get(toId('zoe'))
    assert.notEqual(changed['derived_key'], created['derived_key'])
    assert.equal((await api('GET', '/users/zoe')).json.revision, changed['_rev'])
    assert.equal((await signIn('zoe', 'new')).status, 200)
    assert.equal((await signIn('zoe')).status, 401)
    assert.equal((await api('DELETE', '/users/zoe')).status, 200)
    await assert.rejects(users.get(toId('zoe')), { status: 404 })
    // without the name CouchDB takes no other user of the name from a replication
    const [{ ok: deleted }] = Object(await users.get(toId('zoe'), { open_revs: 'all' }))
    assert.deepEqual([deleted._deleted, deleted.name, deleted.derived_key], [true, 'zoe', undefined])
    assert.equal((await signIn('zoe', 'new')).status, 401)
    assert.equal((await api('POST', '/users', { name: 'zoe', password: 'again' })).status, 200)
    assert.equal((await signIn('zoe', 'again')).status, 200)
    assert.equal((await users.get(toId('zoe')))['_rev'], (await api('GET', '/users/zoe')).json.revision)
  })

  it('follows the rules of revisions at the document door', async (t) => {
    const { users, isReady, server, as } = await openUsersInCouchdb(t, [toDocument('ada')], UNLIMITED)
    await isReady()
    const path = `/_users/${toId('ada')}`
    const put = (body: object) => send(server.document, { method: 'PUT', path, as: as('ada'), body })
    const document = (await send(server.document, { path, as: as('ada') })).json
    const written = await put({ ...document, plan: 'gold' })
    assert.equal(written.status, 201)
    const inCouchdb = await users.get(toId('ada'))
    assert.deepEqual([inCouchdb['_rev'], inCouchdb['plan']], [written.json.rev, 'gold'])
    assert.equal((await put({ ...document, plan: 'silver' })).status, 409)
    assert.equal((await send(server.document, { path, as: as('ada') })).json._rev, written.json.rev)
    const query = `${path}?rev=${written.json.rev}`
    const removed = await send(server.document, { method: 'DELETE', path: query, as: as('ada') })
    assert.equal(removed.status, 200)
    await assert.rejects(users.get(toId('ada')), { status: 404 })
  })

  it('works for sign-ups, at the multi-model door and for the program', async (t) => {
    const signUps = { chttpd_auth: { allow_sign_up: true } }
    const { users, isReady, server, as } = await openUsersInCouchdb(t, [], UNLIMITED, signUps)
    await isReady()
    const body = { _id: toId('sue'), name: 'sue', type: 'user', roles: [], password: 'pw' }
    const signedUp = await send(server.document, { method: 'PUT', path: `/_users/${toId('sue')}`, body })
    assert.equal(signedUp.status, 201)
    assert.equal((await users.get(toId('sue')))['_rev'], signedUp.json.rev)
    const user = { user: 'max', passwd: 'pw', extra: { team: 1 } }
    const made = await send(server.multiModel, {
      method: 'POST',
      path: '/_api/user',
      as: basic('admin', 'adminpw'),
      body: user,
    })
    assert.equal(made.status, 201)
    assert.equal((await users.get(toId('max')))['extra'], undefined)
    await server.cardea.users.create({ name: 'lib', password: 'pw' })
    assert.equal((await users.get(toId('lib')))['name'], 'lib')
    for (const name of ['sue', 'max', 'lib'])
      assert.equal((await send(server.document, { path: '/_session', as: as(name) })).status, 200)
  })

  it('keeps members that Cardea does not know, also attachments', async (t) => {
    const attachment = { content_type: 'text/plain', data: Buffer.from('hello').toString('base64') }
    const more = { plan: 'gold', _attachments: { 'note.txt': attachment } }
    const { users, isReady, api } = await openUsersInCouchdb(t, [toDocument('ada', 'pw', more)], UNLIMITED)
    await isReady()
    assert.equal((await api('PUT', '/users/ada/password', { password: 'new' })).status, 200)
    const document = await users.get(toId('ada'), { attachments: true })
    assert.equal(document['plan'], 'gold')
    const { 'note.txt': kept } = document['_attachments'] as Record<string, { data: string }>
    assert.equal(kept?.data, attachment.data)
  })

  it('is one change for its sessions: the feed brings it again without effect', async (t) => {
    const { users, isReady, api, openSession, isSignedIn, as, server } = await openUsersInCouchdb(
      t,
      [toDocument('ada'), toDocument('bob')],
      UNLIMITED,
    )
    await isReady()
    assert.equal((await api('PUT', '/users/ada/password', { password: 'new' })).status, 200)
    const cookie = await openSession('ada', 'new')
    const path = `/_users/${toId('ada')}`
    const document = (await send(server.document, { path, as: as('ada', 'new') })).json
    const plan = { ...document, plan: 'gold' }
    assert.equal((await send(server.document, { method: 'PUT', path, as: as('ada', 'new'), body: plan })).status, 201)
    // the feed is in order: what comes after both has brought them
    const revision = await changeUser(users, 'bob', { plan: 'later' })
    await waitUntil(async () => (await api('GET', '/users/bob')).json.revision === revision)
    assert.equal(await isSignedIn(cookie), true)
  })

  it('of what only Cardea knows does not reach CouchDB', async (t) => {
    const { users, isReady, api } = await openUsersInCouchdb(t, [toDocument('ada')], UNLIMITED)
    await isReady()
    const before = await users.get(toId('ada'))
    assert.equal((await api('PUT', '/users/ada/grants', { database: 'shop', level: 'ro' })).status, 200)
    assert.equal((await api('PUT', '/users/ada/active', { active: false })).status, 200)
    assert.equal((await api('DELETE', '/users/ada/sessions')).status, 200)
    assert.deepEqual(await users.get(toId('ada')), before)
  })
})

describe('a change of a user that was changed in CouchDB first', () => {
  it('is decided again for the newer document', async (t) => {
    const { users, database, isReady, api, server, as } = await openUsersInCouchdb(
      t,
      [toDocument('ada'), toDocument('gone')],
      UNLIMITED,
    )
    await isReady()
    const path = `/_users/${toId('ada')}`
    const document = (await send(server.document, { path, as: as('ada') })).json
    database.holdFeed(true)
    await changeUser(users, 'ada', { plan: 'gold' })
    await removeUser(users, 'gone')
    await users.put(toDocument('new'))
    const stale = { ...document, plan: 'mine' }
    const conflict = await send(server.document, { method: 'PUT', path, as: as('ada'), body: stale })
    assert.equal(conflict.status, 409)
    assert.equal((await users.get(toId('ada')))['plan'], 'gold')
    assert.equal((await api('PUT', '/users/ada/password', { password: 'new' })).status, 200)
    assert.equal((await users.get(toId('ada')))['plan'], 'gold')
    assert.equal((await api('PUT', '/users/gone/password', { password: 'new' })).status, 404)
    assert.equal((await api('POST', '/users', { name: 'new', password: 'x' })).status, 409)
    assert.equal((await send(server.document, { path: '/_session', as: as('new') })).status, 200)
    database.holdFeed(false)
  })

  it('is refused while the document cannot be used', async (t) => {
    const { users, isReady, becomes, api } = await openUsersInCouchdb(
      t,
      [toDocument('ada'), toDocument('bad', 'pw', { roles: ['_admin'] })],
      UNLIMITED,
    )
    await isReady()
    const taken = await api('POST', '/users', { name: 'bad', password: 'pw' })
    assert.deepEqual([taken.status, taken.json.reason?.includes('cardea check')], [409, true])
    await changeUser(users, 'ada', { roles: ['_admin'] })
    await becomes(401, 'ada')
    const before = await users.get(toId('ada'))
    assert.equal((await api('PUT', '/users/ada/password', { password: 'new' })).status, 403)
    assert.equal((await api('DELETE', '/users/ada')).status, 403)
    assert.deepEqual(await users.get(toId('ada')), before)
  })
})

describe('a change of a user that CouchDB does not confirm', () => {
  it('is 503, says that it may have been made, and holds once the feed shows it', async (t) => {
    const { database, isReady, api, becomes } = await openUsersInCouchdb(t, [toDocument('ada')], UNLIMITED)
    await isReady()
    database.cutNextWrite()
    const lost = await api('PUT', '/users/ada/password', { password: 'new' })
    assert.equal(lost.status, 503)
    assert.match(lost.json.reason, /may have been made/)
    await becomes(200, 'ada', 'new')
    await becomes(401, 'ada')
  })

  it('is 503 while CouchDB cannot be reached, and nothing is changed', async (t) => {
    const { database, users, isReady, api, signIn } = await openUsersInCouchdb(t, [toDocument('ada')], UNLIMITED)
    await isReady()
    await database.setDown(true)
    assert.equal((await api('PUT', '/users/ada/password', { password: 'new' })).status, 503)
    assert.equal((await api('POST', '/users', { name: 'zoe', password: 'pw' })).status, 503)
    assert.equal((await api('PUT', '/users/ada/grants', { database: 'shop', level: 'ro' })).status, 200)
    assert.equal((await signIn('ada')).status, 200)
    await database.setDown(false)
    await assert.rejects(users.get(toId('zoe')), { status: 404 })
  })
})

describe('the stored form of a password', () => {
  it('is one that an older CouchDB verifies', async (t) => {
    const database = await openPouchdbServer(t, { version: '3.3.3' })
    const users = database.open('_users')
    await users.put(toDocument('ada'))
    const server = await startServer(t, beforeDocument(database.url), IN_COUCHDB, UNLIMITED)
    const { isReady, api, signIn } = createActs(server)
    await isReady()
    assert.equal((await api('PUT', '/users/ada/password', { password: 'new' })).status, 200)
    assert.equal((await users.get(toId('ada')))['pbkdf2_prf'], 'sha')
    assert.equal((await signIn('ada', 'new')).status, 200)
    const stored = { ...toDocument('bob'), ...hashPassword('pw') }
    const path = `/_users/${toId('bob')}`
    const refused = await send(server.document, { method: 'PUT', path, as: basic('admin', 'adminpw'), body: stored })
    assert.equal(refused.status, 403)
    assert.match(refused.json.reason, /CouchDB cannot verify/)
  })

  it('is replaced at a sign-in only if the option says so, with the same salt', async (t) => {
    const { users, isReady, api, signIn, openSession, isSignedIn } = await openUsersInCouchdb(
      t,
      [toDocument('ada')],
      UNLIMITED,
      { chttpd_auth: { iterations: 50, upgrade_hash_on_auth: true } },
    )
    await isReady()
    const before = await users.get(toId('ada'))
    assert.equal((await signIn('ada')).status, 200)
    assert.equal((await api('PUT', '/settings/directory/upgrade-hashes', { value: 'true' })).status, 200)
    const cookie = await openSession('ada')
    await waitUntil(async () => (await users.get(toId('ada')))['_rev'] !== before['_rev'])
    const after = await users.get(toId('ada'))
    assert.deepEqual([after['salt'], after['iterations']], [before['salt'], 50])
    assert.match(String(after['_rev']), /^2-/)
    assert.equal(await isSignedIn(cookie), true)
  })
})
