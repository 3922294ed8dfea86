// The client with the session cookie, in Node: what its calls return, and how its session ends and goes on.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import nano from 'nano'
import { type Change, createClient } from '../../client/src/index.ts'
import type { Scope } from '../support/scope.ts'
import { type AnyOptions, type Server, startServer } from '../support/server.ts'
import { waitUntil } from '../support/wait.ts'

const SIGN_UP: AnyOptions = { chttpd_auth: { allow_sign_up: true } }

async function open(scope: Scope, ...options: readonly AnyOptions[]) {
  const server = await startServer(scope, SIGN_UP, ...options)
  const openClient = () => {
    const client = createClient({ url: server.document })
    const changes: Change[] = []
    client.onChange((change) => changes.push(change))
    scope.after(() => client.close())
    return { client, changes }
  }
  return { server, openClient, ...openClient() }
}

const ADA = { name: 'ada', password: 'analytical' }

test('signs up, in and out', async (t) => {
  const { client, changes } = await open(t)
  assert.equal(await client.session(), null)
  assert.deepEqual(await client.signUp('ada', 'analytical', { likes: 'engines' }), { status: 'signed_up' })
  assert.deepEqual(await client.signUp('ada', 'other'), { status: 'name_taken' })
  assert.deepEqual(await client.signIn({ ...ADA, password: 'wrong' }), { status: 'wrong_password' })
  const session = { name: 'ada', roles: [] }
  assert.deepEqual(await client.signIn(ADA), { status: 'signed_in', session })
  assert.deepEqual(await client.session(), session)
  const own = await client.fetch('/_users/org.couchdb.user:ada')
  assert.match(await own.text(), /"likes":"engines"/)
  await client.signOut()
  assert.equal(await client.session(), null)
  assert.deepEqual(changes, ['signed_in', 'renewed', 'signed_out'])
})

test('says why a new user is rejected', async (t) => {
  const { client } = await open(t, { chttpd_auth: { password_regexp: '[{".{8,}", "At least 8 characters."}]' } })
  assert.deepEqual(await client.signUp('ada', 'short'), {
    status: 'rejected',
    reason: 'Password does not conform to requirements. At least 8 characters.',
  })
})

test('throws an error that no result describes', async (t) => {
  const { client } = await open(t, { chttpd_auth: { allow_sign_up: false } })
  await assert.rejects(client.signUp('ada', 'analytical'), { name: 'ClientError', status: 401 })
})

test('says for how long a name is locked', async (t) => {
  const { client } = await open(t, { chttpd_auth_lockout: { threshold: 2 } })
  await client.signUp('ada', 'analytical')
  for (const password of ['one', 'two']) await client.signIn({ ...ADA, password })
  const result = await client.signIn(ADA)
  assert.ok(result.status === 'locked' && result.retryAfter > 0, JSON.stringify(result))
})

test('requests to other servers have no credential', async (t) => {
  const { client } = await open(t)
  const other = await startServer(t, SIGN_UP)
  await client.signUp('ada', 'analytical')
  await client.signIn(ADA)
  const session = await client.fetch(`${other.document}/_session`)
  assert.match(await session.text(), /"name":null/)
})

test('gives nano its session, as the global fetch', async (t) => {
  const { server, client } = await open(t)
  await client.signUp('ada', 'analytical')
  await client.signIn(ADA)
  const { fetch } = globalThis
  globalThis.fetch = client.fetch as typeof fetch
  t.after(() => {
    globalThis.fetch = fetch
  })
  const { userCtx } = await nano(server.document).session()
  assert.equal(userCtx.name, 'ada')
})

/** Responds with 401 to an anonymous request. */
const OWN = '/_session?basic=true'

/** The server ends the session of Ada. */
const revoke = ({ cardea }: Server) => cardea.users.setPassword('ada', 'difference')

test('requests of a revoked session wait for the next sign-in of the same user', async (t) => {
  const { server, client, changes } = await open(t)
  await client.signUp('ada', 'analytical')
  await client.signIn(ADA)
  await revoke(server)
  const waiting = client.fetch(OWN)
  await waitUntil(() => changes.includes('revoked'))
  const later = client.fetch(OWN)
  await client.signIn({ ...ADA, password: 'difference' })
  assert.deepEqual([(await waiting).status, (await later).status], [200, 200])
})

test('requests of a revoked session end with 401 if another user signs in, and on sign-out', async (t) => {
  const { server, client, changes } = await open(t)
  await client.signUp('ada', 'analytical')
  await client.signUp('bob', 'analytical')
  await client.signIn(ADA)
  await revoke(server)
  const waiting = client.fetch(OWN)
  await waitUntil(() => changes.includes('revoked'))
  const later = client.fetch(OWN)
  await client.signIn({ name: 'bob', password: 'analytical' })
  assert.deepEqual([(await waiting).status, (await later).status], [401, 401])
})

test('a waiting request can be aborted', async (t) => {
  const { server, client, changes } = await open(t)
  await client.signUp('ada', 'analytical')
  await client.signIn(ADA)
  await revoke(server)
  const controller = new AbortController()
  const waiting = client.fetch(OWN, { signal: controller.signal })
  await waitUntil(() => changes.includes('revoked'))
  controller.abort()
  await assert.rejects(waiting, { name: 'AbortError' })
})
