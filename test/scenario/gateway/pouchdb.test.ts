// A real document database behind the door, with a shim before it that verifies the tokens of Cardea.
import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { createRequire } from 'node:module'
import { after, test } from 'node:test'
import { openPouchdbServer } from '../../support/pouchdb-server.ts'
import { ADMIN, send } from '../../support/request.ts'
import { type Server, startServer } from '../../support/server.ts'
import { beforeDocument } from '../../support/upstream.ts'

// none of these have types
const load = createRequire(import.meta.url)
const Pouch = load('pouchdb-core')
  .plugin(load('pouchdb-adapter-memory'))
  .plugin(load('pouchdb-adapter-http'))
  .plugin(load('pouchdb-replication'))

const JSON_TYPE = { 'Content-Type': 'application/json' }

/** One for all tests: in memory it keeps its list of databases for the whole process. */
const database = await openPouchdbServer({ after })

const makeUser = (front: Server, name: string) =>
  send(front.document, {
    method: 'PUT',
    path: `/_users/org.couchdb.user:${name}`,
    headers: { ...ADMIN, ...JSON_TYPE },
    body: JSON.stringify({ name, password: 'pw', roles: [], type: 'user' }),
  })

async function signIn(front: Server, name: string): Promise<string> {
  const body = JSON.stringify({ name, password: 'pw' })
  const answer = await send(front.document, { method: 'POST', path: '/_session', headers: JSON_TYPE, body })
  return answer.headers['set-cookie']?.[0]?.split(';')[0] ?? ''
}

interface Change {
  readonly id: string
}

function openRemote(front: Server, cookie: string, name = 'books') {
  const fetch = (url: string, given: RequestInit = {}) => {
    const headers = new Headers(given.headers)
    headers.set('Cookie', cookie)
    return globalThis.fetch(url, { ...given, headers })
  }
  return new Pouch(`${front.document}/${name}`, { adapter: 'http', fetch, skip_setup: true })
}

const nextName = (() => {
  let count = 0
  return () => `local-${count++}`
})()

test('PouchDB syncs both ways through Cardea, live, until the user is disabled', async (t) => {
  const front = await startServer(t, beforeDocument(database.url), { chttpd: { require_valid_user: true } })
  assert.equal((await send(front.document, { method: 'PUT', path: '/books', headers: ADMIN })).status, 201)
  await Promise.all(['ada', 'bob'].map((name) => makeUser(front, name)))
  const open = async (name: string) => {
    const local = new Pouch(nextName(), { adapter: 'memory' })
    const remote = openRemote(front, await signIn(front, name))
    const sync = local.sync(remote, { live: true, retry: false })
    const failed = new Promise<Error>((resolve) => sync.on('error', resolve).on('complete', resolve))
    return { local, sync, failed }
  }
  const [ada, bob] = [await open('ada'), await open('bob')]
  const arrives = (
    local: {
      changes(options: object): { on(event: string, listener: (change: Change) => void): void; cancel(): void }
    },
    id: string,
  ) =>
    new Promise<void>((resolve) => {
      const feed = local.changes({ live: true, since: 0 })
      feed.on('change', (change: Change) => {
        if (change.id !== id) return
        feed.cancel()
        resolve()
      })
    })
  await ada.local.put({ _id: 'from/ada', text: 'ø' })
  await arrives(bob.local, 'from/ada')
  await bob.local.put({ _id: 'from bob', n: 1 })
  await arrives(ada.local, 'from bob')
  // another session is opened and ended meanwhile
  const passing = await signIn(front, 'ada')
  await send(front.document, { method: 'DELETE', path: '/_session', headers: { Cookie: passing } })
  await ada.local.put({ _id: 'later' })
  await arrives(bob.local, 'later')
  const disabled = await send(front.multiModel, {
    method: 'PATCH',
    path: '/_api/user/bob',
    headers: { ...ADMIN, ...JSON_TYPE },
    body: JSON.stringify({ active: false }),
  })
  assert.equal(disabled.status, 200)
  await bob.failed
  await ada.local.put({ _id: 'after' })
  assert.deepEqual([...database.users].sort(), ['ada', 'admin', 'bob'])
  ada.sync.cancel()
  bob.sync.cancel()
})

// transport.test.ts sends more: the stand-in for CouchDB needs 20 s for 100 MiB
test('ids with %2F and attachments of 8 MiB arrive unchanged', async (t) => {
  const front = await startServer(t, beforeDocument(database.url))
  const made = await send(front.document, { method: 'PUT', path: '/files', headers: ADMIN })
  assert.equal(made.status, 201, made.body)
  const put = await send(front.document, {
    method: 'PUT',
    path: '/files/a%2Fb',
    headers: { ...ADMIN, ...JSON_TYPE },
    body: '{"x":1}',
  })
  assert.equal(JSON.parse(put.body).id, 'a/b', put.body)
  const bytes = randomBytes(8 << 20)
  const place = `${front.document}/files/a%2Fb/big.bin`
  const headers = { ...ADMIN, 'Content-Type': 'application/octet-stream' }
  const stored = await fetch(`${place}?rev=${JSON.parse(put.body).rev}`, { method: 'PUT', headers, body: bytes })
  assert.equal(stored.status, 201, await stored.text())
  const back = await fetch(place, { headers: ADMIN })
  assert.ok(bytes.equals(Buffer.from(await back.arrayBuffer())))
})

test('with the grant ro, PouchDB pulls from a database, and nothing that it pushes arrives', async (t) => {
  const front = await startServer(t, beforeDocument(database.url), { document: { grants: 'enforce' } })
  const asAdmin = (method: string, path: string, body = '') =>
    send(front.document, { method, path, headers: { ...ADMIN, ...JSON_TYPE }, body })
  assert.equal((await asAdmin('PUT', '/catalogue')).status, 201)
  for (const id of ['a', 'b%2Fc', '_design%2Fapp'])
    assert.equal((await asAdmin('PUT', `/catalogue/${id}`, '{}')).status, 201)
  await front.cardea.users.create({ name: 'reader', password: 'pw', grants: { catalogue: 'ro' } })
  const remote = openRemote(front, await signIn(front, 'reader'), 'catalogue')
  const local = new Pouch(nextName(), { adapter: 'memory' })
  const pulled = await local.replicate.from(remote)
  assert.deepEqual([pulled.ok, pulled.docs_written], [true, 3])
  // its checkpoint is in the database: it reads nothing twice
  assert.equal((await local.replicate.from(remote)).docs_read, 0)

  await local.put({ _id: 'new' })
  await assert.rejects(local.replicate.to(remote), { status: 403, reason: 'You may only read this database.' })
  await assert.rejects(remote.put({ _id: 'new' }), { status: 403 })
  await assert.rejects(remote.putAttachment('a', 'file', 'eA==', 'text/plain'), { status: 403 })
  const { total_rows } = JSON.parse((await asAdmin('GET', '/catalogue/_all_docs')).body)
  assert.equal(total_rows, 3)
})
