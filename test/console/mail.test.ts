// Messages by mail in a real browser: an address is added and confirmed, and a forgotten password is replaced.
import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import axe from 'axe-core'
import type { Page } from 'playwright-core'
import { renderMessage } from '../../src/modules/mail/render.ts'
import { findViolations, launchBrowser, NO_BROWSER, openAs, openAsAdmin, openWindow } from '../support/chromium.ts'
import { startMailServer, tokenOf } from '../support/mail.ts'
import { AS_ADMIN, send } from '../support/request.ts'
import { createSharedScope, makeFolder } from '../support/scope.ts'
import { startServer } from '../support/server.ts'
import { waitUntil } from '../support/wait.ts'

const PASSWORD = 'analytical-engine'
/** A folder for pictures of the message, to look at. */
const PICTURES = process.env['CARDEA_PICTURES']
const OTHER = 'difference-engine'
const scope = createSharedScope()
const browser = await launchBrowser(scope)
const mailServer = await startMailServer(scope)
const { cardea, document: url } = await startServer(scope, {
  mail: { url: mailServer.url, from: 'no-reply@shop.example', 'sign-up': 'verified' },
  console: { 'public-url': 'https://db.example.com', name: 'Shop' },
})

async function signInAs(page: Page, name: string, password: string): Promise<void> {
  await page.getByLabel('Name').fill(name)
  await page.getByLabel('Password').fill(password)
  await page.getByRole('button', { name: 'Sign in' }).click()
  await page.getByText(`You are signed in as ${name}.`).waitFor()
}

