// Passkeys in the console and at the sign-in page, with Chromium's virtual authenticator.
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { describe, it } from 'node:test'
import axe from 'axe-core'
import type { Page } from 'playwright-core'
import { findViolations, launchBrowser, NO_BROWSER, openAs, openAsAdmin, openWindow } from '../support/chromium.ts'
import { createPasskeyUsers } from '../support/passkeys.ts'
import { AS_ADMIN, send } from '../support/request.ts'
import { createSharedScope, type Scope } from '../support/scope.ts'
import { startServer } from '../support/server.ts'
import { carry, countHeld, addDevice as plugIn } from '../support/virtual-authenticator.ts'

const PASSWORD = 'analytical-engine'
const scope = createSharedScope()
const browser = await launchBrowser(scope)
const server = await startServer(scope, { admin: { 'second-factor-roles': 'staff' } })
const toLocal = (url: string) => url.replace('127.0.0.1', 'localhost')
const url = toLocal(server.document)

async function addUser(name: string, roles: readonly string[] = []): Promise<string> {
  const body = { name, password: PASSWORD, roles }
  const { status } = await send(server.document, { method: 'POST', path: '/_cardea/api/users', as: AS_ADMIN, body })
  assert.equal(status, 200)
  return name
}

async function addDevice(t: Scope, page: Page) {
  const device = await plugIn(page)
  // another test uses the window again
  t.after(() => device.cdp.send('WebAuthn.disable'))
  return device
}

const button = (page: Page, name: string) => page.getByRole('button', { name, exact: true })

/** The virtual authenticator picks its passkey from the list of the name field by itself: without the list there is the button. */
async function showButton(page: Page, leave: () => Promise<unknown> = () => page.reload()): Promise<void> {
  await page.route(OPTIONS, (route) => route.abort())
  const refused = page.waitForEvent('requestfailed', (request) => OPTIONS.test(request.url()))
  await leave()
  await refused
  await page.unroute(OPTIONS)
  await button(page, 'Sign in with a passkey').waitFor()
}

const OPTIONS = /(?:passkey-options|sign-in-options)$/

const signOut = (page: Page) => () => page.getByRole('button', { name: 'Sign out' }).click()

async function addPasskey(page: Page, label: string): Promise<void> {
  await button(page, 'Add passkey').click()
  const dialog = page.getByRole('dialog')
  await dialog.getByLabel('Name').fill(label)
  await button(dialog.page(), 'Add passkey').last().click()
  await page.getByText(`The passkey ${label} was added.`).waitFor()
}

/** A user with one passkey, and the window in which it was added. */
async function openWithPasskey(t: Scope, name: string) {
  const { page } = await openAs(t, browser, { url, name, password: PASSWORD, at: '#/account' })
  const device = await addDevice(t, page)
  await addPasskey(page, 'laptop')
  return { page, device }
}

