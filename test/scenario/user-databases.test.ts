// A database for each user, at a document database in memory and at a stub of ArangoDB.
import assert from 'node:assert/strict'
import { createHmac } from 'node:crypto'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { describe, it } from 'node:test'
import { bySecurity, openPouchdbServer, toUserDatabase } from '../support/pouchdb-server.ts'
import { AUDIENCE, CLIENT, CLIENT_SECRET, startProvider } from '../support/provider.ts'
import { createBrowser, PUBLIC_URL } from '../support/provider-browser.ts'
import { AS_ADMIN, basic, type Request, send } from '../support/request.ts'
import { makeFolder, type Scope } from '../support/scope.ts'
import { type AnyOptions, type Server, startServer } from '../support/server.ts'
import { beforeDocument, beforeMultiModel, openBackend } from '../support/upstream.ts'
import {
  changeUser,
  hashPassword,
  toDocument as inCouchdb,
  openUsersInCouchdb,
  removeUser,
} from '../support/users-in-couchdb.ts'
import { waitUntil } from '../support/wait.ts'

/** Longer than anything takes. */
const WAIT = 120

async function openScene(scope: Scope, more: AnyOptions = {}, isEnabled = true) {
  const database = await openPouchdbServer(scope, { mayReach: bySecurity })
  const options = {
    chttpd_auth: { allow_sign_up: true, iterations: 1000 },
    auth: { 'peer-sign-ups-per-hour': 0, 'sign-ups-per-hour': 0 },
  }
  const enabled = { 'user-databases': { ...(isEnabled && { enabled: true }), wait: WAIT } }
  const server = await startServer(scope, beforeDocument(database.url), options, enabled, more)
  const namesOf = (name: string) => database.securities.get(toUserDatabase(name))?.members?.names ?? []
  const hasOwn = (name: string) => waitUntil(() => namesOf(name).includes(name))
  return { database, server, namesOf, hasOwn }
}

type Scene = Pick<Awaited<ReturnType<typeof openScene>>, 'database' | 'server'>

const toDocument = (name: string) => ({
  _id: `org.couchdb.user:${name}`,
  type: 'user',
  name,
  password: 'pw',
  roles: [],
})

const signIn = ({ document }: Server, name: string) =>
  send(document, { method: 'POST', path: '/_session', body: { name, password: 'pw' } })

const showState = async ({ document }: Server, name: string) =>
  (await send(document, { path: `/_cardea/api/users/${encodeURIComponent(name)}/databases`, as: AS_ADMIN })).json
    .databases[0]

const showProgress = async ({ document }: Server) =>
  (await send(document, { path: '/_cardea/api/databases/of-users', as: AS_ADMIN })).json

const giveDatabase = ({ document }: Server, name: string) =>
  send(document, { method: 'POST', path: `/_cardea/api/users/${name}/databases`, as: AS_ADMIN })

const isDone = async (server: Server) => (await showProgress(server)).waiting === 0

/** Creates the user while the store cannot say which database it has: the first attempt gives it one, and fails then. */
async function createInterrupted(server: Server, file: string, write: () => unknown): Promise<void> {
  const store = new DatabaseSync(file, { timeout: 5000 })
  store.exec('ALTER TABLE cardea_own_databases RENAME TO hidden')
  await server.cardea.users.create({ name: 'ada', password: 'pw' })
  const jobs = store.prepare("SELECT 1 FROM cardea_jobs WHERE kind = 'user-database' AND problem <> ''")
  await waitUntil(() => jobs.all().length > 0)
  await write()
  store.exec('ALTER TABLE hidden RENAME TO cardea_own_databases')
  store.close()
  await waitUntil(() => isDone(server))
}

/** The requests that create a user. The library, the command line and providers end in the same write. */
const WAYS: Readonly<Record<string, (name: string) => Request & { readonly isMultiModel?: boolean }>> = {
  'PUT /_users': (name) => ({ method: 'PUT', path: `/_users/org.couchdb.user:${name}`, body: toDocument(name) }),
  'POST /_users/_bulk_docs': (name) => ({
    method: 'POST',
    path: '/_users/_bulk_docs',
    as: AS_ADMIN,
    body: { docs: [toDocument(name)] },
  }),
  'sign-up': (name) => ({ method: 'POST', path: '/_cardea/account/sign-up', body: { name, password: 'pw' } }),
  'the admin API': (name) => ({
    method: 'POST',
    path: '/_cardea/api/users',
    as: AS_ADMIN,
    body: { name, password: 'pw' },
  }),
  'POST /_api/user': (name) => ({
    method: 'POST',
    path: '/_api/user',
    as: AS_ADMIN,
    body: { user: name, passwd: 'pw' },
    isMultiModel: true,
  }),
}

