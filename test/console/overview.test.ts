// The overview and the page of nodes in the console, in a real browser.
import assert from 'node:assert/strict'
import { before, describe, it } from 'node:test'
import { SILENT_LOG } from '../../src/base/log.ts'
import { openStore } from '../../src/store/create-store.ts'
import { launchBrowser, NO_BROWSER, openAsAdmin, type Window } from '../support/chromium.ts'
import { addHistory } from '../support/console-history.ts'
import { AS_ADMIN, send } from '../support/request.ts'
import { createSharedScope, makeFolder } from '../support/scope.ts'
import { startServer } from '../support/server.ts'
import { beforeDocument, openBackend } from '../support/upstream.ts'

const PASSWORD = 'analytical-engine'
const scope = createSharedScope()
const browser = await launchBrowser(scope)
const storeUrl = `sqlite:${makeFolder(scope)}/cardea.db`
const server = await startServer(scope, { store: { url: storeUrl } })

const signIn = (password: string) =>
  send(server.document, { method: 'POST', path: '/_session', body: { name: 'lea', password } })

describe('the overview', { skip: NO_BROWSER }, () => {
  let window: Window

  before(async () => {
    const body = { name: 'lea', password: PASSWORD }
    await send(server.document, { method: 'POST', path: '/_cardea/api/users', as: AS_ADMIN, body })
    await addHistory(storeUrl)
    window = await openAsAdmin(scope, browser, { url: server.document })
  })

  it('says that all is well, and shows four charts', async () => {
    const { page } = window
    await page.getByText('Everything works. Nothing needs attention.').waitFor()
    await page.locator('.plot canvas').nth(3).waitFor()
    assert.equal(await page.locator('.plot canvas').count(), 4)
    for (const name of ['Sign-ins', 'Refused sign-ins', 'Requests', 'Response time'])
      await page.getByRole('img', { name: `${name}. Press t for a table of the same values.`, exact: true }).waitFor()
    await page.getByRole('region', { name: 'Health' }).getByText('1 of 1 ready').waitFor()
  })

  it('shows the same values as tables one key away, and another range by link', async () => {
    const { page } = window
    await page.keyboard.press('t')
    await page.getByRole('table', { name: 'Sign-ins', exact: true }).waitFor()
    assert.match(page.url(), /view=table/)
    const rows = page.getByRole('table', { name: 'Sign-ins', exact: true }).locator('tbody tr')
    const [running = '', last = ''] = await rows.allInnerTexts()
    assert.match(running, /–\s+–$/, 'a minute that is not over is no fall')
    assert.match(last, /\d+\s+\d+$/)
    await page.keyboard.press('t')
    await page.locator('.plot canvas').first().waitFor()
    await page.getByRole('navigation', { name: 'Time range' }).getByRole('link', { name: '24 h' }).click()
    await page.getByText('in the last 24 hours').first().waitFor()
  })

  it('shows tables where the library of the charts cannot be loaded', async () => {
    const { page } = window
    const library = '**/assets/uPlot*'
    await page.route(library, (route) => route.abort())
    await page.reload()
    await page.getByRole('table', { name: 'Sign-ins', exact: true }).waitFor()
    assert.equal(await page.locator('.plot').count(), 0)
    await page.unroute(library)
  })

  it('verifies the audit trail, and says when that and the last backup were', async () => {
    const { page, open } = window
    await open('#/overview')
    const health = page.getByRole('region', { name: 'Health' })
    await health.getByText('Audit trail verified').waitFor()
    assert.match(await health.innerText(), /Last backup\s+never/)
    await health.getByRole('button', { name: 'Verify now' }).click()
    await page.getByText(/^[\d,]+ audit records? verified: none was changed\.$/).waitFor()
    await health.getByText('just now').waitFor()
  })

  it('takes the verdict from the figures: an old backup, a changed trail, a certificate that expires', async () => {
    const { page, open } = window
    const now = Math.floor(Date.now() / 1000)
    await page.route('**/_cardea/api/overview?*', async (route) => {
      const response = await route.fetch()
      const overview = await response.json()
      overview.health.lastBackup = { at: now - 8 * 86_400, records: 12 }
      overview.health.lastVerification = { at: now - 60, records: 12, findings: 2 }
      overview.health.certificates = [{ listener: 'document', expiresAt: now + 3 * 86_400 }]
      overview.health.parts.push({
        name: 'certificates',
        state: 'warning',
        isWorking: true,
        problem: 'it expires soon',
      })
      await route.fulfill({ response, json: overview })
    })
    await open('#/overview?range=7d')
    const findings = page.getByRole('status', { name: 'What needs attention' })
    for (const text of ['The last backup is old', 'The audit trail was changed', 'it expires soon'])
      await findings.getByText(text).waitFor()
    const health = await page.getByRole('region', { name: 'Health' }).innerText()
    assert.match(health, /Last backup\s+8 days ago/)
    assert.match(health, /2 findings/)
    assert.match(health, /document expires in [23] days/)
    await page.unroute('**/_cardea/api/overview?*')
  })

  it('shows a locked account without being loaded again, with a link to it', async () => {
    const { page, open } = window
    await open('#/overview')
    await page.getByText('Everything works. Nothing needs attention.').waitFor()
    for (let at = 0; at < 25 && (await signIn('wrong')).status === 401; at += 1);
    await page.getByRole('link', { name: '1 account is locked' }).click()
    await page.getByRole('row', { name: 'lea' }).getByText('locked', { exact: true }).waitFor()
    const pages = page.getByRole('navigation', { name: 'Pages' })
    await pages.getByText('1 locked account').waitFor({ state: 'attached' })
  })

  it('says who was refused most and from where, and leads to the records', async () => {
    const { page, open } = window
    const mia = { name: 'mia', password: PASSWORD }
    await send(server.document, { method: 'POST', path: '/_cardea/api/users', as: AS_ADMIN, body: mia })
    await send(server.document, { method: 'POST', path: '/_session', body: { ...mia, password: 'wrong' } })
    await open('#/overview?range=24h')
    const refused = page.getByRole('region', { name: 'Most refused' })
    await refused.getByRole('row', { name: 'lea 127.0.0.1' }).waitFor()
    await refused.getByRole('row', { name: 'mia 127.0.0.1 1' }).waitFor()
    await page.locator('.tile').filter({ hasText: 'Refused sign-ins' }).getByRole('link').click()
    await page.getByRole('table', { name: 'Audit' }).getByText('Sign-in of lea was refused').first().waitFor()
    assert.match(page.url(), /event=sign-in.refused&range=24h$/)
  })
})

