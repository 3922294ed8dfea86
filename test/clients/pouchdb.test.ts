// PouchDB as people use it, unchanged: its authentication plug-in, and its replication.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import authentication from 'pouchdb-authentication'
import { PouchDB } from '../support/pouchdb.ts'
import type { Scope } from '../support/scope.ts'
import { startServer } from '../support/server.ts'

PouchDB.plugin(authentication)

async function open(scope: Scope) {
  const { document } = await startServer(scope, { chttpd_auth: { allow_sign_up: true } })
  return new URL(document)
}

const withCredentials = (url: URL, name: string, password: string) => {
  const own = new URL('/_users', url)
  own.username = name
  own.password = password
  return own.href
}

test('signs up, logs in, reads the session, changes the password, logs out', async (t) => {
  const url = await open(t)
  const db = new PouchDB(new URL('/app', url).href, { skip_setup: true })

  assert.equal((await db.signUp('ada', 'analytical', { metadata: { likes: 'engines' } })).id, 'org.couchdb.user:ada')
  assert.deepEqual((await db.getSession()).userCtx, { name: null, roles: [] })

  assert.equal((await db.logIn('ada', 'analytical')).name, 'ada')
  const session = await db.getSession()
  assert.deepEqual(session.userCtx, { name: 'ada', roles: [] })
  assert.equal(session.info.authenticated, 'cookie')
  assert.equal((await db.getUser('ada')).likes, 'engines')

  await db.changePassword('ada', 'difference')
  await assert.rejects(db.logIn('ada', 'analytical'), { status: 401, name: 'unauthorized' })
  assert.equal((await db.logIn('ada', 'difference')).name, 'ada')

  assert.deepEqual(await db.logOut(), { ok: true })
  assert.deepEqual((await db.getSession()).userCtx, { name: null, roles: [] })
})

test('an existing name is a conflict', async (t) => {
  const url = await open(t)
  const db = new PouchDB(new URL('/app', url).href, { skip_setup: true })
  await db.signUp('ada', 'analytical')
  await assert.rejects(db.signUp('ada', 'other'), { status: 409, name: 'conflict' })
})

test('users are replicated from Cardea, once and when they change', async (t) => {
  const url = await open(t)
  const app = new PouchDB(new URL('/app', url).href, { skip_setup: true })
  for (const name of ['ada', 'bob', 'cy']) await app.signUp(name, 'password')

  const source = new PouchDB(withCredentials(url, 'admin', 'adminpw'), { skip_setup: true })
  const copy = new PouchDB(`copy-${process.pid}`, { adapter: 'memory' })
  t.after(() => copy.destroy())
  const first = await PouchDB.replicate(source, copy)
  assert.equal(first.ok, true)
  const ids = (await copy.allDocs()).rows
    .map(({ id }: { id: string }) => id)
    .filter((id: string) => !id.startsWith('_design/'))
  assert.deepEqual(ids, ['org.couchdb.user:ada', 'org.couchdb.user:bob', 'org.couchdb.user:cy'])

  const bob = await source.get('org.couchdb.user:bob')
  await source.put({ ...bob, roles: ['builder'] })
  await source.remove(await source.get('org.couchdb.user:cy'))
  const second = await PouchDB.replicate(source, copy)
  assert.equal(second.docs_written, 2)
  assert.deepEqual((await copy.get('org.couchdb.user:bob')).roles, ['builder'])
  await assert.rejects(copy.get('org.couchdb.user:cy'), { status: 404 })

  const third = await PouchDB.replicate(source, copy)
  assert.equal(third.docs_written, 0)
})

test('a live replication receives a change', async (t) => {
  const url = await open(t)
  const source = new PouchDB(withCredentials(url, 'admin', 'adminpw'), { skip_setup: true })
  const copy = new PouchDB(`live-${process.pid}`, { adapter: 'memory' })
  t.after(() => copy.destroy())
  const live = PouchDB.replicate(source, copy, { live: true })
  const heard = new Promise<void>((resolve) => {
    live.on('change', ({ docs }: { docs: { _id: string }[] }) => {
      if (docs.some(({ _id }) => _id === 'org.couchdb.user:ada')) resolve()
    })
  })
  const app = new PouchDB(new URL('/app', url).href, { skip_setup: true })
  await app.signUp('ada', 'analytical')
  await heard
  live.cancel()
  await live
})
