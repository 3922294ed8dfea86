// A change that the client makes itself ends sessions on the server. Requests that are open meanwhile are rejected, perhaps
// before the reply to the change arrives: that is no end of the client's session.
import assert from 'node:assert/strict'
import type { ServerResponse } from 'node:http'
import { test } from 'node:test'
import { type Change, createClient } from '../../client/src/index.ts'
import { readTotp, renderCode } from '../../src/directory/second-factor/totp.ts'
import type { Scope } from '../support/scope.ts'
import { startServer } from '../support/server.ts'
import { beforeDocument, openBackend } from '../support/upstream.ts'
import { waitUntil } from '../support/wait.ts'

const ADA = { name: 'ada', password: 'analytical' }
const FEED = '/db/_changes?feed=longpoll'

type Credential = 'cookie' | 'token'

/** A signed-in client with a long poll that the database has not answered yet. */
async function openFeed(scope: Scope, credential: Credential) {
  const feeds: ServerResponse[] = []
  const upstream = await openBackend(scope, (_request, response) => void feeds.push(response))
  const { cardea, document } = await startServer(scope, beforeDocument(upstream.url))
  await cardea.users.create(ADA)
  const changes: Change[] = []
  let isHeld = false
  /** Replies to changes arrive last, whatever the server sends first. */
  const held = Promise.withResolvers<void>()
  const fetch: typeof globalThis.fetch = async (input, init) => {
    const response = await globalThis.fetch(input, init)
    if (response.status === 401) held.resolve()
    if (isHeld && init?.method !== undefined) await held.promise
    return response
  }
  const client = createClient({ url: document, credential, fetch })
  scope.after(() => client.close())
  client.onChange((change) => changes.push(change))
  await client.signIn(ADA)
  const feed = client.fetch(FEED)
  await waitUntil(() => feeds.length === 1)
  const holdReplies = () => {
    isHeld = true
  }
  return { cardea, client, changes, feeds, feed, holdReplies }
}

for (const credential of ['cookie', 'token'] as const)
  test(`an open request goes on after changePassword: ${credential}`, async (t) => {
    const { client, changes, feeds, feed, holdReplies } = await openFeed(t, credential)
    holdReplies()
    assert.deepEqual(await client.changePassword(ADA.password, 'difference engine'), { status: 'changed' })
    await waitUntil(() => feeds.length === 2)
    feeds[1]?.end('{}')
    assert.equal((await feed).status, 200)
    assert.ok(!changes.includes('revoked'), changes.join())
    assert.equal((await client.session())?.name, 'ada')
  })

for (const credential of ['cookie', 'token'] as const)
  test(`an open request ends with 401 after signOut, which is no revocation: ${credential}`, async (t) => {
    const { client, changes, feed, holdReplies } = await openFeed(t, credential)
    holdReplies()
    await client.signOut()
    assert.equal((await feed).status, 401)
    assert.ok(!changes.includes('revoked'), changes.join())
    assert.equal(changes.at(-1), 'signed_out')
  })

test('an open request goes on after a second factor was set up', async (t) => {
  const { client, changes, feeds, feed } = await openFeed(t, 'cookie')
  const { secret } = await client.secondFactor.enrol()
  await client.secondFactor.confirm(
    secret,
    renderCode(readTotp({ key: secret }) ?? assert.fail(), Math.floor(Date.now() / 30_000)),
    { currentPassword: ADA.password },
  )
  feeds.at(-1)?.end('{}')
  assert.equal((await feed).status, 200)
  assert.ok(!changes.includes('revoked'), changes.join())
})

test('a password that is rejected changes nothing', async (t) => {
  const { client, changes, feeds, feed } = await openFeed(t, 'cookie')
  assert.deepEqual(await client.changePassword('wrong', 'difference engine'), { status: 'wrong_password' })
  feeds[0]?.end('{}')
  assert.equal((await feed).status, 200)
  assert.deepEqual(changes, ['signed_in'])
})

test('a session that ends during a change is announced after it', async (t) => {
  const { cardea, client, changes, feed, holdReplies } = await openFeed(t, 'cookie')
  feed.catch(() => {})
  holdReplies()
  const rejected = client.changePassword('wrong', 'difference engine').catch(() => undefined)
  await cardea.users.setPassword('ada', 'of an administrator')
  assert.notEqual((await rejected)?.status, 'changed')
  await waitUntil(() => changes.includes('revoked'))
})

test('requests end with 401 when the session is lost, where they are not to wait', async (t) => {
  const { cardea, document } = await startServer(t)
  await cardea.users.create(ADA)
  const client = createClient({ url: document, onLost: 'reject' })
  t.after(() => client.close())
  const changes: Change[] = []
  client.onChange((change) => changes.push(change))
  await client.signIn(ADA)
  await cardea.users.setPassword('ada', 'difference engine')
  const own = '/_session?basic=true'
  assert.equal((await client.fetch(own)).status, 401)
  assert.equal((await client.fetch(own)).status, 401)
  assert.ok(changes.includes('revoked'))
  await client.signIn({ ...ADA, password: 'difference engine' })
  assert.equal((await client.fetch(own)).status, 200)
})
