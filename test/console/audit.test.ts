// The page of the audit trail in the console, in a real browser.
import assert from 'node:assert/strict'
import { text } from 'node:stream/consumers'
import { before, describe, it } from 'node:test'
import { launchBrowser, NO_BROWSER, openAsAdmin, type Window } from '../support/chromium.ts'
import { AS_ADMIN, send } from '../support/request.ts'
import { createSharedScope } from '../support/scope.ts'
import { startServer } from '../support/server.ts'

const PASSWORD = 'analytical-engine'
const scope = createSharedScope()
const browser = await launchBrowser(scope)
const server = await startServer(scope)

const addUser = (name: string) =>
  send(server.document, {
    method: 'POST',
    path: '/_cardea/api/users',
    as: AS_ADMIN,
    body: { name, password: PASSWORD },
  })

const signIn = (name: string, password: string) =>
  send(server.document, { method: 'POST', path: '/_session', body: { name, password } })

describe('the page of the audit trail', { skip: NO_BROWSER }, () => {
  let window: Window

  before(async () => {
    for (const name of ['ada', 'grace']) await addUser(name)
    await signIn('ada', 'wrong')
    window = await openAsAdmin(scope, browser, { url: server.document, at: '#/nodes' })
  })

  it('shows sign-ins of another client while it follows', async () => {
    const { page, open } = window
    await open('#/audit')
    await page.getByRole('button', { name: 'Follow live' }).click()
    await page.getByRole('button', { name: 'Following live', pressed: true }).waitFor()
    assert.equal(await page.getByRole('link', { name: 'grace signed in' }).count(), 0)
    await signIn('grace', PASSWORD)
    const first = page.getByRole('table', { name: 'Audit' }).locator('tbody tr').first()
    await first.getByText('grace signed in at the document door with a password from 127.0.0.1').waitFor()
  })

  it('shows what was recorded while it was not connected', async () => {
    const { page, open } = window
    await page.route('**/_cardea/api/events', (route) => route.abort())
    await open('#/audit?follow=1')
    await page.reload()
    await page.getByRole('link', { name: 'grace signed in' }).first().waitFor()
    const count = await page.getByRole('link', { name: 'grace signed in' }).count()
    await signIn('grace', PASSWORD)
    await page.unrouteAll({ behavior: 'wait' })
    await page.getByRole('link', { name: 'grace signed in' }).nth(count).waitFor()
  })

  it('filters by user and outcome, shows the reason, and the whole record', async () => {
    const { page, open } = window
    await open('#/audit')
    await page.getByLabel('Name of a user or administrator').fill('ada')
    await page.getByLabel('Outcome').selectOption('failure')
    await page.getByRole('search').getByRole('status').getByText('1 record', { exact: true }).waitFor()
    await page.getByRole('link', { name: 'ada' }).filter({ hasText: 'wrong password' }).click()
    const panel = page.getByRole('complementary', { name: 'Audit record' })
    const record = JSON.parse((await panel.locator('pre').textContent()) ?? '')
    assert.deepEqual([record.subject, record.outcome, record.door], ['ada', 'failure', 'document'])
    const address = page.url()
    await page.reload()
    await panel.locator('pre').waitFor()
    assert.equal(page.url(), address)
    await page.keyboard.press('Escape')
    await panel.waitFor({ state: 'detached' })
  })

  it('saves the records that match', async () => {
    const { page, open } = window
    await open('#/audit?user=ada')
    await page.getByRole('link', { name: 'ada' }).first().waitFor()
    const saving = page.waitForEvent('download')
    await page.getByRole('button', { name: 'Export' }).click()
    const download = await saving
    assert.equal(download.suggestedFilename(), 'cardea-audit.jsonl')
    const records = (await text(await download.createReadStream()))
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line))
    assert.ok(records.length >= 2)
    assert.ok(records.every(({ actor, subject }) => actor === 'ada' || subject === 'ada'))
  })

  it('shows script in names and user agents as text', async () => {
    const { page, open } = window
    const name = '<img src=x onerror=alert(1)>'
    await addUser(name)
    const headers = { 'User-Agent': '<script>alert(1)</script>' }
    await send(server.document, { method: 'POST', path: '/_session', headers, body: { name, password: PASSWORD } })
    await open(`#/audit?user=${encodeURIComponent(name)}`)
    await page.getByRole('link', { name: `${name} signed in` }).click()
    await page.getByRole('complementary').locator('pre').waitFor()
    assert.equal(await page.locator('main img, main script, aside img, aside script').count(), 0)
  })

  it('says what to do where no record matches', async () => {
    const { page, open } = window
    await open('#/audit?user=mallory')
    await page.getByRole('heading', { name: 'No records match' }).waitFor()
    await page.getByRole('link', { name: 'Show all records' }).click()
    await page.getByRole('table', { name: 'Audit' }).waitFor()
  })
})
