/** Users of Cardea's own become users of CouchDB, and back. */
import assert from 'node:assert/strict'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { openPouchdbServer } from '../support/pouchdb-server.ts'
import { makeFolder, type Scope } from '../support/scope.ts'
import { type AnyOptions, startServer } from '../support/server.ts'
import { beforeDocument } from '../support/upstream.ts'
import {
  changeUser,
  createActs,
  IN_COUCHDB,
  removeUser,
  toDocument,
  toId,
  UNLIMITED,
} from '../support/users-in-couchdb.ts'
import { waitUntil } from '../support/wait.ts'

/** Of the password "password". */
const ARGON2ID = '$argon2id$v=19$m=256,t=2,p=1$c29tZXNhbHQ$nf65EOgLrQMR/uIPnA4rEsF5h7TKyQwu9U1bMCHGi/4'

/** Starts servers with one store before one database, one after the other. */
async function openScene(scope: Scope, documents: readonly object[]) {
  const database = await openPouchdbServer(scope)
  const users = database.open('_users')
  await users.bulkDocs(documents)
  const store = { store: { url: `sqlite:${join(makeFolder(scope), 'store.db')}` } }
  const common = { ...UNLIMITED, ...store, chttpd_auth: { secret: 'a-secret-of-cookies', iterations: 10 } }
  const start = async (options: AnyOptions = {}) => {
    const server = await startServer(scope, beforeDocument(database.url), common, options)
    return { ...createActs(server), close: () => server.cardea.close() }
  }
  return { database, users, startOwn: () => start(), startInCouchdb: () => start(IN_COUCHDB) }
}

const SIGN_INS = [
  ['ada', 'own'],
  ['bob', 'own'],
  ['bob', 'there'],
  ['grace', 'password'],
  ['eve', 'pw'],
] as const

type Acts = Awaited<ReturnType<Awaited<ReturnType<typeof openScene>>['startOwn']>>

async function addUsers({ api }: Acts): Promise<void> {
  for (const name of ['ada', 'bob'])
    assert.equal((await api('POST', '/users', { name, password: 'own', roles: ['staff'] })).status, 200)
  const grace = { name: 'grace', password: { password_scheme: 'argon2id', encoded_hash: ARGON2ID } }
  assert.deepEqual((await api('POST', '/transfer/users', { users: [grace] })).json, { outcomes: [{ kind: 'created' }] })
}

const statusesOf = async ({ signIn }: Acts, rows: readonly (readonly [name: string, password: string])[]) =>
  Promise.all(rows.map(async ([name, password]) => (await signIn(name, password)).status))

const BEFORE = [toDocument('bob', 'there'), toDocument('eve')]

