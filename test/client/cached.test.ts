// What the client knows without the network, and a storage whose methods return promises.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Database } from 'arangojs'
import type { Page } from 'playwright-core'
import { type Client, createClient, type TokenStorage } from '../../client/src/index.ts'
import { idOf } from '../../src/directory/account.ts'
import { launchBrowser, NO_BROWSER } from '../support/chromium.ts'
import { createSharedScope } from '../support/scope.ts'
import { startServer } from '../support/server.ts'
import { waitUntil } from '../support/wait.ts'
import { servePage } from './serve-page.ts'

const ADA = { name: 'ada', password: 'analytical' }
const SESSION = { name: 'ada', roles: [], id: idOf({ name: 'ada' }) }
const CREDENTIALS = ['cookie', 'token'] as const

const scope = createSharedScope()
const browser = await launchBrowser(scope)
const { cardea, document, multiModel } = await startServer(scope)
await cardea.users.create({ ...ADA, grants: { _system: 'ro' } })

/** As `AsyncStorage` of React Native: every call takes a turn. */
function createAsyncStorage(items = new Map<string, string>()): TokenStorage & { readonly items: Map<string, string> } {
  const later = <T>(work: () => T) => new Promise<T>((resolve) => setImmediate(() => resolve(work())))
  return {
    items,
    getItem: (key) => later(() => items.get(key) ?? null),
    setItem: (key, value) => later(() => void items.set(key, value)),
    removeItem: (key) => later(() => void items.delete(key)),
  }
}

const OFFLINE: typeof fetch = async () => {
  throw new TypeError('fetch failed')
}

for (const credential of CREDENTIALS)
  test(`a program without the network starts with the session that was known last: ${credential}`, async (t) => {
    const storage = createAsyncStorage()
    const open = (options: { fetch?: typeof fetch } = {}) => {
      const client = createClient({ url: document, credential, storage, ...options })
      t.after(() => client.close())
      return client
    }
    const client = open()
    assert.equal(await client.session({ cached: true }), null)
    await client.signIn(ADA)
    assert.deepEqual(await client.session({ cached: true }), SESSION)
    const offline = open({ fetch: OFFLINE })
    assert.deepEqual(await offline.session({ cached: true }), SESSION)
    await assert.rejects(offline.session(), { message: 'fetch failed' })
    assert.deepEqual(await offline.session({ cached: true }), SESSION)
    await client.signOut()
    assert.equal(await client.session({ cached: true }), null)
    assert.equal(await open({ fetch: OFFLINE }).session({ cached: true }), null)
    assert.equal(storage.items.size, 0)
  })

test('the cookie is not kept with the session that was known last', async (t) => {
  const storage = createAsyncStorage()
  const client = createClient({ url: document, storage })
  t.after(() => client.close())
  await client.signIn(ADA)
  await client.session()
  assert.deepEqual(
    [...storage.items.values()].map((text) => JSON.parse(text)),
    [SESSION],
  )
})

test('a slow write does not restore a session after sign-out', async (t) => {
  const items = new Map<string, string>()
  const written: string[] = []
  const { promise: released, resolve: release } = Promise.withResolvers<void>()
  const storage = {
    getItem: async () => null,
    setItem: (key: string, value: string) =>
      released.then(() => void written.push(`set ${items.set(key, value).size}`)),
    removeItem: async (key: string) => void written.push(`remove ${items.delete(key)}`),
  }
  const client = createClient({ url: document, storage })
  t.after(() => client.close())
  await client.signIn(ADA)
  await client.signOut()
  release()
  await waitUntil(() => written.length === 2)
  assert.deepEqual(written, ['set 1', 'remove true'])
})

test('a storage that fails ends no call with a cookie', async (t) => {
  const fail = () => {
    throw new Error('the storage is full')
  }
  const client = createClient({ url: document, storage: { getItem: () => null, setItem: fail, removeItem: fail } })
  t.after(() => client.close())
  assert.equal((await client.signIn(ADA)).status, 'signed_in')
  assert.deepEqual(await client.session(), SESSION)
  await client.signOut()
})

test('what is no JSON in a storage counts as no session', async (t) => {
  for (const credential of CREDENTIALS) {
    const storage = { getItem: () => '{oops', setItem: () => {}, removeItem: () => {} }
    const client = createClient({ url: document, credential, storage })
    t.after(() => client.close())
    assert.deepEqual([await client.session({ cached: true }), await client.session()], [null, null])
  }
})

test('requests at the same time renew once with a storage whose methods return promises', async (t) => {
  const { now } = Date
  let aheadMs = 0
  t.mock.method(Date, 'now', () => now.call(Date) + aheadMs)
  const renewals: string[] = []
  const count: typeof fetch = (input, init) => {
    if (String(input).endsWith('/token/renew')) renewals.push(String(input))
    return fetch(input, init)
  }
  const storage = createAsyncStorage()
  const client = createClient({ url: multiModel, credential: 'token', storage, fetch: count })
  t.after(() => client.close())
  await client.signIn(ADA)
  aheadMs = 500_000
  const replies = await Promise.all(['/_cardea/account', '/_cardea/account'].map((path) => client.fetch(path)))
  assert.deepEqual(
    replies.map(({ status }) => status),
    [200, 200],
  )
  assert.equal(renewals.length, 1)
  assert.deepEqual(await client.changePassword('analytical', 'analytical'), { status: 'changed' })
  assert.equal((await client.session())?.name, 'ada')
})

test('gives arangojs a token that is valid', async (t) => {
  const { now } = Date
  let aheadMs = 0
  t.mock.method(Date, 'now', () => now.call(Date) + aheadMs)
  const client = createClient({ url: multiModel, credential: 'token' })
  t.after(() => client.close())
  const db = new Database({ url: multiModel })
  assert.equal(await client.token(), null)
  await client.signIn(ADA)
  const first = await client.token()
  assert.equal(await client.token(), first, 'it is not due')
  assert.deepEqual((await db.useBearerAuth(first ?? '').getUser('ada')).user, 'ada')
  aheadMs = 700_000
  await assert.rejects(db.getUser('ada'), { code: 401 })
  assert.deepEqual((await db.useBearerAuth((await client.token()) ?? '').getUser('ada')).user, 'ada')
  await client.signOut()
  assert.equal(await client.token(), null)
})

declare const app: Client

const readCached = (page: Page) => page.evaluate(() => app.session({ cached: true }))

for (const credential of CREDENTIALS)
  test(`a page starts without the network: ${credential}`, { skip: NO_BROWSER }, async (t) => {
    assert.ok(browser)
    const context = await browser.newContext()
    t.after(() => context.close())
    // stands in for a service worker
    await servePage(context, document)
    const page = await context.newPage()
    const load = async () => {
      await page.goto(`${document}/app/?credential=${credential}`)
      await page.waitForFunction(() => 'app' in globalThis)
    }
    await load()
    await page.evaluate((given) => app.signIn(given), ADA)
    await context.setOffline(true)
    await load()
    assert.deepEqual(await readCached(page), SESSION)
    assert.match(await page.evaluate(() => app.session().then(String, String)), /TypeError/)
    await context.setOffline(false)
    assert.deepEqual(await page.evaluate(() => app.session()), SESSION)
    await page.evaluate(() => app.signOut())
    await load()
    assert.equal(await readCached(page), null)
  })