describe('a user has a database of its own', () => {
  it('however it was created', async (t) => {
    const { server, hasOwn } = await openScene(t)
    const names = Object.values(WAYS).map((toRequest, index) => [`user${index}`, toRequest] as const)
    for (const [name, toRequest] of names) {
      const { isMultiModel, ...request } = toRequest(name)
      const { status, body } = await send(isMultiModel ? server.multiModel : server.document, request)
      assert.ok(status === 200 || status === 201, `${request.path}: ${status} ${body}`)
    }
    await server.cardea.users.create({ name: 'library', password: 'pw' })
    for (const name of [...names.map(([each]) => each), 'library']) await hasOwn(name)
  })

  it('if it comes from a provider, at its first sign-in', async (t) => {
    const provider = await startProvider(t)
    const { issuer } = provider
    const open = { issuer, audience: AUDIENCE, 'client-id': CLIENT, 'client-secret': CLIENT_SECRET, users: 'create' }
    const { server, namesOf } = await openScene(t, { console: { 'public-url': PUBLIC_URL }, 'provider:open': open })
    provider.state.idToken = { sub: 'c-1', preferred_username: 'jan' }
    const browser = createBrowser(server.document)
    assert.equal((await browser.finish('open', await browser.visit('open'))).name, 'jan')
    assert.deepEqual(namesOf('jan'), ['jan'], 'the sign-in waited for it')
  })

  it('with the _security that couch_peruser writes, and its sign-in waits for that', async (t) => {
    const { server, database } = await openScene(t)
    await server.cardea.users.create({ name: 'Ada Ü', password: 'pw' })
    assert.equal((await signIn(server, 'Ada Ü')).status, 200)
    const name = 'userdb-41646120c39c'
    const expected = {
      admins: { roles: ['_admin'], names: ['Ada Ü'] },
      members: { roles: ['_admin'], names: ['Ada Ü'] },
    }
    assert.equal(JSON.stringify(database.securities.get(name)), JSON.stringify(expected))
    const as = basic('Ada Ü', 'pw')
    const account = await send(server.document, { path: '/_cardea/api/account', as })
    assert.equal(account.json.database, name)
    const written = await send(server.document, { method: 'PUT', path: `/${name}/note`, as, body: { text: 'x' } })
    assert.equal(written.status, 201)
    const created = server.takeEvents().filter(({ event }) => event.startsWith('user-database.'))
    assert.deepEqual(
      created.map(({ event, subject, database: of, server: where }) => [event, subject, of, where]),
      [['user-database.created', 'Ada Ü', name, 'CouchDB']],
    )
  })

  it('at its next sign-in, or by create-missing, if it is from before', async (t) => {
    const { server, hasOwn, namesOf } = await openScene(t, {}, false)
    for (const name of ['ada', 'bob', 'eve']) await server.cardea.users.create({ name, password: 'pw' })
    await signIn(server, 'ada')
    assert.deepEqual((await send(server.document, { path: '/_cardea/api/users/ada/databases', as: AS_ADMIN })).json, {
      databases: [],
    })
    const path = '/_cardea/api/databases/of-users'
    assert.equal((await send(server.document, { method: 'POST', path, as: AS_ADMIN })).status, 400)
    await send(server.document, {
      method: 'PUT',
      path: '/_cardea/api/settings/user-databases/enabled',
      as: AS_ADMIN,
      body: { value: 'true' },
    })
    assert.equal((await showState(server, 'ada')).state, 'missing')
    assert.equal((await signIn(server, 'ada')).status, 200)
    assert.deepEqual(namesOf('ada'), ['ada'])
    assert.equal((await showState(server, 'ada')).state, 'ready')
    assert.equal((await showState(server, 'bob')).state, 'missing')
    assert.deepEqual((await giveDatabase(server, 'bob')).json, { wished: 0 }, 'none was refused')
    const { json } = await send(server.document, { method: 'POST', path, as: AS_ADMIN })
    assert.deepEqual(json, { checked: 3, wished: 2 })
    for (const name of ['bob', 'eve']) await hasOwn(name)
    await waitUntil(() => isDone(server))
    assert.deepEqual((await send(server.document, { method: 'POST', path, as: AS_ADMIN })).json, {
      checked: 3,
      wished: 0,
    })
  })

  it('and signs in without one where the store cannot say whether it has', async (t) => {
    const file = join(makeFolder(t), 'cardea.db')
    const { server } = await openScene(t, { store: { url: `sqlite:${file}` } })
    await server.cardea.users.create({ name: 'ada', password: 'pw' })
    await waitUntil(() => isDone(server))
    const store = new DatabaseSync(file)
    store.exec('DROP TABLE cardea_own_databases')
    store.close()
    assert.equal((await signIn(server, 'ada')).status, 200)
  })

  it('with what was written there before an attempt to create it was repeated', async (t) => {
    const file = join(makeFolder(t), 'cardea.db')
    const { server, database } = await openScene(t, { store: { url: `sqlite:${file}` } })
    await createInterrupted(server, file, () => database.open(toUserDatabase('ada')).put({ _id: '_design/app' }))
    assert.equal((await showState(server, 'ada')).state, 'ready')
  })

  it('after a time without CouchDB in which 200 signed up', async (t) => {
    const { server, database, namesOf } = await openScene(t, { 'user-databases': { wait: 0 } })
    await database.setDown(true)
    const names = Array.from({ length: 200 }, (_, index) => `user${index}`)
    for (const name of names) {
      const body = { name, password: 'pw' }
      const path = '/_cardea/account/sign-up'
      assert.equal((await send(server.document, { method: 'POST', path, body })).status, 201)
    }
    assert.equal((await signIn(server, 'user0')).status, 200, 'a session without the database')
    const early = await send(server.document, { path: `/${toUserDatabase('user0')}`, as: basic('user0', 'pw') })
    assert.equal(early.status, 503)
    assert.equal((await showState(server, 'user0')).state, 'waiting')
    await database.setDown(false)
    await waitUntil(() => isDone(server))
    assert.deepEqual(
      names.filter((name) => !namesOf(name).includes(name)),
      [],
    )
    const late = await send(server.document, { path: `/${toUserDatabase('user0')}`, as: basic('user0', 'pw') })
    assert.equal(late.status, 200)
  })
})

