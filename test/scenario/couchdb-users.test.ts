// Users that stay in CouchDB, at a document database in memory.
import assert from 'node:assert/strict'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { openPouchdbServer } from '../support/pouchdb-server.ts'
import { send } from '../support/request.ts'
import { makeFolder } from '../support/scope.ts'
import { startServer } from '../support/server.ts'
import { beforeDocument } from '../support/upstream.ts'
import {
  changeUser,
  createActs,
  hashPassword,
  hashSimply,
  IN_COUCHDB,
  openUsersInCouchdb,
  removeUser,
  toDocument,
  toId,
  UNLIMITED,
} from '../support/users-in-couchdb.ts'
import { waitUntil } from '../support/wait.ts'
import { mintJwt } from './document/session-server.ts'

describe('users in CouchDB sign in through Cardea', () => {
  it('when all are copied, and not before', async (t) => {
    const scene = await openUsersInCouchdb(t, [toDocument('ada')], UNLIMITED)
    await scene.isReady()
    assert.equal((await scene.signIn('ada')).status, 200)
    assert.equal((await scene.signIn('ada', 'wrong')).status, 401)
    assert.equal((await scene.findHealth())?.state, 'ok')
    await scene.database.setDown(true)
    const other = await startServer(t, beforeDocument(scene.database.url), IN_COUCHDB, UNLIMITED)
    const { signIn, findHealth, isReady } = createActs(other)
    assert.equal((await send(other.document, { path: '/_up' })).status, 503)
    assert.equal((await signIn('ada')).status, 503)
    assert.equal((await signIn('admin', 'adminpw')).status, 200)
    assert.equal((await findHealth())?.state, 'failed')
    await scene.database.setDown(false)
    await isReady()
    assert.equal((await signIn('ada')).status, 200)
  })

  it('with what is changed in CouchDB', async (t) => {
    const { users, isReady, becomes, api } = await openUsersInCouchdb(t, [toDocument('ada')], UNLIMITED)
    await isReady()
    await users.put(toDocument('bob', 'pw', { roles: ['staff'], plan: 'gold' }))
    await becomes(200, 'bob')
    assert.deepEqual((await api('GET', '/users/bob')).json.roles, ['staff'])
    await changeUser(users, 'bob', { roles: ['boss'], ...hashPassword('new') })
    await becomes(200, 'bob', 'new')
    await becomes(401, 'bob')
    assert.deepEqual((await api('GET', '/users/bob')).json.roles, ['boss'])
    await removeUser(users, 'bob')
    await becomes(401, 'bob', 'new')
  })

  it('with sessions that end with the password, and outlive an upgrade of its hash', async (t) => {
    const salt = 'a-salt'
    const old = toDocument('ada', 'pw')
    const { users, isReady, openSession, isSignedIn, api } = await openUsersInCouchdb(
      t,
      [{ ...old, ...hashSimply('pw', salt), pbkdf2_prf: undefined, iterations: undefined, derived_key: undefined }],
      UNLIMITED,
    )
    await isReady()
    const cookie = await openSession('ada')
    const revisionOf = async () => (await api('GET', '/users/ada')).json.revision
    const follow = async (members: object) => {
      const revision = await changeUser(users, 'ada', members)
      await waitUntil(async () => (await revisionOf()) === revision)
    }
    await follow({ password_sha: undefined, ...hashPassword('pw', { salt }) })
    assert.equal(await isSignedIn(cookie), true)
    await follow(hashPassword('pw', { salt, iterations: 20 }))
    assert.equal(await isSignedIn(cookie), true)
    await follow(hashPassword('other', { salt, iterations: 20 }))
    assert.equal(await isSignedIn(cookie), false)
    const second = await openSession('ada', 'other')
    await follow({ plan: 'gold' })
    assert.equal(await isSignedIn(second), true)
    await follow(hashPassword('other'))
    assert.equal(await isSignedIn(second), false)
  })
})

