// The client with tokens, at both doors.
import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { type Change, type Client, createClient, type TokenStorage } from '../../client/src/index.ts'
import { idOf } from '../../src/directory/account.ts'
import { readTotp, renderCode } from '../../src/directory/second-factor/totp.ts'
import type { Scope } from '../support/scope.ts'
import { startServer } from '../support/server.ts'
import { waitUntil } from '../support/wait.ts'

function createStorage(): TokenStorage & { readonly key: string } {
  const items = new Map<string, string>()
  return {
    get key() {
      return [...items.keys()][0] ?? ''
    },
    getItem: (key) => items.get(key) ?? null,
    setItem: (key, value) => void items.set(key, value),
    removeItem: (key) => void items.delete(key),
  }
}

const ADA = { name: 'ada', password: 'analytical' }
/** Responds with 401 to an anonymous request, at both doors. */
const OWN = '/_cardea/account'

async function open(scope: Scope, tokenTimeout = 600) {
  const { cardea, document, multiModel } = await startServer(scope, { auth: { 'token-timeout': tokenTimeout } })
  await cardea.users.create({ ...ADA, roles: ['member'], grants: { _system: 'ro' } })
  const openClient = (storage?: TokenStorage, url = multiModel) => {
    const requests: string[] = []
    const fetch: typeof globalThis.fetch = (input, init) => {
      requests.push(`${init?.method ?? 'GET'} ${new URL(String(input)).pathname}`)
      return globalThis.fetch(input, init)
    }
    const client = createClient({ url, credential: 'token', fetch, ...(storage && { storage }) })
    const changes: Change[] = []
    client.onChange((change) => changes.push(change))
    scope.after(() => client.close())
    return { client, changes, requests }
  }
  return { cardea, openClient, doors: [document, multiModel] as const }
}

for (const at of [0, 1] as const)
  test(`signs in and out with a token at the ${['document', 'multi-model'][at]} door`, async (t) => {
    const { openClient, doors } = await open(t)
    await signInAndOut(openClient(undefined, doors[at]))
  })

async function signInAndOut({ client, changes }: { readonly client: Client; readonly changes: readonly Change[] }) {
  assert.equal(await client.session(), null)
  assert.deepEqual(await client.signIn({ ...ADA, password: 'wrong' }), { status: 'wrong_password' })
  const session = { name: 'ada', roles: ['member'], id: idOf({ name: 'ada' }) }
  assert.deepEqual(await client.signIn(ADA), { status: 'signed_in', session })
  assert.deepEqual(await client.session(), session)
  assert.equal((await client.fetch(OWN)).status, 200)
  await client.signOut()
  assert.equal(await client.session(), null)
  assert.equal((await client.fetch(OWN)).status, 401)
  assert.deepEqual(changes, ['signed_in', 'signed_out'])
}

/** Returns a function that sets the clocks of the server and of the clients forward. */
function holdClock(t: TestContext): (seconds: number) => void {
  const { now } = Date
  let aheadMs = 0
  t.mock.method(Date, 'now', () => now.call(Date) + aheadMs)
  return (seconds) => {
    aheadMs += seconds * 1000
  }
}

test('keeps the tokens in the storage, and renews them only when they are due', async (t) => {
  const { openClient } = await open(t)
  const setAhead = holdClock(t)
  const storage = createStorage()
  await openClient(storage).client.signIn(ADA)
  const { client, changes, requests } = openClient(storage)
  assert.equal((await client.session())?.name, 'ada')
  setAhead(60)
  assert.equal((await client.fetch(OWN)).status, 200)
  assert.ok(!requests.includes('POST /_cardea/account/token/renew'))
  setAhead(300)
  const responses = await Promise.all([client.fetch(OWN), client.fetch(OWN)])
  assert.deepEqual(
    responses.map(({ status }) => status),
    [200, 200],
  )
  setAhead(86_400)
  assert.equal((await client.fetch(OWN)).status, 200, 'the token has expired, its renewal token has not')
  assert.equal(requests.filter((line) => line === 'POST /_cardea/account/token/renew').length, 2)
  assert.deepEqual(changes, ['renewed', 'renewed'])
  setAhead(40 * 86_400)
  assert.equal(await client.session(), null)
  assert.equal(changes.at(-1), 'expired')
})

test('two clients with one storage renew at the same time', async (t) => {
  const { openClient } = await open(t)
  const setAhead = holdClock(t)
  const storage = createStorage()
  const tabs = [openClient(storage), openClient(storage)]
  await tabs[0]?.client.signIn(ADA)
  for (let round = 0; round < 3; round += 1) {
    setAhead(500)
    const responses = await Promise.all(tabs.map(({ client }) => client.fetch(OWN)))
    assert.deepEqual(
      responses.map(({ status }) => status),
      [200, 200],
    )
  }
})