describe('an existing database', () => {
  const FOREIGN = { admins: { names: ['bob'] }, members: { names: ['bob'], roles: ['team'] } }

  it('that names the user is its own, and the rest of _security stays', async (t) => {
    const { server, database } = await openScene(t)
    const name = toUserDatabase('ada')
    await send(server.document, { method: 'PUT', path: `/${name}`, as: AS_ADMIN })
    const security = { members: { names: ['eve', 'ada'], roles: ['team'] }, cloudant: { nobody: [] } }
    await send(server.document, { method: 'PUT', path: `/${name}/_security`, as: AS_ADMIN, body: security })
    await send(server.document, { method: 'PUT', path: `/${name}/note`, as: AS_ADMIN, body: { text: 'x' } })
    await importUser(server, 'ada')
    await waitUntil(() => isDone(server))
    assert.deepEqual(database.securities.get(name), { ...security, admins: { names: ['ada'] } })
  })

  it('that names other users is reported and not taken, once', async (t) => {
    const { server, database } = await openScene(t)
    const name = toUserDatabase('ada')
    await send(server.document, { method: 'PUT', path: `/${name}`, as: AS_ADMIN })
    await send(server.document, { method: 'PUT', path: `/${name}/_security`, as: AS_ADMIN, body: FOREIGN })
    await server.cardea.users.create({ name: 'ada', password: 'pw' })
    for (let times = 0; times < 2; times += 1) assert.equal((await signIn(server, 'ada')).status, 200)
    assert.deepEqual(database.securities.get(name), FOREIGN)
    const reason = 'the database exists, and its _security names other users'
    assert.deepEqual(await showState(server, 'ada'), { server: 'CouchDB', database: name, state: 'refused', reason })
    const health = await send(server.document, { path: '/_cardea/api/overview', as: AS_ADMIN })
    assert.match(health.body, /databases of users that need a decision: 1/)
    const refused = server.takeEvents().filter(({ event }) => event === 'user-database.refused')
    assert.deepEqual(
      refused.map(({ subject, reason: why }) => [subject, why]),
      [['ada', reason]],
    )
    const { json } = await send(server.document, { path: '/_cardea/api/databases/of-users', as: AS_ADMIN })
    assert.deepEqual(
      json.refused.map(({ user }: { user: string }) => user),
      ['ada'],
    )
    // the administrator decides
    await giveDatabase(server, 'ada')
    await waitUntil(async () => (await showState(server, 'ada')).state === 'ready')
    const { admins, members } = FOREIGN
    assert.deepEqual(database.securities.get(name), {
      admins: { names: ['ada', ...admins.names] },
      members: { ...members, names: ['ada', ...members.names] },
    })
  })

  it('that is empty and names no user is taken: its creation was interrupted', async (t) => {
    const { server, hasOwn } = await openScene(t)
    await send(server.document, { method: 'PUT', path: `/${toUserDatabase('ada')}`, as: AS_ADMIN })
    await server.cardea.users.create({ name: 'ada', password: 'pw' })
    await hasOwn('ada')
  })

  it('that is empty, with roles that are no administrators, is reported and not taken', async (t) => {
    const { server, database } = await openScene(t)
    for (const [user, security] of [
      ['ada', { members: { roles: ['team'] } }],
      ['bob', { admins: { roles: ['_admin', 'team'] }, members: { roles: ['_admin'] } }],
    ] as const) {
      const name = toUserDatabase(user)
      await send(server.document, { method: 'PUT', path: `/${name}`, as: AS_ADMIN })
      await send(server.document, { method: 'PUT', path: `/${name}/_security`, as: AS_ADMIN, body: security })
      await server.cardea.users.create({ name: user, password: 'pw' })
      await waitUntil(() => isDone(server))
      assert.equal((await showState(server, user)).reason, 'the database exists, and its _security names roles')
      assert.deepEqual(database.securities.get(name), security)
    }
  })

  it('whose _security is large is read, and reported if it is larger than a mebibyte', async (t) => {
    const { server, database, namesOf } = await openScene(t)
    for (const [user, bytes] of [
      ['ada', 100_000],
      ['bob', 1_100_000],
    ] as const) {
      await send(server.document, { method: 'PUT', path: `/${toUserDatabase(user)}`, as: AS_ADMIN })
      const names = [user, 'x'.repeat(bytes)]
      database.securities.set(toUserDatabase(user), { admins: { names }, members: { names } })
      await importUser(server, user)
    }
    await waitUntil(() => isDone(server))
    assert.equal((await showState(server, 'ada')).state, 'ready')
    assert.equal((await showState(server, 'bob')).reason, 'the database exists, and its _security cannot be read')
    // the next user of the name must not be among its members
    await server.cardea.users.remove('bob')
    await waitUntil(() => isDone(server))
    assert.deepEqual(namesOf('bob'), [])
    assert.deepEqual(database.securities.get(toUserDatabase('bob'))?.members, { roles: ['_admin'] })
  })

  it('that was refused is not used until it is accepted: what it lets the user write, others may read', async (t) => {
    const { server, database } = await openScene(t)
    const path = `/${toUserDatabase('ada')}`
    await send(server.document, { method: 'PUT', path, as: AS_ADMIN })
    database.securities.set(toUserDatabase('ada'), { members: { names: ['eve'] } })
    await server.cardea.users.create({ name: 'ada', password: 'pw' })
    await waitUntil(async () => (await showState(server, 'ada')).state === 'refused')
    // the role of a member, for example
    database.securities.set(toUserDatabase('ada'), { members: { names: ['eve', 'ada'] } })
    const write = () => send(server.document, { method: 'PUT', path: `${path}/x`, as: basic('ada', 'pw'), body: {} })
    const { status, json } = await write()
    assert.deepEqual([status, json.reason], [403, 'This database is not yours: an administrator has to decide.'])
    const own = async () => (await send(server.document, { path: '/_cardea/account', as: basic('ada', 'pw') })).json
    assert.deepEqual([(await own()).name, (await own()).database], ['ada', undefined])
    assert.equal((await send(server.document, { path: `${path}/x`, as: AS_ADMIN })).status, 404)
    await giveDatabase(server, 'ada')
    await waitUntil(async () => (await showState(server, 'ada')).state === 'ready')
    assert.equal((await write()).status, 201)
    assert.equal((await own()).database, toUserDatabase('ada'))
  })

  it('whose name CouchDB refuses is reported, and a refused signature is not', async (t) => {
    const { server, database } = await openScene(t)
    database.refuseCreation('bad_request')
    await server.cardea.users.create({ name: 'ada', password: 'pw' })
    await waitUntil(async () => (await showProgress(server)).problem !== undefined)
    assert.equal((await showState(server, 'ada')).state, 'waiting')
    database.refuseCreation('illegal_database_name')
    await waitUntil(() => isDone(server))
    assert.equal((await showState(server, 'ada')).reason, 'CouchDB refuses its name: illegal_database_name')
  })

  it('whose name would be too long is reported and not tried again', async (t) => {
    const { server, database } = await openScene(t)
    const name = 'x'.repeat(116)
    await server.cardea.users.create({ name, password: 'pw' })
    await server.cardea.users.create({ name: name.slice(1), password: 'pw' })
    await waitUntil(() => isDone(server))
    const { state, reason } = await showState(server, name)
    assert.deepEqual(
      [state, reason],
      ['refused', 'the name of the user is too long: a database in CouchDB has at most 238 characters'],
    )
    assert.equal((await showState(server, name.slice(1))).state, 'ready')
    const asked = database.asked.length
    await server.cardea.users.remove(name)
    await waitUntil(() => isDone(server))
    assert.equal(database.asked.length, asked, 'there is no such database to keep')
  })
})

