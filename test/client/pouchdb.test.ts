// PouchDB 9 in Chromium with the client: a live replication idles longer than `timeout`, and goes on through a restart
// of the server, with a second tab, after the session was ended and the user has signed in again, and with a new password.
import assert from 'node:assert/strict'
import { join } from 'node:path'
import { test } from 'node:test'
import type { BrowserContext, Page } from 'playwright-core'
import type { Client } from '../../client/src/index.ts'
import { launchBrowser, NO_BROWSER } from '../support/chromium.ts'
import { startForeignProvider } from '../support/foreign-provider.ts'
import { openPouchdbServer } from '../support/pouchdb-server.ts'
import { ADMIN, send } from '../support/request.ts'
import { createSharedScope, makeFolder, type Scope } from '../support/scope.ts'
import { type Server, startServer } from '../support/server.ts'
import { beforeDocument } from '../support/upstream.ts'
import { waitUntil } from '../support/wait.ts'
import { servePage } from './serve-page.ts'

const scope = createSharedScope()
const browser = await launchBrowser(scope)

const database = await openPouchdbServer(scope)
const upstream = database.url
const [source, copy] = [database.open('source'), database.open('copy')]
// PouchDB would repeat the replication into a database that is missing for ever
for (const name of ['source', 'copy', 'second-copy']) await database.open(name).info()
const put = (id: string) => source.put({ _id: id })
const isCopied = (id: string): Promise<boolean> =>
  copy.get(id).then(
    () => true,
    () => false,
  )

const TIMEOUT_MS = 600_000
/** Tabs renew a session at different times within a tenth of the timeout. */
const STEP_MS = TIMEOUT_MS / 20

/** The same store, secret and port after a restart. */
function openCardea(scope: Scope) {
  const store = `sqlite:${join(makeFolder(scope), 'cardea.db')}`
  return (port: number): Promise<Server> =>
    startServer(scope, beforeDocument(upstream), {
      store: { url: store },
      chttpd: { port },
      chttpd_auth: { timeout: TIMEOUT_MS / 1000, allow_sign_up: true },
      auth: { 'token-timeout': TIMEOUT_MS / 1000 },
    })
}

interface App extends Client {
  readonly log: string[]
  replicate(from: string, to: string): void
}
declare const app: App

async function openTab(context: BrowserContext, url: string, credential: string): Promise<Page> {
  const page = await context.newPage()
  await page.goto(`${url}/app/?credential=${credential}`)
  await page.waitForFunction(() => 'app' in globalThis)
  return page
}

const logOf = (page: Page): Promise<string[]> => page.evaluate(() => [...app.log])
const count = async (page: Page, line: string) => (await logOf(page)).filter((one) => one === line).length
const signIn = (page: Page, password = 'analytical') =>
  page.evaluate((given) => app.signIn({ name: 'ada', password: given }), password)

/** How far the clocks of the server and of the tabs are ahead. */
let aheadMs = 0

/** Sets the clocks forward until the tab has renewed the session so many times, and returns how far they went. */
async function passTime(tab: Page, renewals: number): Promise<number> {
  // the clocks go on by themselves too, which is much of the time on a slow machine
  const [startMs, wanted] = [Date.now(), (await count(tab, 'renewed ada')) + renewals]
  while ((await count(tab, 'renewed ada')) < wanted) {
    aheadMs += STEP_MS
    await tab.context().clock.fastForward(STEP_MS)
    // a renewal takes no time on these clocks, however slow the machine is
    for (const page of tab.context().pages()) await waitUntil(() => page.evaluate(isNotRenewing))
  }
  return Date.now() - startMs
}

const isNotRenewing = async () => {
  const { held = [], pending = [] } = await navigator.locks.query()
  return held.length + pending.length === 0
}

async function openContext(scope: Scope, url: string): Promise<BrowserContext> {
  assert.ok(browser)
  const context = await browser.newContext()
  scope.after(() => context.close())
  await servePage(context, url)
  await context.clock.install()
  return context
}

/** What renews the session, by credential. */
const RENEWALS = { cookie: '/_session', token: '/_cardea/account/token/renew' } as const