describe('users of Cardea become users of CouchDB', () => {
  it('with their sessions and all that only Cardea knows', async (t) => {
    const { users, startOwn, startInCouchdb } = await openScene(t, BEFORE)
    const own = await startOwn()
    await addUsers(own)
    const cookie = await own.openSession('ada', 'own')
    assert.equal((await own.api('PUT', '/users/ada/grants', { database: 'notes', level: 'ro' })).status, 200)
    const { grants } = (await own.api('GET', '/users/ada')).json
    await own.close()
    const now = await startInCouchdb()
    assert.deepEqual(await statusesOf(now, [['ada', 'own']]), [503])
    assert.equal((await now.api('POST', '/users', { name: 'zoe', password: 'pw' })).status, 503)
    assert.equal((await now.api('POST', '/directory/adoption', { replace: true })).status, 200)
    await now.isReady()
    assert.deepEqual(await statusesOf(now, SIGN_INS), [200, 200, 401, 200, 200])
    assert.equal(await now.isSignedIn(cookie), true)
    const ada = await users.get(toId('ada'))
    assert.deepEqual([ada['roles'], ada['password_scheme']], [['staff'], 'pbkdf2'])
    const shown = (await now.api('GET', '/users/ada')).json
    assert.deepEqual([shown.revision, shown.grants], [ada['_rev'], grants])
    assert.equal((await now.api('POST', '/directory/adoption', {})).json.phase, 'following')
    assert.equal((await users.get(toId('ada')))['_rev'], ada['_rev'])
  })

  it('after a list of what would change', async (t) => {
    const { users, startOwn } = await openScene(t, BEFORE)
    const own = await startOwn()
    await addUsers(own)
    const plan = { checked: 3, created: 2, replaced: ['bob'], kept: ['grace'], held: [] }
    assert.deepEqual((await own.api('GET', '/directory/adoption')).json, plan)
    assert.deepEqual((await own.api('GET', '/directory/others')).json, { names: ['eve'] })
    assert.equal((await own.api('POST', '/directory/adoption', { replace: true })).status, 409)
    await assert.rejects(users.get(toId('ada')), { status: 404 })
  })

  it('and replace other documents only if that is wanted', async (t) => {
    const { users, startOwn, startInCouchdb } = await openScene(t, BEFORE)
    const own = await startOwn()
    await addUsers(own)
    await own.close()
    const now = await startInCouchdb()
    const before = await users.get(toId('bob'))
    await now.api('POST', '/directory/adoption', {})
    const problem = async () => (await now.api('GET', '/directory')).json.problem
    await waitUntil(async () => /CouchDB has another document of the user bob/.test(await problem()))
    assert.deepEqual(await users.get(toId('bob')), before)
    assert.deepEqual(await statusesOf(now, [['bob', 'own']]), [503])
    await now.api('POST', '/directory/adoption', { replace: true })
    await now.isReady()
    assert.deepEqual(await statusesOf(now, SIGN_INS), [200, 200, 401, 200, 200])
  })
})

describe('the password of a user with limits that CouchDB does not know', () => {
  it('is not given to CouchDB before they end', async (t) => {
    const { users, startOwn, startInCouchdb } = await openScene(t, [])
    const own = await startOwn()
    await addUsers(own)
    await own.api('POST', '/users', { name: 'max', password: 'pw', mustChangePassword: true })
    assert.equal((await own.api('PUT', '/users/ada/active', { active: false })).status, 200)
    assert.deepEqual((await own.api('GET', '/directory/adoption')).json.held, ['ada', 'max'])
    await own.close()
    const now = await startInCouchdb()
    await now.api('POST', '/directory/adoption', {})
    await now.isReady()
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
    const { users, startOwn, startInCouchdb } = await openScene(t, [])
    const own = await startOwn()
    await addUsers(own)
    await own.close()
    const now = await startInCouchdb()
    await now.api('POST', '/directory/adoption', {})
    await now.isReady()
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
    const { database, users, startOwn, startInCouchdb } = await openScene(t, [])
    const own = await startOwn()
    await addUsers(own)
    await own.close()
    const now = await startInCouchdb()
    await now.api('POST', '/directory/adoption', {})
    await now.isReady()
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

describe('users of CouchDB become users of Cardea', () => {
  it('and who could not sign in is disabled', async (t) => {
    const { users, startOwn, startInCouchdb } = await openScene(t, [toDocument('ada'), toDocument('bob')])
    const there = await startInCouchdb()
    await there.isReady()
    const cookie = await there.openSession('ada')
    const { _rev: revision } = await users.get(toId('bob'))
    const other = { ...toDocument('bob', 'other'), _rev: `${String(revision).split('-')[0]}-${'f'.repeat(32)}` }
    await users.bulkDocs([other], { new_edits: false })
    await waitUntil(async () => (await there.api('GET', '/directory')).json.leftOut.length === 1)
    await there.close()
    const own = await startOwn()
    assert.equal(await own.isSignedIn(cookie), true)
    const bob = (await own.api('GET', '/users/bob')).json
    assert.deepEqual([bob.withheld, bob.active], [undefined, false])
    assert.equal((await own.api('PUT', '/users/bob/active', { active: true })).status, 200)
    // which of the two documents was the user's is not known: the password is the last that was
    assert.deepEqual(await statusesOf(own, BOTH_PASSWORDS), [200, 401])
  })
})