/** Names the user in `_security`, in the database that has a document. */
async function fillDatabase({ server, database }: Scene, user: string) {
  const name = toUserDatabase(user)
  const { document } = server
  await send(document, { method: 'PUT', path: `/${name}`, as: AS_ADMIN })
  await send(document, { method: 'PUT', path: `/${name}/note`, as: AS_ADMIN, body: { text: 'x' } })
  database.securities.set(name, { admins: { names: [user] }, members: { names: [user] } })
  return name
}

const importUser = ({ document }: Server, name: string) =>
  send(document, {
    method: 'POST',
    path: '/_cardea/api/transfer/users',
    as: AS_ADMIN,
    body: { users: [{ name }] },
  })

const runCreateMissing = async ({ document }: Server, query = '') =>
  (await send(document, { method: 'POST', path: `/_cardea/api/databases/of-users${query}`, as: AS_ADMIN })).json

describe('the database of a user that the store has lost', () => {
  const SIGN_UP = { method: 'POST', path: '/_cardea/account/sign-up', body: { name: 'mary', password: 'pw' } }

  it('is not that of a new user of the name, until an administrator gives it', async (t) => {
    const scene = await openScene(t)
    const { server, database } = scene
    const name = await fillDatabase(scene, 'mary')
    assert.equal((await send(server.document, SIGN_UP)).status, 201)
    const read = () => send(server.document, { path: `/${name}/note`, as: basic('mary', 'pw') })
    assert.equal((await read()).status, 403)
    const { state, reason } = await showState(server, 'mary')
    assert.deepEqual([state, reason], ['refused', 'the database exists, with documents of an earlier user'])
    // a command for all users decides nothing
    assert.deepEqual(await runCreateMissing(server), { checked: 1, wished: 1 })
    await waitUntil(() => isDone(server))
    assert.equal((await read()).status, 403)
    assert.deepEqual(database.securities.get(name)?.members?.names, ['mary'], 'it is only reported')
    server.takeEvents()
    assert.equal((await giveDatabase(server, 'mary')).status, 200)
    await waitUntil(() => isDone(server))
    assert.equal((await read()).status, 200)
    assert.deepEqual(
      server
        .takeEvents()
        .flatMap(({ event, subject }) => (event.startsWith('user-database.') ? [[event, subject]] : [])),
      [
        ['user-database.given', 'mary'],
        ['user-database.created', 'mary'],
      ],
    )
  })

  it('is that of the user if it is imported', async (t) => {
    const scene = await openScene(t)
    await fillDatabase(scene, 'mary')
    await importUser(scene.server, 'mary')
    await waitUntil(() => isDone(scene.server))
    assert.equal((await showState(scene.server, 'mary')).state, 'ready')
  })

  it('is named, so that an administrator finds it', async (t) => {
    const scene = await openScene(t)
    const { server } = scene
    await server.cardea.users.create({ name: 'ada', password: 'pw' })
    await waitUntil(() => isDone(server))
    const name = await fillDatabase(scene, 'Mary Ü')
    for (const path of ['/userdb-x', '/userdb-6', '/userdb-ff', '/shop'])
      await send(server.document, { method: 'PUT', path, as: AS_ADMIN })
    const { json } = await send(server.document, { path: '/_cardea/api/databases/without-user', as: AS_ADMIN })
    assert.deepEqual(json, { databases: [{ server: 'CouchDB', database: name, user: 'Mary Ü' }] })
  })
})