describe('the first steps', { skip: NO_BROWSER }, () => {
  it('are ticked when they are done, and can be hidden', async (t) => {
    const fresh = await startServer(t)
    const { page } = await openAsAdmin(t, browser, { url: fresh.document })
    const steps = page.getByRole('region', { name: 'First steps' })
    await steps.getByText('0 of 4 done').waitFor()
    await steps.getByRole('link', { name: 'Add a second administrator' }).click()
    const dialog = page.getByRole('dialog')
    await dialog.getByLabel('Name').fill('grace')
    await dialog.getByLabel('Password', { exact: true }).fill(PASSWORD)
    await dialog.getByRole('button', { name: 'Add administrator' }).click()
    await dialog.waitFor({ state: 'detached' })
    await page.getByRole('link', { name: 'Overview' }).click()
    await steps.getByText('1 of 4 done').waitFor()
    await steps.getByRole('listitem').filter({ hasText: 'Add a second administrator' }).getByText('done').waitFor()
    await steps.getByRole('button', { name: 'Hide' }).click()
    await steps.waitFor({ state: 'detached' })
    await page.reload()
    await page.getByText('Nothing needs attention').waitFor()
    assert.equal(await steps.count(), 0)
  })
})

describe('the charts', { skip: NO_BROWSER }, () => {
  it('show the whole hour of a server that has just started, and name unit and percentile', async (t) => {
    const fresh = await startServer(t)
    await send(fresh.document, { path: '/' })
    const { page } = await openAsAdmin(t, browser, { url: fresh.document, at: '#/overview?view=table' })
    const table = page.getByRole('table', { name: 'Response time' })
    await table.getByRole('columnheader', { name: 'p95', exact: true }).waitFor()
    await table
      .getByText(/^[\d.]+ ms$/)
      .first()
      .waitFor()
    assert.equal(await table.locator('tbody tr').count(), 60)
    await table.getByText('restart').waitFor()
    await page.keyboard.press('t')
    await page.locator('.legend').first().getByText('restart').waitFor()
  })
})