describe('what only Cardea knows', () => {
  it('is never read from a document, which its user can write', async (t) => {
    const { users, isReady, becomes, signIn, api } = await openUsersInCouchdb(t, [toDocument('eve')], UNLIMITED)
    await isReady()
    await api('PUT', '/users/eve/active', { active: false })
    assert.equal((await signIn('eve')).status, 401)
    const claims = {
      active: true,
      isActive: true,
      isWithheld: false,
      grants: { _system: { level: 'rw' } },
      multiModel: { grants: [['_system', 'rw', []]] },
      expiresAt: 1e12,
      links: [{ issuer: 'x', subject: 'y', provider: 'z', linkedAt: 1 }],
      address: { text: 'eve@example.com', verifiedAt: 1 },
      id: '00000000-0000-4000-8000-000000000000',
      sessionEpoch: { generation: 0, seconds: 0 },
    }
    const revision = await changeUser(users, 'eve', { ...claims, ...hashPassword('new') })
    await waitUntil(async () => (await api('GET', '/users/eve')).json.revision === revision)
    assert.equal((await signIn('eve', 'new')).status, 401)
    const { active, grants, address } = (await api('GET', '/users/eve')).json
    assert.deepEqual({ active, grants, address }, { active: false, grants: {}, address: undefined })
    await api('PUT', '/users/eve/active', { active: true })
    await becomes(200, 'eve', 'new')
  })

  it('stays with a user that changes, and is not given to another user of the name', async (t) => {
    const { users, database, isReady, becomes, api } = await openUsersInCouchdb(t, [toDocument('ada')], UNLIMITED)
    await isReady()
    const grant = () => api('PUT', '/users/ada/grants', { database: 'shop', level: 'rw' })
    const hasGrant = async () => 'shop' in (await api('GET', '/users/ada')).json.grants
    await grant()
    await changeUser(users, 'ada', hashPassword('new'))
    await becomes(200, 'ada', 'new')
    assert.equal(await hasGrant(), true)
    // seen as a deletion
    await removeUser(users, 'ada')
    await becomes(401, 'ada', 'new')
    await users.put(toDocument('ada', 'second'))
    await becomes(200, 'ada', 'second')
    assert.equal(await hasGrant(), false)
    // not seen: the feed shows the last change only
    await grant()
    await database.setDown(true)
    await removeUser(users, 'ada')
    await users.put(toDocument('ada', 'third'))
    // the database no longer knows what was between: that may have been another user
    await users.compact()
    await database.setDown(false)
    await becomes(200, 'ada', 'third')
    assert.equal(await hasGrant(), false)
  })
})

describe('documents that are not users here', () => {
  it('are left out and counted, and hold nothing up', async (t) => {
    const refused = [
      toDocument('admin'),
      toDocument(' space '),
      toDocument('x'.repeat(257)),
      toDocument('roles', 'pw', { roles: ['_admin'] }),
      toDocument('clear', 'pw', { password: 'in clear' }),
    ]
    const design = { _id: '_design/views', views: {} }
    const { users, isReady, becomes, findHealth, signIn, server } = await openUsersInCouchdb(
      t,
      [...refused, design, toDocument('ada')],
      UNLIMITED,
    )
    await isReady()
    assert.equal((await signIn('ada')).status, 200)
    assert.match((await findHealth())?.problem ?? '', /^5 documents are left out: see cardea check$/)
    assert.equal((await findHealth())?.state, 'warning')
    // a user that breaks a rule later must not go on with what it had
    await changeUser(users, 'ada', { roles: ['_admin'] })
    await becomes(401, 'ada')
    await changeUser(users, 'ada', { roles: [] })
    await becomes(200, 'ada')
    await changeUser(users, 'roles', { roles: [] })
    await becomes(200, 'roles')
    assert.equal((await send(server.document, { path: '/_up' })).status, 200)
  })

  it('are refused while they have conflicts, with a security event', async (t) => {
    const { users, isReady, becomes, findHealth, server } = await openUsersInCouchdb(t, [toDocument('ada')], UNLIMITED)
    await isReady()
    server.takeEvents()
    const rev = `1-${'f'.repeat(32)}`
    await users.bulkDocs([{ ...toDocument('ada', 'theirs'), _rev: rev }], { new_edits: false })
    await becomes(401, 'ada')
    await becomes(401, 'ada', 'theirs')
    const conflicts = server.takeEvents().filter(({ event }) => event === 'directory.conflict')
    assert.deepEqual(
      conflicts.map(({ subject, level }) => [subject, level]),
      [['ada', 'warn']],
    )
    await waitUntil(async () => /1 users have conflicts/.test((await findHealth())?.problem ?? ''))
    await users.remove(toId('ada'), rev)
    await becomes(200, 'ada')
  })
})

