/** Users that stay in two CouchDBs, which replicate them to each other. Cardea is in front of each. */
import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { before, describe, type TestContext, test } from 'node:test'
import { AS_ADMIN, basic, send } from '../support/request.ts'
import type { Scope } from '../support/scope.ts'
import { createActs, toId } from '../support/users-in-couchdb.ts'
import { waitUntil } from '../support/wait.ts'
import type { Couchdb } from './couchdb.ts'
import { type Scene, testInFront } from './in-front.ts'
import { removeDocument, withCredentials } from './replicator.ts'
import { USER_OPTIONS } from './users.ts'

/** As CouchDB hashes them: if both upgrade a hash at a sign-in, the document has conflicts. */
const OPTIONS = { ...USER_OPTIONS, chttpd_auth: { iterations: 10 } }

export function testUserReplication(here: Couchdb, there: Couchdb): void {
  describe('users in two CouchDBs', () => {
    testInFront(here, 'jwt', (a) => testInFront(there, 'jwt', (b) => testBoth(a, b), OPTIONS), OPTIONS)
  })
}

/** What a job reads from: the other CouchDB itself, or the Cardea in front of it. */
const SOURCES = {
  directly: ({ couchdb }: Scene) => `${couchdb.urlWithCredentials}/_users`,
  'through Cardea': ({ url }: Scene) => `${withCredentials(url(), 'admin', 'adminpw')}/_users`,
} as const

type Way = keyof typeof SOURCES

function testBoth(a: Scene, b: Scene): void {
  before(() => Promise.all([isReady(a), isReady(b)]))
  for (const way of ['directly', 'through Cardea'] as const) {
    test(`changes on either side take effect on the other, replicated ${way}`, (t) => changeBoth(t, [a, b], way))
    test(`conflicts are refused until they are resolved, replicated ${way}`, (t) => resolveConflict(t, [a, b], way))
    test(`a user who was deleted on one side only is there again, replicated ${way}`, (t) => revive(t, [a, b], way))
  }
}

const isReady = ({ url }: Scene) =>
  waitUntil(async () => (await send(url(), { path: '/_cardea/ready' })).status === 200)

/** Replicates in both directions until the scope or the returned function ends it. */
async function replicate(scope: Scope, [a, b]: readonly [Scene, Scene], way: Way): Promise<() => Promise<void>> {
  const jobs = await Promise.all([startJob(a, b, way), startJob(b, a, way)])
  const stop = async () => {
    for (const { couchdb, path } of jobs) await removeDocument(couchdb, path)
    for (const { couchdb, path } of jobs) await waitUntil(async () => !(await isRunning(couchdb, path)))
  }
  scope.after(stop)
  return stop
}

const isRunning = async ({ request }: Couchdb, path: string): Promise<boolean> =>
  Object(await request('GET', '/_scheduler/jobs')).jobs.some((job: { doc_id: string }) => path.endsWith(job.doc_id))

/** The job is created through the Cardea of the first, whose CouchDB runs it. */
async function startJob(from: Scene, to: Scene, way: Way) {
  const path = `/_replicator/cardea-test-${randomBytes(6).toString('hex')}`
  const job = { source: SOURCES[way](from), target: `${to.couchdb.urlWithCredentials}/_users`, continuous: true }
  const { status, body } = await send(from.url(), { method: 'PUT', path, as: AS_ADMIN, body: job })
  assert.equal(status, 201, body)
  return { couchdb: from.couchdb, path }
}

/** One of the two, with a Cardea in front of its CouchDB. */
function createSide({ url, couchdb }: Scene) {
  const acts = createActs({ document: url() })
  const find = async (name: string): Promise<Record<string, unknown>> =>
    Object(await couchdb.request('GET', `/_users/${toId(name)}?conflicts=true`))
  return {
    ...acts,
    find,
    /** Whether Cardea and CouchDB both accept the password. */
    async isAccepted(name: string, password: string): Promise<boolean> {
      const there = await couchdb.fetch('/_session', { headers: { Authorization: basic(name, password) } })
      const here = await acts.signIn(name, password)
      assert.equal(here.status === 200, there.status === 200, `${name}: ${here.status}, and ${there.status} at CouchDB`)
      return there.status === 200
    },
    async removeRevision(name: string, revision: unknown): Promise<void> {
      await couchdb.request('DELETE', `/_users/${toId(name)}?rev=${revision}`)
    },
  }
}

type Side = ReturnType<typeof createSide>

const toName = (text: string) => `${text}-${randomBytes(6).toString('hex')}`

/** Must be a success. */
async function call({ api }: Side, method: string, path: string, body?: object): Promise<void> {
  const reply = await api(method, path, body)
  assert.equal(reply.status, 200, reply.body)
}

/** Notes how long it takes. */
async function waitFor(t: TestContext, what: string, isDone: () => Promise<boolean>): Promise<void> {
  const startMs = performance.now()
  await waitUntil(isDone)
  t.diagnostic(`${what}: ${Math.round(performance.now() - startMs)} ms`)
}

type Scenes = readonly [Scene, Scene]

