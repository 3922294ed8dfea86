// Signing in and out of the console, in a real browser.
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { launchBrowser, NO_BROWSER, openAsAdmin, openWindow } from '../support/chromium.ts'
import { ADMIN, send } from '../support/request.ts'
import { createSharedScope } from '../support/scope.ts'
import { startServer } from '../support/server.ts'

const scope = createSharedScope()
const browser = await launchBrowser(scope)
const NAME = 'Shop <b>"production"</b>'
const server = await startServer(scope, { admin: { endpoint: 'tcp://127.0.0.1:0' }, console: { name: NAME } })

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

  it('names the instance, and shows the password on request', async (t) => {
    const { page, signIn } = await openWindow(t, browser, { url: server.document, at: '#/nodes' })
    await page.getByText(NAME).waitFor()
    assert.equal(await page.title(), `Sign in · ${NAME}`)
    const password = page.getByLabel('Password', { exact: true })
    await password.fill('adminpw')
    assert.equal(await password.getAttribute('type'), 'password')
    await page.getByRole('button', { name: 'Show' }).click()
    assert.equal(await password.getAttribute('type'), 'text')
    await page.getByRole('button', { name: 'Hide' }).click()
    assert.equal(await password.getAttribute('type'), 'password')
    await signIn('admin', 'adminpw')
    await page.getByRole('link', { name: NAME }).waitFor()
  })

  it('says "still waiting" after 3 seconds, before and after the sign-in, and stops with the reply', async (t) => {
    const { page, signIn, open } = await openWindow(t, browser, { url: server.document, at: '#/nodes' })
    const waiting = page.getByText('Still waiting for the server.')
    let goOn = () => {}
    const hold = async (path: string) => {
      const held = new Promise<void>((resolve) => {
        goOn = resolve
      })
      await page.route(path, async (route) => {
        await held
        await route.continue()
      })
    }
    await page.clock.install()
    await hold('**/_cardea/api/session')
    await signIn('admin', 'adminpw')
    // the clock goes on by itself, too, which is much on a busy machine
    await page.clock.fastForward(500)
    assert.equal(await waiting.count(), 0)
    await page.clock.fastForward(2600)
    await waiting.waitFor()
    goOn()
    await page.getByRole('navigation', { name: 'Pages' }).waitFor()
    assert.equal(await waiting.count(), 0)
    await hold('**/_cardea/api/roles*')
    await open('#/roles')
    await page.getByRole('status', { name: 'Loading' }).waitFor()
    await page.clock.fastForward(3100)
    await waiting.waitFor()
    goOn()
    await waiting.waitFor({ state: 'detached' })
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
    await page.locator('html[data-theme="light"]').waitFor()
    await page.reload()
    await page.getByRole('button', { name: 'Theme: light' }).click()
    await page.locator('html[data-theme="dark"]').waitFor()
    await page.getByRole('button', { name: 'Theme: dark' }).waitFor()
  })
})