describe('another database in the place of the one that was copied', () => {
  it('is compared with all users', async (t) => {
    const { users, database, isReady, becomes, signIn } = await openUsersInCouchdb(
      t,
      [toDocument('ada'), toDocument('bob'), toDocument('gone')],
      UNLIMITED,
    )
    await isReady()
    await changeUser(users, 'ada', hashPassword('later'))
    await becomes(200, 'ada', 'later')
    // as from an older backup: revisions go back, and a user is not there
    const [ada, bob] = [await users.get(toId('ada')), await users.get(toId('bob'))]
    await database.setDown(true)
    const restored = (await openPouchdbServer(t, { port: database.port })).open('_users')
    await restored.bulkDocs([
      { ...ada, _rev: undefined, ...hashPassword('earlier') },
      { ...bob, _rev: undefined },
    ])
    await becomes(401, 'gone')
    await becomes(200, 'ada', 'earlier')
    assert.equal((await signIn('ada', 'later')).status, 401)
    await becomes(200, 'bob')
  })
})

it('a copy that is too old refuses tokens of other issuers, too', async (t) => {
  const secret = 'a-shared-secret-of-enough-bytes-for-hs256'
  const options = {
    jwt_keys: { 'hmac:_default': Buffer.from(secret).toString('base64') },
    store: { 'max-staleness': 1 },
  }
  const scene = await openUsersInCouchdb(t, [toDocument('ada')], UNLIMITED, options)
  await scene.isReady()
  const token = `Bearer ${mintJwt({ sub: 'ada', exp: Math.floor(Date.now() / 1000) + 3600 }, secret)}`
  const ask = async () => (await send(scene.server.document, { path: '/_session', as: token })).status
  await waitUntil(async () => (await ask()) === 200)
  await scene.database.setDown(true)
  await waitUntil(async () => (await ask()) === 503)
  await scene.database.setDown(false)
  await waitUntil(async () => (await ask()) === 200)
})

describe('the store', () => {
  it('with users of its own is not made a copy', async (t) => {
    const url = `sqlite:${join(makeFolder(t), 'store.db')}`
    const own = await startServer(t, { store: { url } }, UNLIMITED)
    await own.cardea.users.create({ name: 'ada', password: 'own' })
    await own.cardea.close()
    const { findHealth, signIn } = await openUsersInCouchdb(t, [toDocument('bob')], { store: { url }, ...UNLIMITED })
    const { state, problem } = (await findHealth()) ?? {}
    assert.equal(state, 'warning')
    assert.match(problem ?? '', /^the store has users of its own: cardea directory adopt /)
    assert.deepEqual([(await signIn('ada', 'own')).status, (await signIn('bob')).status], [200, 401])
  })

  it('stays a copy, whatever the option for new stores is', async (t) => {
    const url = `sqlite:${join(makeFolder(t), 'store.db')}`
    const before = await openUsersInCouchdb(t, [toDocument('ada')], { store: { url }, ...UNLIMITED })
    await before.isReady()
    await before.server.cardea.close()
    const after = await startServer(t, beforeDocument(before.database.url), { store: { url } }, UNLIMITED)
    const { isReady, becomes } = createActs(after)
    await isReady()
    await changeUser(before.users, 'ada', hashPassword('new'))
    await becomes(200, 'ada', 'new')
    const findKey = async () => (await before.users.get(toId('ada')))['derived_key']
    const key = await findKey()
    await after.cardea.users.setPassword('ada', 'newer')
    assert.notEqual(await findKey(), key)
    await becomes(401, 'ada', 'new')
  })
})
