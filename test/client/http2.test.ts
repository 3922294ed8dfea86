// PouchDB 9 in Chromium over TLS: twenty live feeds of one origin, where HTTP/1.1 has six connections.
import assert from 'node:assert/strict'
import type { RequestListener, ServerResponse } from 'node:http'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import type { Page } from 'playwright-core'
import type { Client } from '../../client/src/index.ts'
import { launchBrowser, NO_BROWSER } from '../support/chromium.ts'
import { createSharedScope, type Scope } from '../support/scope.ts'
import { startServer } from '../support/server.ts'
import { beforeDocument, openServer } from '../support/upstream.ts'
import { waitUntil } from '../support/wait.ts'
import { servePage } from './serve-page.ts'

const scope = createSharedScope()
const browser = await launchBrowser(scope)
const DATABASES = Array.from({ length: 20 }, (_, index) => `db${index}`)
const fixture = (name: string) => fileURLToPath(new URL(`../fixtures/tls/${name}`, import.meta.url))

interface App extends Client {
  readonly log: string[]
  watch(database: string): void
}
declare const app: App

/** A stand-in for CouchDB that leaves every feed open until the test answers it. */
async function openUpstream(t: Scope) {
  const feeds = new Map<string, ServerResponse>()
  const listener: RequestListener = ({ url = '' }, response) => {
    const [, database] = /^\/(\w+)\/_changes\?.*feed=longpoll/.exec(url) ?? []
    if (database === undefined)
      return void response.writeHead(200, { 'Content-Type': 'application/json' }).end('{"ok":true}')
    feeds.set(database, response)
    response.on('close', () => {
      if (feeds.get(database) === response) feeds.delete(database)
    })
  }
  return { feeds, url: (await openServer(t, listener)).url }
}

function answerFeed(response: ServerResponse): void {
  const results = [{ seq: '1-a', id: 'changed', changes: [{ rev: '1-a' }] }]
  response.writeHead(200, { 'Content-Type': 'application/json' })
  response.end(JSON.stringify({ results, last_seq: '1-a', pending: 0 }))
}

async function openApp(t: Scope, url: string): Promise<Page> {
  assert.ok(browser)
  // the certificate is self-signed
  const context = await browser.newContext({ ignoreHTTPSErrors: true })
  t.after(() => context.close())
  context.setDefaultTimeout(120_000)
  await servePage(context, url)
  const page = await context.newPage()
  await page.goto(`${url}/app/`)
  await page.waitForFunction(() => 'app' in globalThis)
  return page
}

/** The protocols of the requests that have ended, without the page itself, which no server sent. */
const protocolsOf = (page: Page): Promise<string[]> =>
  page.evaluate(() => {
    const entries = performance.getEntriesByType('resource') as PerformanceResourceTiming[]
    return entries.filter(({ initiatorType }) => initiatorType === 'fetch').map((entry) => entry.nextHopProtocol)
  })

test('a page with twenty live feeds of one origin still gets its other requests answered', {
  skip: NO_BROWSER,
}, async (t) => {
  const { feeds, url } = await openUpstream(t)
  const { addresses } = await startServer(t, beforeDocument(url), {
    ssl: { enable: true, port: 0, cert_file: fixture('cert.pem'), key_file: fixture('key.pem') },
  })
  const secure = addresses.document.find((address) => address.startsWith('https:'))
  assert.ok(secure)
  const page = await openApp(t, secure)
  const signedIn = await page.evaluate(() => app.signIn({ name: 'admin', password: 'adminpw' }))
  assert.equal(signedIn.status, 'signed_in')

  for (const database of DATABASES) await page.evaluate((name) => app.watch(name), database)
  await waitUntil(() => feeds.size === DATABASES.length)
  const answer = await page.evaluate(async () => (await app.fetch(`${app.url}other/document`)).json())
  assert.deepEqual(answer, { ok: true })
  assert.equal(feeds.size, DATABASES.length, 'all feeds are still open')

  for (const response of [...feeds.values()]) answerFeed(response)
  const expected = DATABASES.map((name) => `${name}: changed`)
  await waitUntil(async () => {
    const log = await page.evaluate(() => [...app.log])
    return expected.every((line) => log.includes(line))
  })
  await waitUntil(async () => (await protocolsOf(page)).length > DATABASES.length)
  assert.deepEqual(new Set(await protocolsOf(page)), new Set(['h2']))
})