async function changeBoth(t: TestContext, scenes: Scenes, way: Way): Promise<void> {
  const [a, b] = [createSide(scenes[0]), createSide(scenes[1])]
  const name = toName('both')
  const acceptedAt = (side: Side, password: string) => async () => (await side.signIn(name, password)).status === 200
  await call(a, 'POST', '/users', { name, password: 'pw-0' })
  await call(b, 'POST', '/users', { name: `${name}-b`, password: 'pw-0' })
  await replicate(t, scenes, way)
  await waitUntil(acceptedAt(b, 'pw-0'))
  await a.becomes(200, `${name}-b`, 'pw-0')
  for (const [number, [from, to]] of [[a, b] as const, [b, a] as const, [a, b] as const].entries()) {
    const session = await to.openSession(name, `pw-${number}`)
    assert.ok(await to.isSignedIn(session))
    await call(from, 'PUT', `/users/${name}/password`, { password: `pw-${number + 1}` })
    await waitFor(t, 'another password', acceptedAt(to, `pw-${number + 1}`))
    assert.equal((await to.signIn(name, `pw-${number}`)).status, 401)
    assert.equal(await to.isSignedIn(session), false)
  }
  for (const side of [a, b]) {
    assert.equal((await side.find(name))['_conflicts'], undefined)
    assert.ok(await side.isAccepted(name, 'pw-3'))
  }
  const session = await b.openSession(name, 'pw-3')
  await call(a, 'DELETE', `/users/${name}`)
  await waitFor(t, 'a deletion', async () => !(await b.isSignedIn(session)))
  assert.equal(await b.isAccepted(name, 'pw-3'), false)
  await call(b, 'POST', '/users', { name, password: 'next' })
  await waitFor(t, 'another user of the name', acceptedAt(a, 'next'))
  assert.equal(await b.isSignedIn(session), false)
  for (const each of [name, `${name}-b`]) await call(b, 'DELETE', `/users/${each}`)
  await a.becomes(401, name, 'next')
  await a.becomes(401, `${name}-b`, 'pw-0')
}

/** A user who is on both sides, and no replication any more. */
async function separate(t: TestContext, scenes: Scenes, way: Way, name: string): Promise<readonly [Side, Side]> {
  const [a, b] = [createSide(scenes[0]), createSide(scenes[1])]
  await call(a, 'POST', '/users', { name, password: 'first' })
  const stop = await replicate(t, scenes, way)
  await b.becomes(200, name, 'first')
  await stop()
  return [a, b]
}

async function resolveConflict(t: TestContext, scenes: Scenes, way: Way): Promise<void> {
  const name = toName('conflict')
  const [a, b] = await separate(t, scenes, way, name)
  await call(a, 'PUT', `/users/${name}/password`, { password: 'of-a' })
  await call(b, 'PUT', `/users/${name}/password`, { password: 'of-b' })
  const sessions = [await a.openSession(name, 'of-a'), await b.openSession(name, 'of-b')]
  await replicate(t, scenes, way)
  for (const side of [a, b]) {
    await waitUntil(async () => Array.isArray((await side.find(name))['_conflicts']))
    for (const password of ['of-a', 'of-b']) await side.becomes(401, name, password)
    for (const password of ['first', 'of-a', 'of-b']) assert.equal(await side.isAccepted(name, password), false)
    for (const session of sessions) assert.equal(await side.isSignedIn(session), false)
    assert.equal((await side.api('PUT', `/users/${name}/password`, { password: 'new' })).status, 403)
  }
  // Cardea shows the winning revision only: what it replicates does not resolve a conflict
  for (const side of way === 'directly' ? [a] : [a, b])
    for (const revision of Object((await side.find(name))['_conflicts'])) await side.removeRevision(name, revision)
  const isOneAccepted = (side: Side) => async () =>
    (await side.signIn(name, 'of-a')).status === 200 || (await side.signIn(name, 'of-b')).status === 200
  for (const side of [a, b]) await waitFor(t, 'resolved', isOneAccepted(side))
  const winner = (await a.signIn(name, 'of-a')).status === 200 ? 'of-a' : 'of-b'
  for (const side of [a, b]) {
    assert.ok(await side.isAccepted(name, winner))
    assert.equal(await side.isAccepted(name, winner === 'of-a' ? 'of-b' : 'of-a'), false)
  }
  await call(b, 'PUT', `/users/${name}/password`, { password: 'last' })
  await a.becomes(200, name, 'last')
  await call(a, 'DELETE', `/users/${name}`)
  await b.becomes(401, name, 'last')
}

/** In CouchDB a change of one side outlives a deletion of the other. */
async function revive(t: TestContext, scenes: Scenes, way: Way): Promise<void> {
  const name = toName('revived')
  const [a, b] = await separate(t, scenes, way, name)
  const session = await a.openSession(name, 'first')
  await call(a, 'DELETE', `/users/${name}`)
  await call(b, 'PUT', `/users/${name}/password`, { password: 'of-b' })
  await replicate(t, scenes, way)
  await a.becomes(200, name, 'of-b')
  assert.equal(await a.isSignedIn(session), false)
  for (const side of [a, b]) assert.ok(await side.isAccepted(name, 'of-b'))
  await call(a, 'DELETE', `/users/${name}`)
  await b.becomes(401, name, 'of-b')
}
