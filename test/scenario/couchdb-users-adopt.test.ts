/** Users of Cardea's own become users of CouchDB, and back. */
import assert from 'node:assert/strict'
import { join } from 'node:path'
import { backup, DatabaseSync } from 'node:sqlite'
import { describe, it } from 'node:test'
import { type MemoryDatabase, openPouchdbServer } from '../support/pouchdb-server.ts'
import { makeFolder, type Scope } from '../support/scope.ts'
import { type AnyOptions, startServer } from '../support/server.ts'
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

/** Of the password "password". */
const ARGON2ID = '$argon2id$v=19$m=256,t=2,p=1$c29tZXNhbHQ$nf65EOgLrQMR/uIPnA4rEsF5h7TKyQwu9U1bMCHGi/4'

/** A server with users of its own, before a database with these documents. */
async function openScene(scope: Scope, documents: readonly object[], options: AnyOptions = {}) {
  const database = await openPouchdbServer(scope)
  const users = database.open('_users')
  await users.bulkDocs(documents)
  const folder = makeFolder(scope)
  const common = { ...UNLIMITED, chttpd_auth: { secret: 'a-secret-of-cookies', iterations: 10 } }
  const open = (file: string) =>
    startServer(scope, beforeDocument(database.url), common, options, {
      store: { url: `sqlite:${join(folder, file)}` },
    })
  const server = await open('store.db')
  const own = createActs(server)
  for (const name of ['ada', 'bob'])
    assert.equal((await own.api('POST', '/users', { name, password: 'own', roles: ['staff'] })).status, 200)
  const grace = { name: 'grace', password: { password_scheme: 'argon2id', encoded_hash: ARGON2ID } }
  const { json } = await own.api('POST', '/transfer/users', { users: [grace] })
  assert.deepEqual(json, { outcomes: [{ kind: 'created' }] })
  const listMoves = () =>
    server.takeEvents().flatMap(({ event, target }) => (event === 'directory.move-begun' ? [target] : []))
  /** The store as it is now. */
  const backUp = async () => backup(new DatabaseSync(join(folder, 'store.db')), join(folder, 'restored.db'))
  const restore = async () => {
    await server.cardea.close()
    return createActs(await open('restored.db'))
  }
  /** As a bad disk does. */
  const damage = (name: string) => {
    const file = new DatabaseSync(join(folder, 'store.db'))
    file.prepare("UPDATE cardea_users SET record = '{' WHERE name = ?").run(name)
    file.close()
  }
  return { database, users, own, listMoves, backUp, restore, damage }
}

type Acts = ReturnType<typeof createActs>

const findPhase = async ({ api }: Acts): Promise<string> => (await api('GET', '/directory')).json.phase

async function adopt(acts: Acts, body: object = {}): Promise<void> {
  assert.equal((await acts.api('POST', '/directory/adoption', body)).status, 200)
  await waitUntil(async () => (await findPhase(acts)) === 'following')
}

async function release(acts: Acts, body: object = {}): Promise<void> {
  assert.equal((await acts.api('POST', '/directory/release', body)).status, 200)
  await waitUntil(async () => (await findPhase(acts)) === 'none')
}

const SIGN_INS = [
  ['ada', 'own'],
  ['bob', 'own'],
  ['bob', 'there'],
  ['grace', 'password'],
  ['eve', 'pw'],
] as const

const statusesOf = async ({ signIn }: Acts, rows: readonly (readonly [name: string, password: string])[]) =>
  Promise.all(rows.map(async ([name, password]) => (await signIn(name, password)).status))

const BEFORE = [toDocument('bob', 'there'), toDocument('eve')]