it('a database that CouchDB has lost is created again by create-missing --all, and no other is changed', async (t) => {
  const { server, database, namesOf } = await openScene(t)
  for (const name of ['ada', 'bob', 'eve']) await server.cardea.users.create({ name, password: 'pw' })
  await waitUntil(() => isDone(server))
  await send(server.document, { method: 'DELETE', path: `/${toUserDatabase('ada')}`, as: AS_ADMIN })
  database.securities.set(toUserDatabase('bob'), { admins: { roles: ['_admin'] }, members: { roles: ['_admin'] } })
  await database.open(toUserDatabase('bob')).put({ _id: 'note' })
  server.takeEvents()
  assert.deepEqual(await runCreateMissing(server), { checked: 3, wished: 0 })
  assert.deepEqual(await runCreateMissing(server, '?all=true'), { checked: 3, wished: 3 })
  await waitUntil(() => isDone(server))
  assert.deepEqual(namesOf('ada'), ['ada'])
  const states = await Promise.all(['ada', 'bob', 'eve'].map(async (name) => (await showState(server, name)).state))
  assert.deepEqual(states, ['ready', 'refused', 'ready'])
  assert.deepEqual(
    server
      .takeEvents()
      .flatMap(({ event, subject }) => (event.startsWith('user-database.') ? [`${event} ${subject}`] : [])),
    ['user-database.created ada', 'user-database.refused bob'],
  )
})

it('after a change of the prefix a user has the new database, and the earlier one is taken from it, too', async (t) => {
  const { server, database } = await openScene(t)
  await server.cardea.users.create({ name: 'ada', password: 'pw' })
  await signIn(server, 'ada')
  const [before, after] = [toUserDatabase('ada'), 'app-616461']
  const read = () => send(server.document, { path: `/${after}/note`, as: basic('ada', 'pw') })
  assert.equal((await send(server.document, { path: `/${before}`, as: basic('ada', 'pw') })).status, 200)
  await send(server.document, { method: 'PUT', path: `/${after}`, as: AS_ADMIN })
  database.securities.set(after, { members: { names: ['bob'] } })
  await send(server.document, {
    method: 'PUT',
    path: '/_cardea/api/settings/user-databases/prefix',
    as: AS_ADMIN,
    body: { value: 'app-' },
  })
  await signIn(server, 'ada')
  database.securities.set(after, { members: { names: ['bob', 'ada'] } })
  assert.equal((await read()).status, 403, 'the new one is refused')
  const { json } = await send(server.document, { path: '/_cardea/api/users/ada/databases', as: AS_ADMIN })
  assert.deepEqual(
    json.databases.map(({ database: name, state }: Record<string, string>) => [name, state]),
    [
      [after, 'refused'],
      [before, 'ready'],
    ],
  )
  await server.cardea.users.remove('ada')
  await waitUntil(() => isDone(server))
  assert.deepEqual(database.securities.get(before)?.members?.names, [])
})

