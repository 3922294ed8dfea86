// `npm run demo` in Chromium, from the first account to the end of its sessions in the console.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import axe from 'axe-core'
import type { BrowserContext, Page } from 'playwright-core'
import { findViolations, launchBrowser, NO_BROWSER, openAsAdmin } from '../support/chromium.ts'
import { NOTES, startNotesDemo } from '../support/notes-demo.ts'
import { toUserDatabase } from '../support/pouchdb-server.ts'
import { get, ROOT, start, stop } from '../support/process.ts'
import { AS_ADMIN, basic, send } from '../support/request.ts'
import { createSharedScope, type Scope } from '../support/scope.ts'
import { waitUntil } from '../support/wait.ts'

const scope = createSharedScope()
const browser = await launchBrowser(scope)
const { document: url } = await startNotesDemo(scope)

/** The notes that the database has of a user. */
async function listStored(name: string): Promise<readonly string[]> {
  const path = `/${toUserDatabase(name)}/_all_docs?include_docs=true`
  const { json } = await send(url, { path, as: AS_ADMIN })
  return (json.rows ?? []).map(({ doc }: { doc: { text: string } }) => doc.text).sort()
}

async function openContext(t: Scope): Promise<BrowserContext> {
  assert.ok(browser)
  const context = await browser.newContext()
  t.after(() => context.close())
  // the pages of the provider ask for a font
  await context.route(/googleapis/, (route) => route.abort())
  return context
}

async function openNotes(context: BrowserContext): Promise<Page> {
  const page = await context.newPage()
  await page.goto(`${url}${NOTES.path}`)
  return page
}

const hasStatus = (page: Page, status: string) => page.locator(`#status[data-status="${status}"]`).waitFor()
const seesNote = (page: Page, title: string) => page.locator('#list button', { hasText: title }).waitFor()

async function write(page: Page, text: string): Promise<void> {
  await page.getByRole('button', { name: 'New note' }).click()
  await page.getByLabel('Text').fill(text)
  await seesNote(page, text)
}

/** In both themes, on a desktop and on a phone. */
async function findViolationsOfViews(page: Page) {
  const found = []
  for (const colorScheme of ['dark', 'light'] as const)
    for (const width of [390, 1280]) {
      await page.emulateMedia({ colorScheme })
      await page.setViewportSize({ width, height: 800 })
      found.push(...(await findViolations(page)))
    }
  return found
}

async function submit(page: Page, user: { readonly name: string; readonly password: string }, button: string) {
  await page.getByLabel('Name').fill(user.name)
  await page.getByLabel('Password').fill(user.password)
  await page.getByRole('button', { name: button, exact: true }).click()
}

async function signInAtProvider(page: Page, name: string): Promise<void> {
  await page.getByRole('button', { name: 'Sign in with Example ID' }).click()
  await page.locator('[name=login]').fill(name)
  await page.locator('[name=password]').fill('any')
  await page.getByRole('button', { name: 'Sign-in' }).click()
  await page.getByRole('button', { name: 'Continue' }).click()
  await page.waitForURL(`${url}${NOTES.path}`)
}

test('the app: an account, notes, no network, two tabs, a provider, the end of all sessions', {
  skip: NO_BROWSER,
}, async (t) => {
  const context = await openContext(t)
  const page = await openNotes(context)
  const mary = { name: 'mary', password: 'mechanism of the heavens' }
  await page.getByRole('button', { name: 'Sign in with Example ID' }).waitFor()
  await page.evaluate(axe.source)
  assert.deepEqual(await findViolationsOfViews(page), [])
  await submit(page, mary, 'Sign in')
  await page.getByText('The name or the password is wrong.').waitFor()
  await submit(page, mary, 'Create account')
  await write(page, 'first')
  await hasStatus(page, 'Synced')
  assert.deepEqual(await findViolationsOfViews(page), [])
  await waitUntil(async () => (await listStored('mary')).includes('first'))

  await page.evaluate('navigator.serviceWorker.ready.then(() => true)')
  await context.setOffline(true)
  await page.reload()
  await seesNote(page, 'first')
  await write(page, 'second')
  await hasStatus(page, 'Offline')
  assert.deepEqual(await listStored('mary'), ['first'])
  await context.setOffline(false)
  await waitUntil(async () => (await listStored('mary')).length === 2)

  const second = await openNotes(context)
  await seesNote(second, 'second')
  await page.getByLabel('Text').fill('changed in the first tab')
  await seesNote(second, 'changed in the first tab')
  await hasStatus(page, 'Synced')
  await page.getByRole('button', { name: 'Sign out' }).click()
  await second.getByRole('heading', { name: 'Sign in' }).waitFor()
  await second.close()

  await signInAtProvider(page, 'eve')
  await page.locator('#user', { hasText: 'eve' }).waitFor()
  await write(page, 'by eve')
  await hasStatus(page, 'Synced')
  assert.equal(await page.locator('#list button').count(), 1)

  const { page: console } = await openAsAdmin(t, browser, { url, at: '#/users/eve' })
  await console.getByRole('link', { name: toUserDatabase('eve') }).waitFor()
  await console.getByRole('cell', { name: 'Ready' }).waitFor()
  await console.getByText('More actions').click()
  await console.getByRole('button', { name: 'End sessions' }).click()
  await console.getByRole('button', { name: 'End all sessions of eve' }).click()
  await page.getByText('Your session has ended.').waitFor()
  await seesNote(page, 'by eve')
  await write(page, 'after the end')
  assert.deepEqual(await listStored('eve'), ['by eve'])
  // the provider still knows the user
  await page.getByRole('button', { name: 'Sign in with Example ID' }).click()
  await hasStatus(page, 'Synced')
  await waitUntil(async () => (await listStored('eve')).length === 2)
  assert.deepEqual(await listStored('mary'), ['changed in the first tab', 'first'])
})