describe('users of Cardea become users of CouchDB', () => {
  it('with their sessions and all that only Cardea knows', async (t) => {
    const { users, own } = await openScene(t, BEFORE)
    const cookie = await own.openSession('ada', 'own')
    assert.equal((await own.api('PUT', '/users/ada/grants', { database: 'notes', level: 'ro' })).status, 200)
    const { grants } = (await own.api('GET', '/users/ada')).json
    await adopt(own, { replace: true })
    assert.deepEqual(await statusesOf(own, SIGN_INS), [200, 200, 401, 200, 200])
    assert.equal(await own.isSignedIn(cookie), true)
    const ada = await users.get(toId('ada'))
    assert.deepEqual([ada['roles'], ada['password_scheme']], [['staff'], 'pbkdf2'])
    const shown = (await own.api('GET', '/users/ada')).json
    assert.deepEqual([shown.revision, shown.grants], [ada['_rev'], grants])
    assert.equal((await own.api('POST', '/directory/adoption', {})).json.phase, 'following')
    assert.equal((await users.get(toId('ada')))['_rev'], ada['_rev'])
    await waitUntil(async () => (await own.findHealth())?.state === 'ok')
    assert.equal((await own.api('PUT', '/users/ada/password', { password: 'new' })).status, 200)
    assert.notEqual((await users.get(toId('ada')))['derived_key'], ada['derived_key'])
  })

  it('a dry run lists new, replaced and kept users, and writes nothing', async (t) => {
    const { users, own } = await openScene(t, BEFORE)
    const plan = { checked: 3, created: 2, replaced: ['bob'], kept: ['grace'], held: [] }
    assert.deepEqual((await own.api('GET', '/directory/adoption')).json, plan)
    assert.deepEqual((await own.api('GET', '/directory/others')).json, { names: ['eve'] })
    await assert.rejects(users.get(toId('ada')), { status: 404 })
    assert.equal(await findPhase(own), 'none')
  })

  it('unless CouchDB cannot be reached', async (t) => {
    const { database, own } = await openScene(t, [])
    await database.setDown(true)
    assert.equal((await own.api('POST', '/directory/adoption', {})).status, 503)
    assert.equal(await findPhase(own), 'none')
    assert.equal((await own.api('PUT', '/users/ada/password', { password: 'new' })).status, 200)
  })

  it('sign in during the move, while a new password is 503 and disabling works', async (t) => {
    const { database, users, own } = await openScene(t, BEFORE)
    const before = await users.get(toId('bob'))
    await own.api('POST', '/directory/adoption', {})
    const problem = async () => (await own.api('GET', '/directory')).json.problem
    await waitUntil(async () => /CouchDB has another document of the user bob/.test(await problem()))
    assert.deepEqual(await users.get(toId('bob')), before)
    assert.equal((await own.findHealth())?.state, 'warning')
    await own.isReady()
    assert.deepEqual(await statusesOf(own, [['bob', 'own']]), [200])
    const refused = await own.api('PUT', '/users/bob/password', { password: 'new' })
    assert.deepEqual([refused.status, /are being moved/.test(refused.json.reason)], [503, true])
    // what only Cardea knows is not in the document
    assert.equal((await own.api('PUT', '/users/ada/active', { active: false })).status, 200)
    assert.deepEqual(await statusesOf(own, [['ada', 'own']]), [401])
    await database.setDown(true)
    await waitUntil(async () => !/of the user bob/.test(await problem()))
    assert.deepEqual(await statusesOf(own, [['bob', 'own']]), [200])
    await database.setDown(false)
    assert.equal((await own.api('PUT', '/users/ada/active', { active: true })).status, 200)
    await adopt(own, { replace: true })
    assert.deepEqual(await statusesOf(own, SIGN_INS), [200, 200, 401, 200, 200])
  })
})