it('a JWT with the name of a user waits for its database, too, and does not use a refused one', async (t) => {
  const secret = 'a secret of another issuer, 32 bytes long'
  const jwt_keys = { 'hmac:other': Buffer.from(secret).toString('base64') }
  const scene = await openScene(t, { jwt_keys })
  const { server, database } = scene
  const name = await fillDatabase(scene, 'ada')
  await server.cardea.users.create({ name: 'ada', password: 'pw' })
  await waitUntil(() => isDone(server))
  const toHeaders = (sub: string) => {
    const encode = (part: object) => Buffer.from(JSON.stringify(part)).toString('base64url')
    const signed = `${encode({ alg: 'HS256', kid: 'other' })}.${encode({ sub, exp: 4e9 })}`
    return { Authorization: `Bearer ${signed}.${createHmac('sha256', secret).update(signed).digest('base64url')}` }
  }
  const read = (user: string) => send(server.document, { path: `/${toUserDatabase(user)}`, headers: toHeaders(user) })
  assert.equal((await read('ada')).status, 403)
  await fillDatabase(scene, 'nemo')
  assert.equal((await read('nemo')).status, 200, 'a name without a user is that of the issuer alone')
  assert.equal(name, toUserDatabase('ada'))
  await database.setDown(true)
  await server.cardea.users.create({ name: 'bob', password: 'pw' })
  const waiting = read('bob')
  await database.setDown(false)
  assert.equal((await waiting).status, 200)
})

describe('the database of a deleted user', () => {
  it('is kept without its name, and a later user of the name does not get it', async (t) => {
    const { server, database } = await openScene(t)
    const name = toUserDatabase('ada')
    await server.cardea.users.create({ name: 'ada', password: 'pw' })
    await signIn(server, 'ada')
    await send(server.document, { method: 'PUT', path: `/${name}/note`, as: basic('ada', 'pw'), body: { text: 'x' } })
    // while CouchDB is down the name stays in `_security`: the next user must not reach the database meanwhile
    await database.setDown(true)
    await server.cardea.users.remove('ada')
    await server.cardea.users.create({ name: 'ada', password: 'pw' })
    const waiting = send(server.document, { path: `/${name}/note`, as: basic('ada', 'pw') })
    await database.setDown(false)
    assert.equal((await waiting).status, 403)
    assert.deepEqual(database.securities.get(name)?.members, { roles: ['_admin'], names: [] })
    const { state, reason } = await showState(server, 'ada')
    assert.deepEqual([state, reason], ['refused', 'the database exists, with documents of an earlier user'])
  })

  it('is not opened to everyone where only its name was a member', async (t) => {
    const { server, database } = await openScene(t)
    const name = toUserDatabase('ada')
    await server.cardea.users.create({ name: 'ada', password: 'pw' })
    await signIn(server, 'ada')
    database.securities.set(name, { admins: { names: ['ada'] }, members: { names: ['ada'], roles: [] } })
    await server.cardea.users.remove('ada')
    await waitUntil(() => database.securities.get(name)?.members?.names?.length === 0)
    assert.deepEqual(database.securities.get(name)?.members, { names: [], roles: ['_admin'] })
  })

  it('is taken from its name, too, where CouchDB reads `readers` for want of `members`', async (t) => {
    const { server, database } = await openScene(t)
    const name = toUserDatabase('ada')
    await server.cardea.users.create({ name: 'ada', password: 'pw' })
    await signIn(server, 'ada')
    const planted = { admins: { names: [] }, readers: { names: ['ada'] } }
    database.securities.set(name, planted)
    await server.cardea.users.remove('ada')
    await waitUntil(() => isDone(server))
    assert.deepEqual(database.securities.get(name)?.members, { names: [], roles: ['_admin'] })
  })

  it('is removed where the option says so, and a later user of the name gets an empty one', async (t) => {
    const { server, database, hasOwn } = await openScene(t, { 'user-databases': { 'on-delete': 'remove' } })
    const path = `/${toUserDatabase('ada')}/note`
    await server.cardea.users.create({ name: 'ada', password: 'pw' })
    await signIn(server, 'ada')
    await send(server.document, { method: 'PUT', path, as: basic('ada', 'pw'), body: { text: 'x' } })
    await server.cardea.users.remove('ada')
    await waitUntil(() => !database.securities.has(toUserDatabase('ada')))
    await server.cardea.users.create({ name: 'ada', password: 'pw' })
    await hasOwn('ada')
    assert.equal((await send(server.document, { path, as: basic('ada', 'pw') })).status, 404)
  })

  it('is taken from it, too, where an administrator had granted one that was refused', async (t) => {
    const { server, database, namesOf } = await openScene(t, { 'user-databases': { 'on-delete': 'remove' } })
    const name = toUserDatabase('ada')
    await send(server.document, { method: 'PUT', path: `/${name}`, as: AS_ADMIN })
    database.securities.set(name, { members: { names: ['bob'] } })
    await server.cardea.users.create({ name: 'ada', password: 'pw' })
    await waitUntil(async () => (await showState(server, 'ada')).state === 'refused')
    database.securities.set(name, { members: { names: ['bob', 'ada'] } })
    await server.cardea.users.remove('ada')
    await waitUntil(() => isDone(server))
    assert.deepEqual(namesOf('ada'), ['bob'])
  })

  it('is not removed if it names other users only', async (t) => {
    const { server, database } = await openScene(t, { 'user-databases': { 'on-delete': 'remove' } })
    const name = toUserDatabase('ada')
    await server.cardea.users.create({ name: 'ada', password: 'pw' })
    await signIn(server, 'ada')
    database.securities.set(name, { members: { names: ['bob'] } })
    await server.cardea.users.remove('ada')
    await waitUntil(() => isDone(server))
    assert.deepEqual(database.securities.get(name), { members: { names: ['bob'] } })
  })
})