test('a renewal whose response comes late does not replace the tokens of a later sign-in', async (t) => {
  const { openClient } = await open(t)
  const setAhead = holdClock(t)
  const storage = createStorage()
  const { client, requests } = openClient(storage)
  const { client: other } = openClient(storage)
  await client.signIn(ADA)
  setAhead(500)
  const { promise: signedIn, resolve } = Promise.withResolvers<void>()
  const { fetch } = globalThis
  t.mock.method(globalThis, 'fetch', async (...given: Parameters<typeof fetch>) => {
    const response = await fetch(...given)
    if (String(given[0]).endsWith('/renew')) await signedIn
    return response
  })
  const renewed = client.session()
  await waitUntil(() => requests.includes('POST /_cardea/account/token/renew'))
  await other.signIn(ADA)
  const kept = storage.getItem(storage.key)
  resolve()
  assert.equal((await renewed)?.name, 'ada')
  assert.equal(storage.getItem(storage.key), kept)
})

test('an account call renews the token first, and a sign-out needs no valid token', async (t) => {
  const { openClient } = await open(t)
  const setAhead = holdClock(t)
  const { client } = openClient()
  const { client: other } = openClient()
  await client.signIn(ADA)
  await other.signIn(ADA)
  setAhead(3600)
  await client.signOut({ everywhere: true, currentPassword: ADA.password })
  assert.equal(await other.session(), null)
  await client.signIn(ADA)
  setAhead(3600)
  await client.signOut()
  assert.equal(await client.session(), null)
  await other.signIn(ADA)
  const { sessions } = (await (await other.fetch(`${OWN}/sessions`)).json()) as { sessions: readonly object[] }
  assert.equal(sessions.length, 1)
})

test('a token that is due is used until it expires if it cannot be renewed', async (t) => {
  const { openClient } = await open(t)
  const setAhead = holdClock(t)
  const { client, requests } = openClient()
  await client.signIn(ADA)
  const { fetch } = globalThis
  t.mock.method(globalThis, 'fetch', async (...given: Parameters<typeof fetch>) =>
    String(given[0]).endsWith('/renew') ? Response.json({ error: 'unavailable' }, { status: 503 }) : fetch(...given),
  )
  setAhead(500)
  assert.equal((await client.fetch(OWN)).status, 200)
  assert.ok((await client.secondFactor.enrol()).secret)
  assert.equal(requests.filter((line) => line.endsWith('/renew')).length, 2)
  setAhead(200)
  await assert.rejects(client.fetch(OWN), { name: 'ClientError', status: 503 })
  await assert.rejects(client.secondFactor.enrol(), { name: 'ClientError', status: 503 })
})

test('a request waits if the renewal before it finds that the session was revoked', async (t) => {
  const { cardea, openClient } = await open(t)
  const setAhead = holdClock(t)
  const { client, changes } = openClient()
  await client.signIn(ADA)
  setAhead(500)
  await cardea.users.setPassword('ada', 'difference')
  const waiting = client.fetch(OWN)
  await waitUntil(() => changes.includes('revoked'))
  await client.signIn({ ...ADA, password: 'difference' })
  assert.equal((await waiting).status, 200)
})

test('refuses the routes of a program, which have no tokens', () => {
  assert.throws(() => createClient({ url: 'http://127.0.0.1/', credential: 'token', account: '/account' }), TypeError)
})

test('requests wait after a revocation, and a new password signs in again', async (t) => {
  const { cardea, openClient } = await open(t)
  const { client, changes } = openClient()
  await client.signIn(ADA)
  assert.deepEqual(await client.changePassword('analytical', 'difference'), { status: 'changed' })
  assert.equal((await client.fetch(OWN)).status, 200)
  await cardea.users.setPassword('ada', 'analytical')
  const waiting = client.fetch(OWN)
  await waitUntil(() => changes.includes('revoked'))
  await client.signIn(ADA)
  assert.equal((await waiting).status, 200)
})

test('a new password signs in again as the first call of a page', async (t) => {
  const { openClient } = await open(t)
  const storage = createStorage()
  await openClient(storage).client.signIn(ADA)
  const { client, changes } = openClient(storage)
  assert.deepEqual(await client.changePassword('analytical', 'difference'), { status: 'changed' })
  assert.equal((await client.session())?.name, 'ada')
  assert.deepEqual(changes, ['signed_in'])
})

test('asks for a code, and after a new password too', async (t) => {
  const { openClient } = await open(t)
  const storage = createStorage()
  const { client } = openClient(storage)
  await client.signIn(ADA)
  const { secret } = await client.secondFactor.enrol()
  const code = renderCode(readTotp({ key: secret }) ?? assert.fail(), Math.floor(Date.now() / 30_000))
  const [recovery = ''] = await client.secondFactor.confirm(secret, code)
  assert.deepEqual(await client.signIn(ADA), { status: 'code_required' })
  assert.equal((await client.signIn({ ...ADA, code: recovery })).status, 'signed_in')
  const { client: page, changes } = openClient(storage)
  assert.deepEqual(await page.changePassword('analytical', 'difference'), { status: 'changed' })
  assert.deepEqual(changes, ['revoked'], 'a new session needs a code')
  assert.equal(storage.getItem(storage.key), null)
})
