// Settings, secrets and the audit trail in the console, in a real browser.
import assert from 'node:assert/strict'
import { readdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { launchBrowser, NO_BROWSER, openWindow, type Window } from '../support/chromium.ts'
import { AS_ADMIN, send } from '../support/request.ts'
import { createSharedScope, makeFolder, type Scope } from '../support/scope.ts'
import { startServer } from '../support/server.ts'

const scope = createSharedScope()
const browser = await launchBrowser(scope)
const keys = makeFolder(scope)
const data = makeFolder(scope)
writeFileSync(join(keys, '1.key'), 'a-first-secret-of-the-token-folder')

const startAgain = (t: Scope) =>
  startServer(t, {
    store: { url: `sqlite:${join(data, 'cardea.db')}` },
    server: { 'jwt-secret-folder': keys, 'jwt-secret': '' },
  })

async function openAs(t: Scope, url: string, fragment: string): Promise<Window> {
  const window = await openWindow(t, browser, { url })
  await window.open(fragment)
  await window.signIn('admin', 'adminpw')
  await window.page.getByRole('navigation', { name: 'Pages' }).waitFor()
  return window
}

describe('the system pages', { skip: NO_BROWSER }, () => {
  it('change an option, which holds after a restart', async (t) => {
    const first = await startAgain(t)
    const { page } = await openAs(t, first.document, '#/settings/chttpd_auth.timeout')
    await page.getByLabel('New value').fill('ten minutes')
    await page.getByRole('alert').waitFor()
    assert.ok(await page.getByRole('button', { name: 'Set chttpd_auth.timeout' }).isDisabled())
    await page.getByLabel('New value').fill('1234')
    await page.getByRole('button', { name: 'Set chttpd_auth.timeout' }).click()
    await page.getByText('chttpd_auth.timeout is set.').waitFor()
    await first.cardea.close()
    const second = await startAgain(t)
    const reply = await send(second.document, { path: '/_cardea/api/settings', as: AS_ADMIN })
    const setting = reply.json.settings.find(({ name }: { name: string }) => name === 'chttpd_auth.timeout')
    assert.equal(setting.value, '1234')
  })

  it('rotate a secret in the safe order', async (t) => {
    const server = await startAgain(t)
    const { page } = await openAs(t, server.document, '#/secrets')
    await page.getByRole('button', { name: 'Add a secret' }).click()
    await page.getByText('is added and verifies.').waitFor()
    assert.equal(readdirSync(keys).filter((name) => !name.startsWith('.')).length, 2)
    await page.getByRole('button', { name: 'Sign with it' }).click()
    await page.getByText('signs from now on.').waitFor()
    assert.ok(!(await page.content()).includes('a-first-secret'))
  })

  it('follow the audit trail while another client signs in', async (t) => {
    const server = await startAgain(t)
    const user = { name: '<b>eve</b>', password: 'analytical-engine' }
    await send(server.document, { method: 'POST', path: '/_cardea/api/users', as: AS_ADMIN, body: user })
    const { page } = await openAs(t, server.document, '#/audit?follow=1')
    await page.getByRole('button', { name: 'Following live' }).waitFor()
    const headers = { 'User-Agent': '<script>alert(1)</script>' }
    const signIn = () => send(server.document, { method: 'POST', path: '/_session', headers, body: user })
    const row = page.getByRole('row').filter({ hasText: /<b>eve<\/b> signed in/ })
    // the stream may open after the first sign-in
    for (let at = 0; at < 20 && (await row.count()) === 0; at += 1) {
      await signIn()
      await row
        .first()
        .waitFor({ timeout: 500 })
        .catch(() => undefined)
    }
    assert.ok((await row.count()) > 0)
    assert.equal(await page.locator('main b, main script').count(), 0)
  })
})