async function openSignedUp(t: Scope, user: { readonly name: string; readonly password: string }): Promise<Page> {
  const page = await openNotes(await openContext(t))
  await submit(page, user, 'Create account')
  await page.getByRole('button', { name: 'New note' }).waitFor()
  return page
}

/** Clicks without a pause, faster than any user. */
const clickAtOnce = (page: Page, ids: readonly string[]) =>
  page.evaluate(`for (const id of ${JSON.stringify(ids)}) document.getElementById(id).click()`)

test('the app: what was typed just before the sign-out is on the server', { skip: NO_BROWSER }, async (t) => {
  const ida = { name: 'ida', password: 'mechanism of the heavens' }
  const page = await openSignedUp(t, ida)
  await write(page, 'first')
  await hasStatus(page, 'Synced')
  await page.evaluate(`{
    const text = document.getElementById('text')
    text.value = 'typed last'
    text.oninput()
    document.getElementById('sign-out').click()
  }`)
  await page.getByRole('heading', { name: 'Sign in' }).waitFor()
  assert.deepEqual(await listStored('ida'), ['typed last'])
})

test('the app: a note is deleted although it is closed meanwhile', { skip: NO_BROWSER }, async (t) => {
  const page = await openSignedUp(t, { name: 'joe', password: 'mechanism of the heavens' })
  const errors: string[] = []
  page.on('pageerror', ({ message }) => errors.push(message))
  await write(page, 'first')
  await clickAtOnce(page, ['delete', 'back'])
  await page.getByText('No notes yet.').waitFor()
  assert.deepEqual(errors, [])
})

test('the app: a later user of a name sees no notes of the earlier one', { skip: NO_BROWSER }, async (t) => {
  const kim = { name: 'kim', password: 'mechanism of the heavens' }
  const page = await openSignedUp(t, kim)
  await write(page, 'by the first kim')
  await hasStatus(page, 'Synced')
  const path = '/_users/org.couchdb.user:kim'
  const { json } = await send(url, { path, as: AS_ADMIN })
  const headers = { 'If-Match': json._rev }
  assert.equal((await send(url, { method: 'DELETE', path, headers, as: AS_ADMIN })).status, 200)
  await page.getByText('Your session has ended.').waitFor()
  await submit(page, kim, 'Create account')
  await page.getByText('No notes yet.').waitFor()
  assert.equal(await page.locator('#list button').count(), 0)
})

test('npm run demo says what to open, and it is there; a signal ends it', async (t) => {
  const demo = start(t, [], { command: ['npm', 'run', 'demo'], cwd: ROOT, hasFamily: true })
  await demo.says(/Stop with Ctrl-C\./)
  const printed = demo.stdout()
  for (const name of ['Notes', 'Console']) {
    const [, shown = ''] = new RegExp(`^ {2}${name} +(http://\\S+/) `, 'm').exec(printed) ?? []
    assert.equal((await get(shown)).status, 200, printed)
  }
  const commands = [...printed.matchAll(/^ {2}curl -u '([^:]+):([^']+)' (\S+) +(\d{3}):/gm)]
  assert.equal(commands.length, 2, printed)
  for (const [, name = '', password = '', place = '', status] of commands)
    assert.equal((await get(place, [name, password])).status, Number(status), place)
  await stop(demo)
})

test('ada cannot read the notes of bob', async () => {
  const bob = { name: 'bob', password: 'another-password' }
  const body = { ...bob, roles: [], type: 'user' }
  assert.equal((await send(url, { method: 'PUT', path: '/_users/org.couchdb.user:bob', body })).status, 201)
  const [own, other] = [toUserDatabase('ada'), toUserDatabase('bob')]
  const as = (user: { readonly name: string; readonly password: string }) => basic(user.name, user.password)
  const ask = async (who: string, method: string, path: string, sent?: object) =>
    (await send(url, { method, path, as: who, ...(sent && { body: sent }) })).status
  assert.equal(await ask(as(bob), 'PUT', `/${other}/secret`, { text: 'only mine' }), 201)
  assert.equal(await ask(as(bob), 'GET', `/${other}/secret`), 200)
  const ada = as(NOTES.user)
  assert.equal(await ask(ada, 'GET', `/${own}/_all_docs`), 200)
  for (const path of ['', '/secret', '/_all_docs?include_docs=true', '/_changes', '/_security'])
    assert.equal(await ask(ada, 'GET', `/${other}${path}`), 403, path)
  for (const path of [`/%75${other.slice(1)}/secret`, `/${own}x`]) assert.equal(await ask(ada, 'GET', path), 403, path)
  assert.equal(await ask(ada, 'GET', '/_all_dbs'), 401)
  assert.equal(await ask(ada, 'POST', `/${other}/_bulk_get`, { docs: [{ id: 'secret' }] }), 403)
  assert.equal(await ask(ada, 'PUT', `/${other}/mine`, {}), 403)
  assert.equal(await ask(ada, 'DELETE', `/${other}/secret`), 403)
  assert.equal((await send(url, { path: `/${other}/secret` })).status, 401)
  assert.equal((await send(url, { path: '/_up' })).status, 200)
})