describe('the password of a user with limits that CouchDB does not know', () => {
  it('is not given to CouchDB before they end', async (t) => {
    const { users, own: now } = await openScene(t, [])
    await now.api('POST', '/users', { name: 'max', password: 'pw', mustChangePassword: true })
    assert.equal((await now.api('PUT', '/users/ada/active', { active: false })).status, 200)
    assert.deepEqual((await now.api('GET', '/directory/adoption')).json.held, ['ada', 'max'])
    await adopt(now)
    const hashOf = async (name: string) => (await users.get(toId(name)))['derived_key']
    assert.deepEqual([await hashOf('ada'), await hashOf('max')], [undefined, undefined])
    // a change on either side does not lose it
    const revision = await changeUser(users, 'ada', { roles: ['boss'] })
    await waitUntil(async () => (await now.api('GET', '/users/ada')).json.revision === revision)
    assert.equal((await now.api('PUT', '/users/ada/roles', { add: ['staff'] })).status, 200)
    assert.equal(await hashOf('ada'), undefined)
    assert.equal((await now.api('PUT', '/users/ada/active', { active: true })).status, 200)
    assert.deepEqual(await statusesOf(now, [['ada', 'own']]), [200])
    assert.equal(typeof (await hashOf('ada')), 'string')
    assert.equal((await now.api('PUT', '/users/max/password', { password: 'new' })).status, 200)
    assert.equal(typeof (await hashOf('max')), 'string')
    // a password that is removed in CouchDB is removed here
    await changeUser(users, 'ada', { derived_key: undefined, password_scheme: undefined, salt: undefined })
    await now.becomes(401, 'ada', 'own')
  })
})

describe('a password that CouchDB cannot verify', () => {
  it('stays with Cardea until it changes', async (t) => {
    const { users, own: now } = await openScene(t, [])
    await adopt(now)
    const { password_scheme: scheme, encoded_hash: hash } = await users.get(toId('grace'))
    assert.deepEqual([scheme, hash], [undefined, undefined])
    const cookie = await now.openSession('grace', 'password')
    await changeUser(users, 'grace', { roles: ['staff'] })
    await waitUntil(async () => (await now.api('GET', '/users/grace')).json.roles[0] === 'staff')
    assert.equal((await now.api('PUT', '/users/grace/roles', { add: ['boss'] })).status, 200)
    assert.equal((await users.get(toId('grace')))['encoded_hash'], undefined)
    assert.deepEqual(
      await statusesOf(now, [
        ['grace', 'password'],
        ['grace', 'wrong'],
      ]),
      [200, 401],
    )
    assert.equal(await now.isSignedIn(cookie), true)
    assert.equal((await now.api('PUT', '/users/grace/password', { password: 'new' })).status, 200)
    assert.equal((await users.get(toId('grace')))['password_scheme'], 'pbkdf2')
    assert.deepEqual(
      await statusesOf(now, [
        ['grace', 'password'],
        ['grace', 'new'],
      ]),
      [401, 200],
    )
    assert.equal(await now.isSignedIn(cookie), false)
    await changeUser(users, 'grace', { derived_key: undefined, password_scheme: undefined, salt: undefined })
    await now.becomes(401, 'grace', 'new')
  })

  it('is not that of the next user of the name', async (t) => {
    const { database, users, own: now } = await openScene(t, [])
    await adopt(now)
    assert.deepEqual(await statusesOf(now, [['grace', 'password']]), [200])
    await database.setDown(true)
    await removeUser(users, 'grace')
    await users.put({ _id: toId('grace'), type: 'user', name: 'grace', roles: [] })
    // PouchDB shows a deleted revision as any other until then
    await users.compact()
    await database.setDown(false)
    await now.becomes(401, 'grace', 'password')
  })
})

const BOTH_PASSWORDS = [
  ['bob', 'pw'],
  ['bob', 'other'],
] as const

/** Another document of the user, which is in conflict with the one that is there. */
async function addConflict(users: MemoryDatabase, name: string): Promise<void> {
  const { _rev: revision } = await users.get(toId(name))
  const other = { ...toDocument(name, 'other'), _rev: `${String(revision).split('-')[0]}-${'f'.repeat(32)}` }
  await users.bulkDocs([other], { new_edits: false })
}

