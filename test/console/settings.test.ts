// The page of settings in the console, in a real browser, and a server that stops and starts again.
import assert from 'node:assert/strict'
import { before, describe, it } from 'node:test'
import { launchBrowser, NO_BROWSER, openAsAdmin, type Window } from '../support/chromium.ts'
import { AS_ADMIN, send } from '../support/request.ts'
import { createSharedScope, makeFolder } from '../support/scope.ts'
import { type Server, startServer } from '../support/server.ts'
import { waitUntil } from '../support/wait.ts'

const scope = createSharedScope()
const browser = await launchBrowser(scope)
const store = { url: `sqlite:${makeFolder(scope)}/cardea.db` }
let server: Server = await startServer(scope, { store })
const url = server.document

/** The address and the session of the browser stay. */
async function restart(): Promise<void> {
  await server.cardea.close()
  server = await startServer(scope, { store, chttpd: { port: Number(new URL(url).port) } })
}

async function findOption(name: string) {
  const { json } = await send(url, { path: '/_cardea/api/options', as: AS_ADMIN })
  return json.options.find((option: { name: string }) => option.name === name)
}

describe('the page of settings', { skip: NO_BROWSER }, () => {
  let window: Window

  before(async () => {
    window = await openAsAdmin(scope, browser, { url, at: '#/nodes' })
  })

  const openOption = async (name: string) => {
    await window.open(`#/settings/${name}`)
    return window.page.getByRole('complementary', { name })
  }

  it('leads to the first user where there is none', async () => {
    const { page, open } = window
    await open('#/users')
    await page.getByRole('heading', { name: 'No users yet' }).waitFor()
    await page.getByRole('main').getByRole('link', { name: 'Add user' }).last().click()
    await page.getByRole('dialog', { name: 'Add user' }).waitFor()
  })

  it('shows what a change does, makes it, and undoes it', async () => {
    const { page } = window
    const panel = await openOption('chttpd_auth.timeout')
    await panel.getByLabel('New value').fill('1200')
    await panel.getByText('Every node applies it within a second.').waitFor()
    assert.equal((await findOption('chttpd_auth.timeout')).value, '600')
    await panel.getByRole('button', { name: 'Set chttpd_auth.timeout' }).click()
    await page.getByText('chttpd_auth.timeout is set.').waitFor()
    await panel.getByText('run time', { exact: true }).waitFor()
    assert.equal((await findOption('chttpd_auth.timeout')).value, '1200')
    await page.getByRole('button', { name: 'Undo' }).click()
    await page.getByText('chttpd_auth.timeout has its previous value again.').waitFor()
    assert.equal((await findOption('chttpd_auth.timeout')).source.kind, 'default')
  })

  it('says why a value is refused, and keeps it in the field', async () => {
    const panel = await openOption('chttpd_auth.timeout')
    await panel.getByLabel('New value').fill('soon')
    await panel.getByText('expected a whole number, at least 1, got "soon"').waitFor()
    assert.ok(await panel.getByRole('button', { name: 'Set chttpd_auth.timeout' }).isDisabled())
    assert.equal(await panel.getByLabel('New value').inputValue(), 'soon')
  })

  it('asks whose value counts when another administrator sets the option meanwhile', async () => {
    const panel = await openOption('chttpd_auth.timeout')
    const field = panel.getByLabel('New value')
    await field.fill('1200')
    const path = '/_cardea/api/settings/chttpd_auth/timeout'
    await send(url, { method: 'PUT', path, as: AS_ADMIN, body: { value: '900' } })
    await panel.getByText('admin has set it to 900 in the meantime.').waitFor()
    assert.ok(await panel.getByRole('button', { name: 'Set chttpd_auth.timeout' }).isDisabled())
    await panel.getByRole('button', { name: 'Go on with 1200' }).click()
    await panel.getByRole('button', { name: 'Set chttpd_auth.timeout' }).click()
    const saved = window.page.locator('.toast', { hasText: 'chttpd_auth.timeout is set.' })
    await saved.getByRole('button', { name: 'Close' }).click()
    await saved.waitFor({ state: 'detached' })
    const refused = await send(url, { method: 'PUT', path, as: AS_ADMIN, body: { value: '700', expected: '900' } })
    assert.equal(refused.status, 409)
    assert.match(refused.json.reason, /changed to "1200" in the meantime/)
    await send(url, { method: 'DELETE', path, as: AS_ADMIN })
    await panel.getByText('run time', { exact: true }).waitFor({ state: 'detached' })
  })

  it('takes what was set as the base of the next change, also before it is loaded again', async () => {
    const { page } = window
    const panel = await openOption('chttpd_auth.timeout')
    const set = panel.getByRole('button', { name: 'Set chttpd_auth.timeout' })
    await panel.getByLabel('New value').fill('1200')
    await set.and(page.locator(':enabled')).waitFor()
    const { promise: isTyped, resolve: release } = Promise.withResolvers<void>()
    await page.route('**/_cardea/api/options*', (route) => isTyped.then(() => route.continue()))
    await set.click()
    await page.locator('.toast', { hasText: 'chttpd_auth.timeout is set.' }).waitFor()
    await panel.getByLabel('New value').fill('1300')
    assert.equal(await panel.getByText('in the meantime').count(), 0)
    release()
    await panel.getByText('run time', { exact: true }).waitFor()
    assert.equal(await panel.getByText('in the meantime').count(), 0)
    await set.click()
    await waitUntil(async () => (await findOption('chttpd_auth.timeout')).value === '1300')
    await send(url, { method: 'DELETE', path: '/_cardea/api/settings/chttpd_auth/timeout', as: AS_ADMIN })
    await panel.getByText('run time', { exact: true }).waitFor({ state: 'detached' })
    // without what it has said so far
    await page.reload()
  })

  it('says why an option cannot be changed here', async () => {
    const panel = await openOption('store.url')
    await panel.getByText('It cannot be changed here, because').waitFor()
    assert.equal(await panel.getByLabel('New value').count(), 0)
  })

  it('has an index of its sections, and shows a linked option in its list', async () => {
    const { page } = window
    await openOption('audit.keep')
    const row = page.locator('tr.current')
    await row
      .getByText('30 (')
      .or(row.getByText('30', { exact: true }))
      .first()
      .waitFor()
    assert.ok(((await row.boundingBox())?.y ?? Infinity) < 800)
    await page
      .getByRole('navigation', { name: 'Sections' })
      .getByRole('button', { name: 'chttpd', exact: true })
      .click()
    const section = page.getByRole('region', { name: 'chttpd', exact: true })
    await section.getByText('max_uri_length').waitFor()
    assert.ok(((await section.boundingBox())?.y ?? Infinity) < 800)
    assert.equal(await section.getByText('that only door').count(), 0)
  })

  it('finds options as you type, and says how many', async () => {
    const { page, open } = window
    await open('#/settings')
    const count = page.getByRole('search').getByRole('status')
    await page.getByLabel('Search names, descriptions and values').fill('chttpd_auth.time')
    await count.getByText('1 option', { exact: true }).waitFor()
    await page.getByLabel('Search names, descriptions and values').fill('no such option')
    await count.getByText('0 options').waitFor()
    await page.getByRole('link', { name: 'Show all options' }).click()
    await page.getByRole('table', { name: 'chttpd_auth', exact: true }).waitFor()
  })

  it('keeps a change over a restart, and applies the one that waited for it', async () => {
    const { page, open } = window
    const live = await openOption('chttpd_auth.timeout')
    await live.getByLabel('New value').fill('1800')
    await live.getByRole('button', { name: 'Set chttpd_auth.timeout' }).click()
    await page.getByText('chttpd_auth.timeout is set.').waitFor()
    const waiting = await openOption('door.max-headers')
    await waiting.getByLabel('New value').fill('150')
    await waiting.getByRole('button', { name: 'Set door.max-headers' }).click()
    await page.getByText('door.max-headers is set and takes effect after a restart.').waitFor()
    await open('#/settings?show=waiting')
    await page.getByRole('row', { name: 'max-headers' }).getByText('waiting for a restart').waitFor()
    await open('#/overview')
    await page.getByText('Changed options wait for a restart').waitFor()

    await restart()
    await open('#/settings?show=runTime')
    await page.reload()
    await page.getByRole('row', { name: 'timeout' }).getByText('1800').waitFor()
    await page.getByRole('row', { name: 'max-headers' }).getByText('after a restart').waitFor()
    assert.equal((await findOption('door.max-headers')).running, undefined)
    await openOption('chttpd_auth.timeout')
    await page.getByRole('button', { name: 'Remove the run-time value' }).click()
    await page.getByText('The run-time value of chttpd_auth.timeout is removed.').waitFor()
    assert.equal((await findOption('chttpd_auth.timeout')).value, '600')
  })

  it('says that the server does not respond, and continues when it does again', async () => {
    const { page, open } = window
    // its code is loaded with the first visit
    await open('#/secrets')
    await page.getByRole('table', { name: 'session cookies' }).waitFor()
    await open('#/overview')
    await page.getByRole('region', { name: 'Health' }).waitFor()
    await server.cardea.close()
    const alert = page.getByRole('alert')
    await open('#/nodes')
    await alert.getByText('Nodes could not be loaded').waitFor()
    await open('#/secrets')
    await alert.getByText('The secrets could not be loaded').waitFor()
    await alert.getByText('The server does not respond.').waitFor()
    await page.getByText('not connected').waitFor()
    await restart()
    await alert.getByRole('button', { name: 'Try again' }).click()
    await page.getByRole('table', { name: 'session cookies' }).waitFor()
    await page.getByText('not connected').waitFor({ state: 'detached' })
  })
})