describe('users that stay in CouchDB', () => {
  async function openMirror(scope: Scope, onDelete: 'keep' | 'remove' = 'keep') {
    const scene = await openUsersInCouchdb(scope, [inCouchdb('ada')], {
      auth: { 'account-failures': 0, 'peer-failures': 0 },
      'user-databases': { enabled: true, wait: WAIT, 'on-delete': onDelete },
    })
    await scene.isReady()
    const namesOf = (name: string) => scene.database.securities.get(toUserDatabase(name))?.members?.names
    return { ...scene, namesOf }
  }

  it('have databases, from the first copy on, which are taken from those that are deleted there', async (t) => {
    const { users, server, namesOf } = await openMirror(t)
    await waitUntil(() => namesOf('ada')?.includes('ada') === true)
    await users.put(inCouchdb('bob'))
    await waitUntil(() => namesOf('bob')?.includes('bob') === true)
    await removeUser(users, 'bob')
    await waitUntil(() => namesOf('bob')?.length === 0)
    assert.equal((await showState(server, 'ada')).state, 'ready')
  })

  it('keep their data where it is not certain that they were deleted', async (t) => {
    const { users, database, namesOf, becomes, server } = await openMirror(t, 'remove')
    const name = toUserDatabase('ada')
    await waitUntil(async () => (await showState(server, 'ada')).state === 'ready')
    await database.open(name).put({ _id: 'note' })
    await database.setDown(true)
    // CouchDB no longer knows what was between: the password may be that of another user
    await changeUser(users, 'ada', hashPassword('other'))
    await changeUser(users, 'ada', hashPassword('new'))
    await users.compact()
    await database.setDown(false)
    await becomes(200, 'ada', 'new')
    await waitUntil(async () => (await showState(server, 'ada')).state === 'refused')
    assert.deepEqual(namesOf('ada'), [])
    assert.equal((await database.open(name).get('note'))['_id'], 'note')
  })
})

it('with enforced grants, a user may use its own database, unless a grant on it says less', async (t) => {
  const { server } = await openScene(t, { document: { grants: 'enforce' } })
  for (const name of ['ada', 'bob']) {
    await server.cardea.users.create({ name, password: 'pw' })
    await signIn(server, name)
  }
  const status = async (as: string, of: string, method = 'PUT') =>
    (await send(server.document, { method, path: `/${toUserDatabase(of)}/x`, as: basic(as, 'pw'), body: {} })).status
  assert.deepEqual([await status('ada', 'ada'), await status('ada', 'bob')], [201, 404])
  await server.cardea.users.update('bob', { grants: { [toUserDatabase('bob')]: 'ro' } })
  assert.equal(await status('bob', 'bob'), 403)
})