describe('the overview of a server that fails', { skip: NO_BROWSER }, () => {
  it('says so wherever a figure is red, and not that everything works', async (t) => {
    const failing = await startServer(t, beforeDocument('http://127.0.0.1:9'))
    await send(failing.document, { path: '/db', as: AS_ADMIN })
    const { page } = await openAsAdmin(t, browser, { url: failing.multiModel })
    const findings = page.getByRole('status', { name: 'What needs attention' })
    await findings.getByText('CouchDB does not answer').waitFor()
    const handlers = page.getByRole('table', { name: 'By credential' })
    await handlers.getByRole('row', { name: 'password' }).waitFor()
    await handlers.getByRole('row', { name: 'console' }).waitFor()
    await findings.getByRole('link', { name: '1 server error in the last hour' }).click()
    const panel = page.getByRole('complementary', { name: 'Server errors' })
    await panel.getByText('GET /db', { exact: true }).waitFor()
    await panel.getByText(/^503: /).waitFor()
    await page.keyboard.press('Escape')
    await panel.waitFor({ state: 'detached' })
    await page.getByRole('region', { name: 'Health' }).getByText('fails', { exact: true }).waitFor()
    assert.deepEqual(await page.locator('.tile.danger dt').allInnerTexts(), ['Server errors'])
    assert.equal(await page.getByText('Everything works').count(), 0)
  })

  it('says so of errors in the past, when every part works again', async (t) => {
    let isBroken = true
    const backend = await openBackend(
      t,
      (_request, response) => void response.writeHead(isBroken ? 500 : 200).end('{}'),
    )
    const mended = await startServer(t, beforeDocument(backend.url))
    await send(mended.document, { path: '/db', as: AS_ADMIN })
    isBroken = false
    const { page } = await openAsAdmin(t, browser, { url: mended.document })
    await page.getByText('1 server error in the last hour').waitFor()
    assert.equal(await page.getByText('Everything works').count(), 0)
  })
})

describe('the page of nodes', { skip: NO_BROWSER }, () => {
  it('shows this node, and one that is not ready or has other secrets', async (t) => {
    const { page, open } = await openAsAdmin(t, browser, { url: server.document, at: '#/nodes' })
    await page.getByRole('row', { name: 'this one' }).getByText('ready', { exact: true }).waitFor()
    await page.getByText('One node uses this store.').waitFor()
    const store = await openStore(storeUrl, { log: SILENT_LOG })
    t.after(() => store.close())
    const state = { version: '0.0.9', startedAt: 1, lagMs: 3, keysHash: 'other', problems: ['the store is slow'] }
    await store.putNode({ instance: 'x', name: 'other@node', seenAt: Math.floor(Date.now() / 1000), state })
    await page.reload()
    const other = page.getByRole('row', { name: 'other@node' })
    await other.getByText('not ready').waitFor()
    await other.getByText('the store is slow').waitFor()
    await other.getByText('other secrets than this node').waitFor()
    await open('#/overview')
    await page.getByRole('link', { name: '1 node is not ready' }).waitFor()
  })
})
