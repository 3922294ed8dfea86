// Signing in and out of the console, in a real browser.
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { launchBrowser, NO_BROWSER, openAsAdmin, openWindow } from '../support/chromium.ts'
import { ADMIN, send } from '../support/request.ts'
import { createSharedScope } from '../support/scope.ts'
import { startServer } from '../support/server.ts'

const scope = createSharedScope()
const browser = await launchBrowser(scope)
const server = await startServer(scope, { admin: { endpoint: 'tcp://127.0.0.1:0' } })

describe('the sign-in page', { skip: NO_BROWSER }, () => {
  for (const [door, url] of Object.entries({ document: server.document, 'multi-model': server.multiModel }))
    it(`signs an administrator in and out at the ${door} door, and keeps the address`, async (t) => {
      const { page, signIn } = await openWindow(t, browser, { url, at: '#/users?search=a' })
      await signIn('admin', 'adminpw')
      await page.getByRole('navigation', { name: 'Pages' }).getByRole('link', { name: 'Users' }).waitFor()
      assert.equal(new URL(page.url()).hash, '#/users?search=a')
      await page.getByRole('button', { name: 'Sign out' }).click()
      await page.getByRole('button', { name: 'Sign in' }).waitFor()
    })

  it('says that a password is wrong and keeps the name', async (t) => {
    const { page, signIn } = await openWindow(t, browser, { url: server.document })
    await signIn('admin', 'wrong')
    await page.getByText('Wrong name or password.').waitFor()
    assert.equal(await page.getByLabel('Name').inputValue(), 'admin')
  })

  it('shows a user who is not an administrator only the own account', async (t) => {
    const headers = { ...ADMIN, 'Content-Type': 'application/json' }
    const body = JSON.stringify({ name: 'joe', password: 'pw' })
    await send(server.document, { method: 'POST', path: '/_cardea/api/users', headers, body })
    const { page, open, signIn } = await openWindow(t, browser, { url: server.document })
    await signIn('joe', 'pw')
    await page.getByRole('heading', { name: 'My account', level: 1 }).waitFor()
    assert.equal(await page.getByRole('navigation', { name: 'Pages' }).getByRole('link').count(), 1)
    await open('#/users')
    await page.getByRole('heading', { name: 'My account', level: 1 }).waitFor()
  })

  it('asks to sign in again when the session was ended elsewhere', async (t) => {
    const { page, open } = await openAsAdmin(t, browser, { url: server.document, at: '#/nodes' })
    await page.context().clearCookies()
    await open('#/users?status=disabled')
    await page.getByRole('button', { name: 'Sign in' }).waitFor()
  })

  it('follows the theme of the system, and keeps another choice', async (t) => {
    const { page, signIn } = await openWindow(t, browser, { url: server.document, at: '#/nodes', colorScheme: 'dark' })
    await signIn('admin', 'adminpw')
    await page.getByRole('button', { name: 'Theme: as the system' }).click()
    await page.getByRole('button', { name: 'Theme: light' }).waitFor()
    assert.equal(await page.locator('html').getAttribute('data-theme'), 'light')
    await page.reload()
    await page.getByRole('button', { name: 'Theme: light' }).click()
    await page.getByRole('button', { name: 'Theme: dark' }).waitFor()
    assert.equal(await page.locator('html').getAttribute('data-theme'), 'dark')
  })
})
