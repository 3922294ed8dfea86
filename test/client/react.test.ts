// The hook of the guide, in Chromium. Preact has the same `useSyncExternalStore` as React, and is installed.
import assert from 'node:assert/strict'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import type { BrowserContext, Page } from 'playwright-core'
import { build } from 'vite'
import type { Client } from '../../client/src/index.ts'
import { launchBrowser, NO_BROWSER } from '../support/chromium.ts'
import { ROOT } from '../support/process.ts'
import { createSharedScope, makeFolder } from '../support/scope.ts'
import { startServer } from '../support/server.ts'

const scope = createSharedScope()
const browser = await launchBrowser(scope)

const APP = `
import { h, render } from 'preact'
import { client, useSession } from './use-session.js'
const texts = (globalThis.texts = [])
globalThis.client = client
function Greeting() {
  const session = useSession()
  const text = session === undefined ? 'wait' : session ? 'Hello ' + session.name : 'Sign in'
  texts.push(text)
  return h('p', null, text)
}
render(h('main', null, h(Greeting), h(Greeting)), document.body)`

/** The block of the guide, in a page with two components. */
async function buildApp(): Promise<string> {
  const guide = readFileSync(join(ROOT, 'docs/guides/build-an-app.md'), 'utf8')
  const [, hook = ''] = /^```js use-session\.js\n(.*?)^```/ms.exec(guide) ?? []
  assert.ok(hook.split('\n').length <= 30, 'the hook is short')
  const folder = makeFolder(scope)
  writeFileSync(join(folder, 'use-session.js'), hook)
  writeFileSync(join(folder, 'app.js'), APP)
  const modules = join(ROOT, 'node_modules')
  const alias = [
    { find: 'cardea/client', replacement: join(ROOT, 'client/src/index.ts') },
    { find: /^react$/, replacement: join(modules, 'preact/compat') },
    { find: /^preact$/, replacement: join(modules, 'preact') },
  ]
  const lib = { entry: join(folder, 'app.js'), formats: ['es' as const] }
  const result = await build({
    configFile: false,
    logLevel: 'error',
    root: folder,
    resolve: { alias },
    build: { write: false, lib },
  })
  const [output] = [result].flat()
  assert.ok(output && 'output' in output)
  return output.output[0].code
}

async function openTab(context: BrowserContext, url: string): Promise<Page> {
  const page = await context.newPage()
  await page.goto(`${url}/app/`)
  return page
}

const waitFor = (page: Page, text: string) => page.getByText(text).nth(1).waitFor()

declare const client: Client
declare const texts: readonly string[]

test('the React hook follows the session, in every tab and without the network', { skip: NO_BROWSER }, async (t) => {
  const { cardea, document: url } = await startServer(t)
  await cardea.users.create({ name: 'ada', password: 'analytical' })
  const context = await browser?.newContext()
  assert.ok(context)
  t.after(() => context.close())
  const code = await buildApp()
  const html = '<!doctype html><body><script type="module" src="/app/app.js"></script>'
  await context.route(`${url}/app/`, (route) => route.fulfill({ contentType: 'text/html', body: html }))
  await context.route(`${url}/app/app.js`, (route) => route.fulfill({ contentType: 'text/javascript', body: code }))

  const [tab, other] = [await openTab(context, url), await openTab(context, url)]
  for (const page of [tab, other]) await waitFor(page, 'Sign in')
  await tab.evaluate(() => client.signIn({ name: 'ada', password: 'analytical' }))
  for (const page of [tab, other]) await waitFor(page, 'Hello ada')
  await tab.evaluate(() => client.session())
  const shown = await tab.evaluate(() => texts)
  assert.deepEqual([...new Set(shown)], ['wait', 'Sign in', 'Hello ada'])
  assert.ok(shown.length <= 6, `a renewal renders nothing: ${shown}`)

  await context.setOffline(true)
  const offline = await openTab(context, url)
  await waitFor(offline, 'Hello ada')
  await context.setOffline(false)
  await other.evaluate(() => client.signOut())
  for (const page of [tab, other, offline]) await waitFor(page, 'Sign in')
})
