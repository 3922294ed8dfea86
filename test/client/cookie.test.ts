// The client with the session cookie, in Node: what its calls return, and how its session ends and goes on.
import assert from 'node:assert/strict'
import { getEventListeners } from 'node:events'
import { test } from 'node:test'
import nano from 'nano'
import httpAdapter from 'pouchdb-adapter-http'
import pouchCore from 'pouchdb-core'
import { type Change, createClient } from '../../client/src/index.ts'
import { idOf } from '../../src/directory/account.ts'
import type { Scope } from '../support/scope.ts'
import { type AnyOptions, type Server, startServer } from '../support/server.ts'
import { beforeDocument, openBackend } from '../support/upstream.ts'
import { waitUntil } from '../support/wait.ts'

const Pouch = pouchCore.plugin(httpAdapter)

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
  const session = { name: 'ada', roles: [], id: idOf({ name: 'ada' }) }
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

test('rejects a name that the door does not accept', async (t) => {
  const { client } = await open(t)
  assert.deepEqual(await client.signUp('_ada', 'analytical'), {
    status: 'rejected',
    reason: 'Username may not start with underscore.',
  })
})

test('throws an error that no result describes', async (t) => {
  const { client } = await open(t, { chttpd_auth: { allow_sign_up: false } })
  await assert.rejects(client.signUp('ada', 'analytical'), {
    name: 'ClientError',
    status: 401,
    message: /^Sign-up is closed: .*requestSignUp/,
  })
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

test('PouchDB reads attachments with it in Node', async (t) => {
  const bytes = Buffer.from([0, 255, 128, 10])
  const upstream = await openBackend(t, (_request, response) => {
    response.writeHead(200, { 'Content-Type': 'application/octet-stream', ETag: '"md5"' }).end(bytes)
  })
  const { client } = await open(t, beforeDocument(upstream.url))
  await client.signUp('ada', 'analytical')
  await client.signIn(ADA)
  const remote = new Pouch(`${client.url}notes`, { adapter: 'http', fetch: client.fetch, skip_setup: true })
  assert.deepEqual(Buffer.from(await remote.getAttachment('doc', 'picture')), bytes)
})

test('says what the user must do first, and the id of the user', async (t) => {
  const { server, client } = await open(t, { admin: { 'second-factor-roles': 'member' } })
  await client.signUp('ada', 'analytical')
  const first = await client.signIn(ADA)
  assert.ok(first.status === 'signed_in')
  assert.match(first.session.id ?? '', /^[0-9a-f]{8}-[0-9a-f-]{27}$/)
  assert.equal((await client.session())?.id, first.session.id)
  assert.deepEqual(first.session, { name: 'ada', roles: [], id: first.session.id })
  await server.cardea.users.update('ada', { roles: ['member'] })
  const second = await client.signIn(ADA)
  const expected = { name: 'ada', roles: ['member'], id: first.session.id, mustSetUpSecondFactor: true }
  assert.deepEqual(second, { status: 'signed_in', session: expected })
  assert.deepEqual(await client.session(), expected)
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

test('a request that has waited removes its abort listener', async (t) => {
  const server = await startServer(t, SIGN_UP)
  // that of the platform follows the signal too
  const fetch: typeof globalThis.fetch = (input, init) => globalThis.fetch(input, { ...init, signal: null })
  const client = createClient({ url: server.document, fetch })
  t.after(() => client.close())
  const changes: string[] = []
  client.onChange((change) => changes.push(change))
  await client.signUp('ada', 'analytical')
  await client.signIn(ADA)
  await revoke(server)
  const { signal } = new AbortController()
  const waiting = client.fetch(OWN, { signal })
  await waitUntil(() => changes.includes('revoked'))
  await client.signIn({ ...ADA, password: 'difference' })
  assert.equal((await waiting).status, 200)
  assert.deepEqual(getEventListeners(signal, 'abort'), [])
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

/** A client with the cookies of a browser, which other pages of the origin change too. */
async function openPage(scope: Scope, server: Server) {
  let cookie = ''
  const page = { onRejected: async () => {} }
  const fetch: typeof globalThis.fetch = async (input, init) => {
    const headers = new Headers(init?.headers)
    headers.set('Cookie', cookie)
    const response = await globalThis.fetch(input, { ...init, headers })
    cookie = response.headers.getSetCookie()[0]?.split(';')[0] ?? cookie
    if (response.status === 401) await page.onRejected()
    const shown = new Headers(response.headers)
    shown.delete('Set-Cookie')
    return new Response(response.body, { status: response.status, headers: shown })
  }
  const client = createClient({ url: server.document, fetch })
  const changes: string[] = []
  client.onChange((change, session) => changes.push(`${change} ${session?.name ?? ''}`.trim()))
  scope.after(() => client.close())
  await client.signUp('ada', 'analytical')
  await client.signUp('bob', 'analytical')
  await client.signIn(ADA)
  /** As the sign-in page of the server does. */
  const signInElsewhere = async (name: string) => {
    const body = new URLSearchParams({ name, password: 'analytical' })
    assert.equal((await fetch(`${server.document}/_session`, { method: 'POST', body })).status, 200)
  }
  return { page, client, changes, signInElsewhere }
}

test('another user who signed in without the client is announced, and gets no request of the first', async (t) => {
  const server = await startServer(t, SIGN_UP)
  const { page, client, changes, signInElsewhere } = await openPage(t, server)
  await signInElsewhere('bob')
  assert.equal((await client.session())?.name, 'bob')
  assert.deepEqual(changes, ['signed_in ada', 'signed_in bob'])
  await signInElsewhere('ada')
  await client.session()
  await revoke(server)
  page.onRejected = async () => {
    page.onRejected = async () => {}
    await signInElsewhere('bob')
  }
  assert.equal((await client.fetch(OWN)).status, 401, 'it is not repeated')
  assert.deepEqual(changes.slice(2), ['signed_in ada', 'signed_in bob'])
  assert.equal((await client.fetch(OWN)).status, 200, 'a new request')
})

test('keeps the cookies of the caller, and signs out everywhere although the session has ended', async (t) => {
  const { server, client, changes } = await open(t)
  await client.signUp('ada', 'analytical')
  await client.signIn(ADA)
  assert.equal((await client.fetch(OWN, { headers: { Cookie: 'lang=de' } })).status, 200)
  await revoke(server)
  await client.signOut({ everywhere: true })
  assert.equal(changes.at(-1), 'signed_out')
})
