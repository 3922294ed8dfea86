// An application on a page of another site than the door, in Chromium: with a partitioned cookie, and with tokens.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import type { Page } from 'playwright-core'
import type { createClient } from '../../client/src/index.ts'
import { launchBrowser, NO_BROWSER } from '../support/chromium.ts'
import { createSharedScope } from '../support/scope.ts'
import { startServer } from '../support/server.ts'
import { servePage } from './serve-page.ts'

const SITE = 'https://app.example.com'
const fixture = (name: string) => fileURLToPath(new URL(`../fixtures/tls/${name}`, import.meta.url))

declare const app: { readonly createClient: typeof createClient }

const scope = createSharedScope()
const browser = await launchBrowser(scope)

async function openApp(): Promise<{ readonly page: Page; readonly door: string }> {
  const { cardea, addresses } = await startServer(scope, {
    ssl: { enable: true, port: 0, cert_file: fixture('cert.pem'), key_file: fixture('key.pem') },
    chttpd: { enable_cors: true },
    cors: { origins: SITE, credentials: true },
    chttpd_auth: { same_site: 'none', cookie_partitioned: true },
  })
  await cardea.users.create({ name: 'ada', password: 'analytical' })
  assert.ok(browser)
  // the permission is for a page that is not on this machine
  const context = await browser.newContext({ ignoreHTTPSErrors: true, permissions: ['local-network-access'] })
  scope.after(() => context.close())
  await servePage(context, SITE)
  const page = await context.newPage()
  await page.goto(`${SITE}/app/`)
  await page.waitForFunction(() => 'app' in globalThis)
  return { page, door: addresses.document[1] ?? '' }
}

/** Signs in and out, and returns who was signed in each time. */
const use = (page: Page, url: string, credential: 'cookie' | 'token') =>
  page.evaluate(
    async ([url, credential]) => {
      const client = app.createClient({ url, credential, storage: localStorage })
      const { status } = await client.signIn({ name: 'ada', password: 'analytical' })
      // another client, as after a reload of the page
      const again = app.createClient({ url, credential, storage: localStorage })
      const names = [(await again.session())?.name, (await again.fetch('/_cardea/account')).status]
      await again.signOut()
      return [status, ...names, await client.session()]
    },
    [url, credential] as const,
  )

test('a page of another site keeps its session', { skip: NO_BROWSER }, async () => {
  const { page, door } = await openApp()
  const expected = ['signed_in', 'ada', 200, null]
  assert.deepEqual(await use(page, door, 'cookie'), expected)
  const [cookie] = await page.context().cookies(door)
  assert.equal(cookie?.partitionKey, 'https://example.com', 'the browser keeps it for this site only')
  await page.context().clearCookies()
  assert.deepEqual(await use(page, door, 'token'), expected)
  assert.deepEqual(await page.context().cookies(door), [])
})