describe('users of CouchDB become users of Cardea', () => {
  it('and who could not sign in is disabled', async (t) => {
    const documents = [toDocument('ada'), toDocument('bob')]
    const { users, ...there } = await openUsersInCouchdb(t, documents, UNLIMITED)
    await there.isReady()
    const cookie = await there.openSession('ada')
    await addConflict(users, 'bob')
    await waitUntil(async () => (await there.api('GET', '/directory')).json.leftOut.length === 1)
    await release(there)
    assert.equal(await there.isSignedIn(cookie), true)
    const bob = (await there.api('GET', '/users/bob')).json
    assert.deepEqual([bob.withheld, bob.active], [undefined, false])
    assert.equal((await there.api('PUT', '/users/bob/active', { active: true })).status, 200)
    // which of the two documents was the user's is not known: the password is the last that was
    assert.deepEqual(await statusesOf(there, BOTH_PASSWORDS), [200, 401])
    const isWarned = async () => /^the store has users of its own/.test((await there.findHealth())?.problem ?? '')
    await waitUntil(isWarned)
    const { derived_key: key } = await users.get(toId('ada'))
    assert.equal((await there.api('PUT', '/users/ada/password', { password: 'new' })).status, 200)
    assert.equal((await users.get(toId('ada')))['derived_key'], key)
    assert.deepEqual(await statusesOf(there, [['ada', 'new']]), [200])
  })

  it('with all changes, or at once if CouchDB is lost', async (t) => {
    const { users, database, ...there } = await openUsersInCouchdb(t, [toDocument('ada')], UNLIMITED)
    await there.isReady()
    await database.setDown(true)
    await changeUser(users, 'ada', hashPassword('newer'))
    assert.equal((await there.api('POST', '/directory/release', {})).status, 200)
    assert.equal((await there.api('PUT', '/users/ada/password', { password: 'new' })).status, 503)
    assert.equal(await findPhase(there), 'following')
    await database.setDown(false)
    await waitUntil(async () => (await findPhase(there)) === 'none')
    assert.deepEqual(await statusesOf(there, [['ada', 'newer']]), [200])
    await adopt(there)
    await database.setDown(true)
    await release(there, { now: true })
    assert.equal((await there.api('PUT', '/users/ada/password', { password: 'new' })).status, 200)
    assert.deepEqual(await statusesOf(there, [['ada', 'new']]), [200])
  })

  it('an incomplete copy only with `now`', async (t) => {
    const { database, ...there } = await openUsersInCouchdb(t, [toDocument('ada')], UNLIMITED)
    await database.setDown(true)
    const { api } = createActs(await startServer(t, beforeDocument(database.url), IN_COUCHDB))
    assert.equal((await api('POST', '/directory/release', {})).status, 409)
    assert.equal((await api('POST', '/directory/release', { now: true })).status, 200)
    await waitUntil(async () => (await api('GET', '/directory')).json.phase === 'none')
    await database.setDown(false)
    await there.isReady()
  })

  it('although the record of a user is damaged', async (t) => {
    const { users, own, damage } = await openScene(t, [toDocument('eve')])
    await adopt(own)
    damage('ada')
    const plan = await own.api('GET', '/directory/others')
    assert.deepEqual([plan.status, plan.json.names], [200, []])
    await changeUser(users, 'ada', hashPassword('newer'))
    await waitUntil(async () => (await own.api('GET', '/directory')).json.leftOut.length === 1)
    await release(own)
    assert.deepEqual(await statusesOf(own, [['bob', 'own']]), [200])
  })

  it('and one whose conflict only a change through Cardea has shown is disabled', async (t) => {
    const { users, database, ...there } = await openUsersInCouchdb(t, [toDocument('bob')], UNLIMITED)
    await there.isReady()
    database.holdFeed(true)
    await addConflict(users, 'bob')
    assert.equal((await there.api('PUT', '/users/bob/password', { password: 'new' })).status, 403)
    assert.equal((await there.api('GET', '/directory')).json.leftOut.length, 1)
    await release(there, { now: true })
    database.holdFeed(false)
    const bob = (await there.api('GET', '/users/bob')).json
    assert.deepEqual([bob.withheld, bob.active], [undefined, false])
  })

  it('when another document stops an adoption, and what changed meanwhile stays', async (t) => {
    const { own, listMoves } = await openScene(t, BEFORE)
    await own.api('POST', '/directory/adoption', {})
    const problem = async () => (await own.api('GET', '/directory')).json.problem
    await waitUntil(async () => /CouchDB has another document of the user bob/.test(await problem()))
    await release(own)
    assert.deepEqual(listMoves(), ['CouchDB', 'Cardea'])
    assert.equal((await own.api('PUT', '/users/bob/password', { password: 'new' })).status, 200)
    assert.deepEqual(await statusesOf(own, [['bob', 'new']]), [200])
  })
})