for (const credential of ['cookie', 'token'] as const)
  test(`a live replication outlives timeout, a restart, and the end of its session: ${credential}`, {
    skip: NO_BROWSER,
  }, async (t) => {
    const { now } = Date
    t.mock.method(Date, 'now', () => now.call(Date) + aheadMs)
    const open = openCardea(t)
    const first = await open(0)
    const context = await openContext(t, first.document)
    const tab = await openTab(context, first.document, credential)
    await tab.evaluate(() => app.signUp('ada', 'analytical'))
    assert.equal((await signIn(tab)).status, 'signed_in')
    await tab.evaluate(() => app.replicate('source', 'copy'))
    await put(`${credential} first`)
    await waitUntil(() => isCopied(`${credential} first`))

    assert.ok((await passTime(tab, 3)) > TIMEOUT_MS)
    await put(`${credential} after idling`)
    await waitUntil(() => isCopied(`${credential} after idling`))

    await first.cardea.close()
    const second = await open(Number(new URL(first.document).port))
    await put(`${credential} after a restart`)
    await waitUntil(() => isCopied(`${credential} after a restart`))

    const other = await openTab(context, first.document, credential)
    assert.equal((await other.evaluate(() => app.session()))?.name, 'ada')
    await other.evaluate(() => app.replicate('source', 'second-copy'))
    // a tab may not have seen yet that the other one has replaced the renewal token: the server gives both the same
    const renewals = new Set<string>()
    context.on('request', (request) => {
      if (request.url().endsWith(RENEWALS[credential])) renewals.add(request.postData() ?? String(renewals.size))
    })
    const averageMs = (await passTime(tab, 4)) / renewals.size
    assert.ok(averageMs > 0.3 * TIMEOUT_MS, `two tabs renew as often as one, not every ${averageMs} ms`)
    await second.cardea.users.setPassword('ada', 'difference')
    await waitUntil(async () => (await logOf(tab)).includes('revoked') && (await logOf(other)).includes('revoked'))
    await put(`${credential} while signed out`)
    // signing in at the other tab is enough
    assert.equal((await signIn(other, 'difference')).status, 'signed_in')
    await waitUntil(() => isCopied(`${credential} while signed out`))
    assert.ok(!(await logOf(tab)).some((line) => line.startsWith('replication ended')))

    // the open request of the replication is rejected before the reply is here
    const changed = await tab.evaluate(() => app.changePassword('difference', 'engineering'))
    assert.equal(changed.status, 'changed')
    await put(`${credential} after a new password`)
    await waitUntil(() => isCopied(`${credential} after a new password`))
    assert.equal(await count(tab, 'revoked'), 1)

    await other.evaluate(() => app.signOut())
    await waitUntil(async () => (await logOf(tab)).includes('replication ended: unauthorized'))
    assert.ok((await logOf(tab)).includes('signed_out'))
  })

test('a user of an identity provider replicates with the cookie of the sign-in page, and signs out at both', {
  skip: NO_BROWSER,
}, async (t) => {
  const callbacks = ['http://127.0.0.1:1/']
  const provider = await startForeignProvider(t, callbacks)
  const { document: url } = await startServer(t, beforeDocument(upstream), {
    'provider:foreign': {
      issuer: provider.issuer,
      audience: 'cardea',
      'client-id': provider.client.client_id,
      'client-secret': provider.client.client_secret,
      scopes: 'openid',
      users: 'create',
      label: 'Example ID',
    },
  })
  // each must know the address of the other
  callbacks.push(`${url}/_cardea/sign-in/callback/foreign`)
  provider.rotate('2')
  const path = '/_cardea/api/settings/console/public-url'
  assert.equal((await send(url, { method: 'PUT', path, headers: ADMIN, body: { value: url } })).status, 200)
  const context = await browser?.newContext()
  assert.ok(context)
  t.after(() => context.close())
  await servePage(context, url)
  // the pages of the provider ask for a font
  await context.route(/googleapis/, (route) => route.abort())

  const page = await context.newPage()
  const here = `${url}/app/?credential=cookie#top`
  await page.goto(here)
  await page.waitForFunction(() => 'app' in globalThis)
  assert.deepEqual(await page.evaluate(() => app.providers()), [{ name: 'foreign', label: 'Example ID' }])
  assert.match(
    await page.evaluate(() => app.signInWith('other').then(String, String)),
    /cannot sign in at this provider/,
  )
  await page.evaluate(() => app.signInWith('foreign'))
  await page.locator('[name=login]').fill('eve')
  await page.locator('[name=password]').fill('any')
  await page.getByRole('button', { name: 'Sign-in' }).click()
  await page.getByRole('button', { name: 'Continue' }).click()
  await page.waitForURL(here)
  await page.waitForFunction(() => 'app' in globalThis)
  assert.equal((await page.evaluate(() => app.session()))?.name, 'eve')
  await page.evaluate(() => app.replicate('source', 'copy'))
  await put('by a user of a provider')
  await waitUntil(() => isCopied('by a user of a provider'))

  const other = await context.newPage()
  await other.goto(`${url}/_cardea/sign-in`)
  await other.getByRole('button', { name: 'Sign out' }).click()
  await other.getByRole('button', { name: 'Sign out of Example ID too' }).click()
  await other.getByRole('button', { name: 'Yes, sign me out' }).click()
  await other.waitForURL(`${url}/_cardea/sign-in`)
  await other.getByRole('button', { name: 'Sign in with Example ID' }).click()
  await other.locator('[name=login]').waitFor()
  await waitUntil(async () =>
    (await logOf(page)).some((line) => line === 'revoked' || line.startsWith('replication ended')),
  )
})