describe('in ArangoDB', () => {
  /** As much of ArangoDB as this needs. `isSlow`: the first reply breaks off, and the grant follows at the next request. */
  async function openArangodb(scope: Scope, isSlow = false) {
    const late: (() => void)[] = []
    const grants = new Map<string, string>()
    const collections = new Map<string, readonly object[]>()
    const databases = new Set(['_system'])
    const state = { isDown: false }
    const backend = await openBackend(scope, (request, response, body) => {
      const { method, url = '' } = request
      if (state.isDown) return void response.writeHead(500).end()
      const [, user = '', database = ''] = /^\/_db\/_system\/_api\/user\/([^/]+)\/database\/([^/]+)$/.exec(url) ?? []
      const reply = (status: number, result?: unknown, errorMessage?: string) =>
        response.writeHead(status, { 'Content-Type': 'application/json' }).end(JSON.stringify({ result, errorMessage }))
      if (method === 'POST' && url === '/_db/_system/_api/database') {
        const sent = JSON.parse(body.toString())
        if (sent.name === 'userdb-78') return void reply(400, undefined, 'database name invalid')
        if (databases.has(sent.name)) return void reply(409)
        databases.add(sent.name)
        for (const { username, passwd } of sent.users) {
          assert.ok(passwd.length > 40, 'no user without a password')
          if (isSlow) late.push(() => grants.set(`${username} ${sent.name}`, 'rw'))
          else grants.set(`${username} ${sent.name}`, 'rw')
        }
        if (isSlow) return void response.destroy()
        return void reply(201, true)
      }
      const [, filled = ''] = /^\/_db\/([^/]+)\/_api\/collection\?excludeSystem=true$/.exec(url) ?? []
      if (filled) return void reply(200, collections.get(filled) ?? [])
      if (method === 'GET' && url === '/_db/_system/_api/database') return void reply(200, [...databases])
      if (user === '') return void reply(method === 'POST' ? 201 : 200, [])
      if (method === 'PUT') grants.set(`${user} ${database}`, JSON.parse(body.toString()).grant)
      if (method === 'DELETE') return void reply(grants.delete(`${user} ${database}`) ? 202 : 404)
      reply(200, grants.get(`${user} ${database}`) ?? 'none')
      for (const grant of late.splice(0)) grant()
    })
    return { backend, grants, collections, databases, state }
  }

  it('the user gets a database and rw on it, and a later user of the name neither', async (t) => {
    const { backend, grants, databases } = await openArangodb(t)
    const enabled = { 'user-databases': { enabled: true, wait: WAIT }, chttpd_auth: { iterations: 1000 } }
    const server = await startServer(t, beforeMultiModel(t, backend.url), enabled)
    await server.cardea.users.create({ name: 'ada', password: 'pw' })
    await signIn(server, 'ada')
    assert.deepEqual([...databases], ['_system', 'userdb-616461'])
    assert.deepEqual([...grants], [['ada userdb-616461', 'rw']])
    assert.deepEqual((await server.cardea.users.find('ada'))?.grants, { 'userdb-616461': 'rw' })
    await server.cardea.users.remove('ada')
    await server.cardea.users.create({ name: 'ada', password: 'pw' })
    await signIn(server, 'ada')
    assert.deepEqual([...grants], [])
    assert.deepEqual((await server.cardea.users.find('ada'))?.grants, {})
    assert.equal((await showState(server, 'ada')).reason, 'the database exists, and the user has no grant on it')
  })

  it('a new user of a lost name gets what is in its database only from an administrator', async (t) => {
    const { backend, grants, collections, databases } = await openArangodb(t)
    const enabled = { 'user-databases': { enabled: true, wait: WAIT }, chttpd_auth: { iterations: 1000 } }
    const server = await startServer(t, beforeMultiModel(t, backend.url), enabled)
    for (const name of ['ada', 'bob', 'eve']) databases.add(toUserDatabase(name))
    for (const name of ['ada', 'bob']) grants.set(`${name} ${toUserDatabase(name)}`, 'rw')
    collections.set(toUserDatabase('ada'), [{ name: 'notes' }])
    const { json } = await send(server.document, { path: '/_cardea/api/databases/without-user', as: AS_ADMIN })
    assert.deepEqual(
      json.databases.map(({ user }: { readonly user: string }) => user),
      ['ada', 'bob', 'eve'],
    )
    const grantsOf = async (name: string) => (await server.cardea.users.find(name))?.grants
    for (const name of ['ada', 'bob', 'eve']) await server.cardea.users.create({ name, password: 'pw' })
    await waitUntil(() => isDone(server))
    assert.equal((await showState(server, 'ada')).reason, 'the database exists, with collections of an earlier user')
    assert.deepEqual(
      [await grantsOf('ada'), (await showState(server, 'bob')).state],
      [{}, 'ready'],
      'bob has an empty one',
    )
    for (const name of ['ada', 'eve']) await giveDatabase(server, name)
    await waitUntil(() => isDone(server))
    assert.deepEqual(await grantsOf('ada'), { 'userdb-616461': 'rw' })
    assert.equal(grants.get('eve userdb-657665'), 'rw')
  })

  it('a new user keeps what it wrote before an attempt to create its database was repeated', async (t) => {
    const { backend, collections } = await openArangodb(t)
    const file = join(makeFolder(t), 'cardea.db')
    const enabled = { 'user-databases': { enabled: true, wait: WAIT }, store: { url: `sqlite:${file}` } }
    const server = await startServer(t, beforeMultiModel(t, backend.url), enabled)
    await createInterrupted(server, file, () => collections.set(toUserDatabase('ada'), [{ name: 'notes' }]))
    assert.equal((await showState(server, 'ada')).state, 'ready')
  })

  it('a later user of the name gets no grant from the wish of the earlier one', async (t) => {
    const { backend, grants, databases, state } = await openArangodb(t)
    const enabled = { 'user-databases': { enabled: true, wait: 0 } }
    const server = await startServer(t, beforeMultiModel(t, backend.url), enabled)
    databases.add(toUserDatabase('ada'))
    grants.set(`ada ${toUserDatabase('ada')}`, 'rw')
    state.isDown = true
    await importUser(server, 'ada')
    await server.cardea.users.remove('ada')
    await server.cardea.users.create({ name: 'ada', password: 'pw' })
    state.isDown = false
    await waitUntil(() => isDone(server))
    assert.equal((await showState(server, 'ada')).state, 'refused')
    assert.deepEqual((await server.cardea.users.find('ada'))?.grants, {})
  })

  it('a creation that takes long is waited for, and a name that is refused is reported', async (t) => {
    const { backend } = await openArangodb(t, true)
    const enabled = { 'user-databases': { enabled: true, wait: WAIT }, chttpd_auth: { iterations: 1000 } }
    const server = await startServer(t, beforeMultiModel(t, backend.url), enabled)
    for (const name of ['ada', 'x']) await server.cardea.users.create({ name, password: 'pw' })
    await waitUntil(() => isDone(server))
    assert.equal((await showState(server, 'ada')).state, 'ready')
    assert.equal((await showState(server, 'x')).reason, 'ArangoDB refuses it: database name invalid')
  })
})