describe('a move to CouchDB', () => {
  it('writes a user once more that is disabled while its document is written', async (t) => {
    const { database, users, own } = await openScene(t, [])
    database.holdWrites(true)
    await own.api('POST', '/directory/adoption', {})
    await waitUntil(async () => database.asked.some((asked) => asked.startsWith(`PUT /_users/`)))
    assert.equal((await own.api('PUT', '/users/ada/active', { active: false })).status, 200)
    database.holdWrites(false)
    await waitUntil(async () => (await findPhase(own)) === 'following')
    assert.equal((await users.get(toId('ada')))['derived_key'], undefined)
  })

  it('resolves the conflicts of documents that it replaces', async (t) => {
    const { users, own } = await openScene(t, BEFORE)
    await addConflict(users, 'bob')
    await adopt(own, { replace: true })
    assert.deepEqual(await statusesOf(own, [['bob', 'own']]), [200])
    assert.equal((await users.get(toId('bob'), { conflicts: true }))['_conflicts'], undefined)
  })

  it('does not begin again in a store that was restored from a backup', async (t) => {
    const { database, users, own, backUp, restore } = await openScene(t, [])
    database.holdWrites(true)
    await own.api('POST', '/directory/adoption', { replace: true })
    await waitUntil(async () => (await findPhase(own)) === 'adopting')
    await backUp()
    database.holdWrites(false)
    await waitUntil(async () => (await findPhase(own)) === 'following')
    assert.equal((await own.api('PUT', '/users/ada/password', { password: 'new' })).status, 200)
    assert.equal((await own.api('DELETE', '/users/bob')).status, 200)
    const { _rev: revision } = await users.get(toId('ada'))
    const restored = await restore()
    await waitUntil(async () => (await findPhase(restored)) === 'following')
    assert.equal((await users.get(toId('ada')))['_rev'], revision)
    await assert.rejects(users.get(toId('bob')), { status: 404 })
    assert.deepEqual(await statusesOf(restored, SIGN_INS.slice(0, 2)), [401, 401])
    assert.deepEqual(await statusesOf(restored, [['ada', 'new']]), [200])
  })

  it('is not complete while its last step cannot be done: users are 503 then', async (t) => {
    const { database, own } = await openScene(t, [], { store: { 'max-staleness': 1 } })
    database.holdFeed(true)
    await own.api('POST', '/directory/adoption', {})
    await waitUntil(async () => (await findPhase(own)) === 'comparing')
    await own.becomes(503, 'ada', 'own')
    database.holdFeed(false)
    await own.becomes(200, 'ada', 'own')
  })
})

describe('while the users are being moved', () => {
  it('a link to set a password is not used up', async (t) => {
    const { own } = await openScene(t, BEFORE)
    await own.api('POST', '/directory/adoption', {})
    const { url } = (await own.api('POST', '/users/bob/password-link')).json
    const use = () =>
      own.api('POST', '/password-links/use', { token: String(url).split('/').at(-1), password: 'second' })
    assert.equal((await use()).status, 503)
    await release(own)
    assert.equal((await use()).status, 200)
  })
})

it('documents that are no users are looked at again', async (t) => {
  const { users, signIn, isReady, api, becomes } = await openUsersInCouchdb(t, [toDocument('ada')], UNLIMITED)
  assert.equal((await api('POST', '/administrators', { name: 'root', password: 'rootpw' })).status, 200)
  await isReady()
  await users.put(toDocument('root'))
  await waitUntil(async () => (await api('GET', '/directory')).json.leftOut.length === 1)
  assert.equal((await signIn('root')).status, 401)
  assert.equal((await api('DELETE', '/administrators/root')).status, 200)
  const { now } = performance
  t.mock.method(performance, 'now', () => now.call(performance) + 20_000)
  // ends the wait for a change
  await changeUser(users, 'ada', { roles: ['staff'] })
  await becomes(200, 'root')
  assert.deepEqual((await api('GET', '/directory')).json.leftOut, [])
})