describe('passkeys', { skip: NO_BROWSER }, () => {
  it('are added, renamed, used to sign in at the console without a name, and removed', async (t) => {
    const { page, device } = await openWithPasskey(t, await addUser('ada'))
    assert.equal(await countHeld(device), 1)
    await button(page, 'Rename the passkey laptop').click()
    await page.getByRole('dialog').getByLabel('Name').fill('phone')
    await button(page, 'Rename').last().click()
    await page.getByRole('cell', { name: 'phone', exact: true }).waitFor()
    await showButton(page, signOut(page))
    await button(page, 'Sign in with a passkey').click()
    await page.getByRole('navigation', { name: 'Pages' }).waitFor()
    await page.getByRole('cell', { name: 'phone', exact: true }).waitFor()
    // the session of a passkey proves no password, so the page asks for it
    await button(page, 'Remove the passkey phone').click()
    await page.getByRole('dialog').getByRole('button', { name: 'Remove the passkey phone' }).click()
    await page.getByLabel('Your password', { exact: true }).fill(PASSWORD)
    await button(page, 'Confirm').click()
    await page.getByText('No passkeys').waitFor()
  })

  it('sign in at the console from the list of the name field, and sign a change in place of the password', async (t) => {
    const { page } = await openWithPasskey(t, await addUser('lia'))
    await signOut(page)()
    await page.getByRole('cell', { name: 'laptop', exact: true }).waitFor()
    await button(page, 'Remove the passkey laptop').click()
    await page.getByRole('dialog').getByRole('button', { name: 'Remove the passkey laptop' }).click()
    await page.evaluate(axe.source)
    assert.deepEqual(await findViolations(page), [])
    await button(page, 'Use a passkey').click()
    await page.getByText('No passkeys').waitFor()
  })

  it('replace the password, which is removed and set again', async (t) => {
    const { page, device } = await openWithPasskey(t, await addUser('pia'))
    // the page has a button of this name, too
    const confirm = page.getByRole('dialog').getByRole('button', { name: 'Remove password', exact: true })
    await button(page, 'Remove password').click()
    await confirm.click()
    await page.getByText('Only a user with two passkeys').waitFor()
    await button(page, 'Cancel').click()
    // a device has one passkey of an account
    const { cdp, id } = device
    await cdp.send('WebAuthn.removeVirtualAuthenticator', { authenticatorId: id })
    await addDevice(t, page)
    await addPasskey(page, 'phone')
    await button(page, 'Remove password').click()
    // the page is loaded again, which empties its fields
    await Promise.all([page.waitForEvent('load'), confirm.click()])
    await page.getByText('You have no password.').waitFor()
    await page.evaluate(axe.source)
    assert.deepEqual(await findViolations(page), [])
    await page.getByLabel('New password', { exact: true }).fill('difference-engine')
    await button(page, 'Set password').click()
    await page.getByText('Your password was changed.').waitFor()
    await page.getByLabel('Current password', { exact: true }).waitFor()
  })

  it('are removed in a session of the password, and then refused', async (t) => {
    const { page } = await openWithPasskey(t, await addUser('art'))
    await button(page, 'Remove the passkey laptop').click()
    await page.getByRole('dialog').getByRole('button', { name: 'Remove the passkey laptop' }).click()
    await page.getByText('The passkey laptop was removed.').waitFor()
    await page.getByText('No passkeys').waitFor()
    await showButton(page, signOut(page))
    await button(page, 'Sign in with a passkey').click()
    await page.getByText('The passkey was not accepted.').waitFor()
  })

  it('sign in at the sign-in page, by the button and from the list of the name field', async (t) => {
    const { device } = await openWithPasskey(t, await addUser('eve'))
    const { page } = await openWindow(t, browser, { url, at: '#/account' })
    await carry(device, await addDevice(t, page))
    // the virtual authenticator picks its passkey from the list by itself
    await page.goto(`${url}/_cardea/sign-in`)
    await page.getByText('You are signed in as eve.').waitFor()
    await page.getByRole('button', { name: 'Sign out' }).click()
    await page.getByText('You are signed out.').waitFor()
    await showButton(page)
    await button(page, 'Sign in with a passkey').click()
    await page.getByText('You are signed in as eve.').waitFor()
  })

  it('of a user are shown to administrators, who remove them', async (t) => {
    const { page: own } = await openWithPasskey(t, await addUser('managed'))
    const { page } = await openAsAdmin(t, browser, { url, at: '#/users/managed' })
    await page.getByRole('table', { name: 'Passkeys' }).getByRole('cell', { name: 'laptop', exact: true }).waitFor()
    await page.getByRole('definition').getByText('passkey', { exact: true }).waitFor()
    await page.evaluate(axe.source)
    assert.deepEqual(await findViolations(page), [])
    await button(page, 'Remove the passkey laptop').click()
    await page.getByRole('dialog').getByRole('button', { name: 'Remove the passkey laptop' }).click()
    await page.getByText('The passkey laptop was removed.').waitFor()
    await page.getByRole('table', { name: 'Passkeys' }).waitFor({ state: 'detached' })
    // the passkey is gone, and with it the session of its user
    await showButton(own)
    await button(own, 'Sign in with a passkey').click()
    await own.getByText('The passkey was not accepted.').waitFor()
  })

  it('of an administrator are shown to another, who removes them', async (t) => {
    const body = { name: 'chief', password: PASSWORD }
    const path = '/_cardea/api/administrators'
    assert.equal((await send(server.document, { method: 'POST', path, as: AS_ADMIN, body })).status, 200)
    await createPasskeyUsers(server.document).addPasskey(`chief:${PASSWORD}`)
    const { page } = await openAsAdmin(t, browser, { url, at: '#/administrators/chief' })
    await page.getByRole('row', { name: /^chief .*passkey/ }).waitFor()
    await page.getByRole('table', { name: 'Passkeys' }).getByRole('cell', { name: 'laptop', exact: true }).waitFor()
    await button(page, 'Remove the passkey laptop').click()
    await page.getByRole('dialog').getByRole('button', { name: 'Remove the passkey laptop' }).click()
    await page.getByRole('table', { name: 'Passkeys' }).waitFor({ state: 'detached' })
    await page.getByRole('row', { name: /^chief .*none/ }).waitFor()
  })

  it('are the second step after the password where a role needs one', async (t) => {
    const { page } = await openAs(t, browser, {
      url,
      name: await addUser('sam', ['staff']),
      password: PASSWORD,
      at: '#/account',
    })
    await addDevice(t, page)
    await addPasskey(page, 'laptop')
    await page.getByRole('dialog', { name: 'Recovery codes' }).waitFor()
    await page.getByRole('button', { name: 'I have kept them' }).click()
    await page.getByText('Your second factor is set up.').waitFor()
    await page.getByText('your passkeys are the second factor').waitFor()
    await page.getByText('10 recovery codes left').waitFor()
    await button(page, 'New recovery codes').click()
    await page.getByRole('dialog').getByRole('button', { name: 'New recovery codes' }).click()
    await page.getByRole('dialog', { name: 'Recovery codes' }).waitFor()
    await page.getByRole('button', { name: 'I have kept them' }).click()
    await page.goto('about:blank')
    await page.context().clearCookies()
    await showButton(page, () => page.goto(`${url}/_cardea/#/account`))
    await page.getByLabel('Name').fill('sam')
    await page.getByLabel('Password', { exact: true }).fill(PASSWORD)
    await button(page, 'Sign in').click()
    await page.getByText('Second step').waitFor()
    await button(page, 'Sign in with a passkey').click()
    await page.getByRole('navigation', { name: 'Pages' }).waitFor()
  })

  it('are the second step at the sign-in page by the keyboard alone, without faults for axe', async (t) => {
    const name = await addUser('kit', ['staff'])
    const { page: own } = await openAs(t, browser, { url, name, password: PASSWORD, at: '#/account' })
    const device = await addDevice(t, own)
    await addPasskey(own, 'laptop')
    const { page } = await openWindow(t, browser, { url, at: '#/account' })
    const held = await addDevice(t, page)
    await showButton(page, () => page.goto(`${url}/_cardea/sign-in`))
    await carry(device, held)
    await page.getByLabel('Name').focus()
    await page.keyboard.type(name)
    await page.keyboard.press('Tab')
    await page.keyboard.type(PASSWORD)
    await page.keyboard.press('Enter')
    await page.getByText('Second step').waitFor()
    await page.evaluate(axe.source)
    assert.deepEqual(await findViolations(page), [])
    const focused = () => page.evaluate('document.activeElement?.textContent')
    for (let steps = 0; steps < 10 && (await focused()) !== 'Sign in with a passkey'; steps += 1)
      await page.keyboard.press('Tab')
    assert.equal(await focused(), 'Sign in with a passkey')
    await page.keyboard.press('Enter')
    await page.getByText('You are signed in as kit.').waitFor()
  })

  it('of one user sign in as this user, whatever name is typed', async (t) => {
    const { page } = await openWithPasskey(t, await addUser('una'))
    await showButton(page, signOut(page))
    await page.getByLabel('Name').fill('admin')
    await button(page, 'Sign in with a passkey').click()
    await page.getByRole('navigation', { name: 'Pages' }).waitFor()
    await page.getByText('una', { exact: true }).first().waitFor()
  })

  it('are not offered at an address without a name, where browsers have none', async (t) => {
    const { page } = await openWindow(t, browser, { url: server.document, at: '#/account' })
    await button(page, 'Sign in').waitFor()
    assert.equal(await button(page, 'Sign in with a passkey').count(), 0)
  })

  it('on a page of another program on the host are refused', async (t) => {
    const { page, device } = await openWithPasskey(t, await addUser('web'))
    assert.equal(await countHeld(device), 1)
    const other = createServer((_request, response) => {
      response.setHeader('Content-Type', 'text/html').end('<title>Another program</title>')
    })
    t.after(() => other.close())
    await once(other.listen(0, '127.0.0.1'), 'listening')
    await page.goto(`http://localhost:${(other.address() as AddressInfo).port}`)
    const path = '/_cardea/account/passkey-options'
    const { options } = (await send(server.document, { method: 'POST', path })).json
    // the browser signs, because the host is the right one
    const passkey = await page.evaluate(`(async () => {
      const publicKey = PublicKeyCredential.parseRequestOptionsFromJSON(${JSON.stringify(options)})
      return (await navigator.credentials.get({ publicKey })).toJSON()
    })()`)
    const body = { passkey }
    const refused = await send(server.document, { method: 'POST', path: '/_cardea/account/sign-in', body })
    assert.deepEqual([refused.status, refused.json.error], [401, 'credential_refused'])
  })

  it('of two tabs are both accepted: each has its own challenge', async (t) => {
    const { device } = await openWithPasskey(t, await addUser('two'))
    const tabs = await Promise.all([1, 2].map(() => openWindow(t, browser, { url, at: '#/account' })))
    const devices = await Promise.all(tabs.map(({ page }) => addDevice(t, page)))
    for (const { page } of tabs) await showButton(page)
    for (const each of devices) await carry(device, each)
    for (const { page } of tabs) await button(page, 'Sign in with a passkey').click()
    for (const { page } of tabs) await page.getByRole('navigation', { name: 'Pages' }).waitFor()
  })

  for (const colorScheme of ['light', 'dark'] as const)
    it(`have pages without faults for axe, ${colorScheme}, and fit 390 px`, async (t) => {
      const viewport = { width: 390, height: 800 }
      const name = await addUser(`axe-${colorScheme}`)
      const { page } = await openAs(t, browser, {
        url,
        name,
        password: PASSWORD,
        at: '#/account',
        colorScheme,
        viewport,
      })
      await addDevice(t, page)
      await addPasskey(page, 'laptop')
      await page.evaluate(axe.source)
      assert.deepEqual(await findViolations(page), [])
      assert.equal(await page.evaluate('document.documentElement.scrollWidth <= innerWidth'), true)
      // reached and used by the keyboard alone
      await button(page, 'Add passkey').focus()
      await page.keyboard.press('Enter')
      await page.getByRole('dialog').waitFor()
      await page.keyboard.press('Escape')
      await page.getByRole('dialog').waitFor({ state: 'detached' })
    })
})