describe('messages by mail', { skip: NO_BROWSER }, () => {
  it('confirm the address of an account, and replace its forgotten password', async (t) => {
    await cardea.users.create({ name: 'ada', password: PASSWORD })
    const { page } = await openAs(t, browser, { url, name: 'ada', password: PASSWORD })
    await page.getByRole('button', { name: 'Add address' }).click()
    await page.getByRole('dialog').getByLabel('E-mail address').fill('ada@example.com')
    await page.getByRole('button', { name: 'Send link' }).click()
    await page.getByText('A message to ada@example.com is on its way.').waitFor()
    const first = tokenOf(await mailServer.take('ada@example.com'))
    await page.getByRole('button', { name: 'Send again' }).click()
    const confirmation = tokenOf(await mailServer.take('ada@example.com'))
    assert.notEqual(confirmation, first)

    const mailbox = await openWindow(t, browser, { url, at: `#/address-link/${confirmation}` })
    await mailbox.page.getByText('ada@example.com becomes the address of the account ada.').waitFor()
    await mailbox.page.getByRole('button', { name: 'Confirm the address' }).click()
    await mailbox.page.getByText('ada@example.com is the address of the account ada now.').waitFor()
    await page.reload()
    await page.getByText('ada@example.com', { exact: true }).waitFor()

    const signIn = await openWindow(t, browser, { url, at: 'sign-in' })
    await signIn.page.getByRole('button', { name: 'Forgotten password?' }).click()
    await signIn.page.getByLabel('E-mail address').fill('ada@example.com')
    await signIn.page.evaluate(axe.source)
    assert.deepEqual(await findViolations(signIn.page), [])
    await signIn.page.getByRole('button', { name: 'Send link' }).click()
    await signIn.page.getByText('If ada@example.com is the address of an account').waitFor()
    const reset = tokenOf(await mailServer.take('ada@example.com'))

    const link = await openWindow(t, browser, { url, at: `#/password-link/${reset}` })
    await link.page.getByLabel('New password').fill(OTHER)
    await link.page.getByRole('button', { name: 'Set password' }).click()
    await link.page.getByText('Sign in as ada with the new password.').waitFor()
    await signIn.page.getByRole('button', { name: 'Back to the sign-in' }).click()
    await signInAs(signIn.page, 'ada', OTHER)
  })

  it('create an account for an address, sign in, and replace the password when it is forgotten', async (t) => {
    const { page } = await openWindow(t, browser, { url, at: 'sign-in' })
    await page.getByRole('button', { name: 'Create an account' }).click()
    await page.getByLabel('Name').fill('grace')
    await page.getByLabel('E-mail address').fill('grace@example.com')
    await page.getByRole('button', { name: 'Create account' }).click()
    await page.getByText('A message to grace@example.com is on its way.').waitFor()
    const first = tokenOf(await mailServer.take('grace@example.com'))
    await page.getByRole('button', { name: 'Send again' }).click()
    await page.getByRole('heading', { name: 'The message is sent again' }).waitFor()
    const token = tokenOf(await mailServer.take('grace@example.com'))
    assert.notEqual(token, first)
    const link = await openWindow(t, browser, { url, at: `#/sign-up-link/${token}` })
    await link.page.getByRole('heading', { name: 'Create the account grace' }).waitFor()
    await link.page.getByLabel('New password').fill(PASSWORD)
    await link.page.getByRole('button', { name: 'Create account' }).click()
    await link.page.getByText('Sign in as grace with the password.').waitFor()

    const signIn = await openWindow(t, browser, { url, at: 'sign-in' })
    await signInAs(signIn.page, 'grace', PASSWORD)
    const other = await openWindow(t, browser, { url, at: 'sign-in' })
    await other.page.getByRole('button', { name: 'Forgotten password?' }).click()
    await other.page.getByLabel('E-mail address').fill('grace@example.com')
    await other.page.getByRole('button', { name: 'Send link' }).click()
    await other.page.getByText('If grace@example.com is the address of an account').waitFor()
    const reset = tokenOf(await mailServer.take('grace@example.com'))
    const chosen = await openWindow(t, browser, { url, at: `#/password-link/${reset}` })
    await chosen.page.getByLabel('New password').fill(OTHER)
    await chosen.page.getByRole('button', { name: 'Set password' }).click()
    await chosen.page.getByText('Sign in as grace with the new password.').waitFor()
    await other.page.getByRole('button', { name: 'Back to the sign-in' }).click()
    await signInAs(other.page, 'grace', OTHER)
  })

  it('go to an address that an administrator sets', async (t) => {
    await cardea.users.create({ name: 'bob', password: PASSWORD })
    const { page } = await openAsAdmin(t, browser, { url, at: '#/users/bob' })
    await page.getByRole('button', { name: 'Set address' }).click()
    const dialog = page.getByRole('dialog')
    await dialog.getByLabel('E-mail address').fill('bob@example.com')
    await dialog.getByRole('button', { name: 'Set address' }).click()
    await page.getByText('The address of bob was changed.').waitFor()
    await page.getByText('bob@example.com', { exact: true }).waitFor()
  })

  it('go to an address that its owner confirms, with a link that an administrator has sent', async (t) => {
    await cardea.users.create({ name: 'cleo', password: PASSWORD })
    const { page } = await openAsAdmin(t, browser, { url, at: '#/users/cleo' })
    await page.getByRole('button', { name: 'Send link to verify' }).click()
    await page.getByRole('dialog').getByLabel('E-mail address').fill('cleo@example.com')
    await page.getByRole('dialog').getByRole('button', { name: 'Send link' }).click()
    await page.getByText('A message to cleo@example.com is on its way.').waitFor()
    const token = tokenOf(await mailServer.take('cleo@example.com'))
    const mailbox = await openWindow(t, browser, { url, at: `#/address-link/${token}` })
    await mailbox.page.getByRole('button', { name: 'Confirm the address' }).click()
    await mailbox.page.getByText('cleo@example.com is the address of the account cleo now.').waitFor()
  })

  it('invite a person, who chooses name and password', async (t) => {
    const { page } = await openAsAdmin(t, browser, { url, at: '#/users' })
    await page.getByRole('button', { name: 'Invite' }).click()
    const dialog = page.getByRole('dialog')
    await dialog.getByLabel('E-mail address').fill('eve@example.com')
    await dialog.getByRole('button', { name: 'Send invitation' }).click()
    await page.getByText('A message to eve@example.com is on its way.').waitFor()
    const token = tokenOf(await mailServer.take('eve@example.com'))
    await page.reload()
    await page.getByRole('button', { name: 'Invite' }).click()
    await dialog.getByText('eve@example.com').waitFor()
    await dialog.getByRole('button', { name: 'Send again' }).click()
    const again = tokenOf(await mailServer.take('eve@example.com'))
    assert.notEqual(again, token)
    const link = await openWindow(t, browser, { url, at: `#/invitation-link/${again}` })
    await link.page.getByLabel('Name').fill('eve')
    await link.page.getByLabel('New password').fill(PASSWORD)
    await link.page.getByRole('button', { name: 'Create account' }).click()
    await link.page.getByText('Sign in as eve with the password.').waitFor()
    await cardea.users.checkPassword('eve', PASSWORD)
  })

  it('are shown to an administrator while they wait, with the problem', async (t) => {
    const down = await startMailServer(t)
    await down.close()
    const other = await startServer(t, {
      mail: { url: down.url, from: 'no-reply@shop.example' },
      console: { 'public-url': 'https://db.example.com', name: 'Shop' },
    })
    const { page } = await openAsAdmin(t, browser, { url: other.document, at: '#/users' })
    await page.getByRole('button', { name: 'Messages' }).click()
    await page.getByText('No message waits.').waitFor()
    await page.getByRole('link', { name: 'Show what was sent' }).click()
    await page.waitForURL(/event=mail\.sent/)
    await page.goBack()
    await page.getByRole('dialog').getByRole('button', { name: 'Close' }).click()
    const body = { address: 'eve@example.com' }
    await send(other.document, { method: 'POST', as: AS_ADMIN, path: '/_cardea/api/invitations', body })
    await waitUntil(() => other.log.some(({ message }) => /a job failed/.test(message)))
    await page.getByRole('button', { name: 'Messages' }).click()
    await page.getByRole('cell', { name: 'eve@example.com' }).waitFor()
    await page.getByRole('cell', { name: /ECONNREFUSED/ }).waitFor()
    await page.evaluate(axe.source)
    assert.deepEqual(await findViolations(page), [])
  })

  it('say that a link is not valid', async (t) => {
    const { page } = await openWindow(t, browser, { url, at: `#/address-link/${'A'.repeat(43)}` })
    await page.getByText('This link is not valid.').waitFor()
  })

  it('are readable in light and dark', async (t) => {
    const { page } = await openWindow(t, browser, { url, at: 'sign-in' })
    // names and links may be long, and have no place to break
    const values = { product: 'Shop', user: 'a'.repeat(200), link: `https://db.example.com/${'A'.repeat(200)}` }
    const folder = makeFolder(t)
    writeFileSync(join(folder, 'password-changed.txt'), 'Subject: Changed\n\nDear {{user}},\n{{link}}\n')
    for (const message of ['password-reset', 'password-changed'] as const) {
      const { html } = await renderMessage(message, values, folder)
      for (const colorScheme of ['light', 'dark'] as const)
        for (const width of [390, 700]) {
          const view = `${message}-${colorScheme}-${width}`
          await page.emulateMedia({ colorScheme })
          await page.setViewportSize({ width, height: 560 })
          await page.goto(`data:text/html;charset=utf-8,${encodeURIComponent(html)}`)
          await page.evaluate(axe.source)
          if (PICTURES) await page.screenshot({ path: `${PICTURES}/${view}.png` })
          assert.deepEqual(await findViolations(page), [], view)
          assert.ok(await page.evaluate('document.documentElement.scrollWidth <= innerWidth'), view)
        }
    }
    // the window is used again, and a page without an origin has no storage to empty
    await page.goto(`${url}/_cardea/sign-in`)
  })
})
