// The users page of the console, in a real browser.
import assert from 'node:assert/strict'
import { before, describe, it } from 'node:test'
import axe from 'axe-core'
import type { Page } from 'playwright-core'
import { readTotp, renderCode } from '../../src/directory/second-factor/totp.ts'
import { toDraftJson } from '../../src/transfer/draft.ts'
import {
  findViolations,
  launchBrowser,
  NO_BROWSER,
  openAsAdmin,
  pressSequence,
  type Window,
} from '../support/chromium.ts'
import { ADMIN, send } from '../support/request.ts'
import { createSharedScope } from '../support/scope.ts'
import { startServer } from '../support/server.ts'
import { waitUntil } from '../support/wait.ts'

const PASSWORD = 'analytical-engine'
const scope = createSharedScope()
const browser = await launchBrowser(scope)
const server = await startServer(scope)

const ask = (method: string, path: string, body?: object) =>
  send(server.document, {
    method,
    path: `/_cardea/api${path}`,
    headers: { ...ADMIN, 'Content-Type': 'application/json' },
    ...(body && { body: JSON.stringify(body) }),
  })

const addUser = (name: string, rest: object = {}) => ask('POST', '/users', { name, password: PASSWORD, ...rest })

describe('the users page', { skip: NO_BROWSER }, () => {
  let page: Page
  let open: Window['open']

  before(async () => {
    await addUser('grace', { roles: ['navy'] })
    await addUser('hedy', { roles: ['radio'] })
    const window = await openAsAdmin(scope, browser, { url: server.document, at: '#/nodes' })
    page = window.page
    open = window.open
  })

  it('adds a user, who signs in at the other door', async () => {
    await open('#/users')
    await page.getByRole('link', { name: 'Add user' }).click()
    const dialog = page.getByRole('dialog')
    await dialog.getByLabel('Name').fill('ada')
    await dialog.getByLabel('Password', { exact: true }).fill(PASSWORD)
    await dialog.getByLabel('Roles').fill('shop manager')
    await dialog.getByLabel('Roles').press('Enter')
    await dialog.getByLabel('Roles').fill('reader')
    await dialog.getByRole('button', { name: 'Add user' }).click()
    await page.getByRole('heading', { name: 'ada' }).waitFor()
    const body = JSON.stringify({ username: 'ada', password: PASSWORD })
    assert.equal((await send(server.multiModel, { method: 'POST', path: '/_open/auth', body })).status, 200)
    assert.deepEqual(JSON.parse((await ask('GET', '/users/ada')).body).roles, ['shop manager', 'reader'])
  })

  it('adds a user with grants, an expiry and a link in place of a password', async () => {
    await open('#/users?do=add')
    const dialog = page.getByRole('dialog')
    await dialog.getByLabel('Name').fill('mary')
    await dialog.getByLabel('Create a link').check()
    assert.equal(await dialog.getByLabel('Password', { exact: true }).count(), 0)
    await dialog.getByLabel('Roles').fill('n')
    await dialog.locator('datalist option[value="navy"]').waitFor({ state: 'attached' })
    await dialog.getByLabel('Roles').fill('')
    // one name in each line of what is pasted
    await dialog.getByLabel('Grants at the multi-model door').focus()
    await page.evaluate(`
      const clipboardData = new DataTransfer()
      clipboardData.setData('text', 'shop\\nlab, old\\n')
      document.activeElement.dispatchEvent(new ClipboardEvent('paste', { clipboardData }))
    `)
    await dialog.getByRole('button', { name: 'Remove shop' }).click()
    await page.keyboard.type('shop')
    await dialog.getByRole('button', { name: 'Remove lab, old' }).waitFor()
    await dialog.getByLabel('Level').selectOption('ro')
    await dialog.getByLabel('First day without access').fill('2090-01-31')
    await dialog.getByRole('button', { name: 'Add user' }).click()
    const shown = page.getByRole('dialog', { name: 'Password link for mary' })
    assert.match(await shown.locator('output').innerText(), /#\/password-link\/./)
    await shown.getByRole('button', { name: 'Done' }).click()
    await page.getByRole('heading', { name: 'mary' }).waitFor()
    const { grants, expires, password } = JSON.parse((await ask('GET', '/users/mary')).body)
    assert.deepEqual(grants, { shop: { level: 'ro' }, 'lab, old': { level: 'ro' } })
    assert.deepEqual([expires, password], ['2090-01-31T00:00:00Z', null])
    await page.locator('#known-databases option[value="shop"]').waitFor({ state: 'attached' })
  })

  it('shows accounts at identity providers, and unlinks one', async () => {
    const link = { provider: 'keycloak', issuer: 'https://id.example.com/realms/shop', subject: 'u-1', linkedAt: 1 }
    const draft = toDraftJson({ name: 'ida', links: [link] })
    assert.equal((await ask('POST', '/transfer/users', { users: [draft] })).json.outcomes[0].kind, 'created')
    await open('#/users/ida')
    const row = page.getByRole('row', { name: /keycloak u-1/ })
    await row.waitFor()
    await page.evaluate(axe.source)
    assert.deepEqual(await findViolations(page), [])
    await row.getByRole('button', { name: 'Unlink u-1 of keycloak' }).click()
    const dialog = page.getByRole('dialog', { name: 'Unlink the account at keycloak from ida' })
    await dialog.getByText('All sessions of ida end.').waitFor()
    await dialog.getByRole('button', { name: 'Unlink the account at keycloak from ida' }).click()
    await row.waitFor({ state: 'detached' })
    assert.deepEqual((await ask('GET', '/users/ida/external-accounts')).json.accounts, [])
  })

  it('keeps the form and says why a name is refused', async () => {
    await open('#/users?do=add')
    const dialog = page.getByRole('dialog')
    await dialog.getByLabel('Name').fill('grace')
    await dialog.getByRole('button', { name: 'Add user' }).click()
    await dialog.getByRole('alert').waitFor()
    assert.equal(await dialog.getByLabel('Name').inputValue(), 'grace')
    // in view in a window that shows a part of the form
    const { width, height } = page.viewportSize() ?? assert.fail()
    await page.setViewportSize({ width: 390, height: 500 })
    const alert = await dialog.getByRole('alert').boundingBox()
    assert.ok(alert && alert.y + alert.height <= 500, `${alert?.y}`)
    await page.setViewportSize({ width, height })
  })

  it('asks to sign in over the form when the session has ended, and goes on', async () => {
    await open('#/users/hedy')
    const panel = page.getByRole('complementary', { name: 'hedy' })
    const field = panel.getByLabel('Add a role')
    await field.fill('chemist')
    await page.context().clearCookies()
    await field.press('Enter')
    const dialog = page.getByRole('dialog', { name: 'Sign in' })
    await dialog.getByText('Your session has ended.').waitFor()
    await dialog.getByLabel('Password', { exact: true }).fill('adminpw')
    await dialog.getByRole('button', { name: 'Sign in' }).click()
    await dialog.waitFor({ state: 'detached' })
    // the page may have noticed the end of the session before Enter was pressed: then the role waits in its field
    if ((await field.inputValue()) === 'chemist') await field.press('Enter')
    await panel.getByRole('button', { name: 'Remove the role chemist' }).waitFor()
  })

  it('keeps a refused role in its field, with the reason beside it', async () => {
    await open('#/users/hedy')
    const panel = page.getByRole('complementary', { name: 'hedy' })
    await panel.getByLabel('Add a role').fill('_root')
    await panel.getByLabel('Add a role').press('Enter')
    await panel.getByRole('alert').waitFor()
    assert.equal(await panel.getByLabel('Add a role').inputValue(), '_root')
    assert.equal(await page.locator('.toast.danger').count(), 0)
  })

  it('follows what another administrator changes', async () => {
    await addUser('emmy')
    await open('#/users/emmy')
    const panel = page.getByRole('complementary', { name: 'emmy' })
    await panel.getByText('No roles').waitFor()
    await ask('PUT', '/users/emmy/roles', { add: ['algebra'] })
    await panel.getByRole('button', { name: 'Remove the role algebra' }).waitFor()
    await ask('DELETE', '/users/emmy')
    await page.getByRole('heading', { name: 'There is no user emmy' }).waitFor()
  })

  it('finds users without a sign-in for 90 days', async () => {
    await addUser('idle-never')
    await addUser('idle-active')
    const body = { name: 'idle-active', password: PASSWORD }
    await send(server.document, { method: 'POST', path: '/_session', body })
    await ask('GET', '/users/idle-active') // what was noted is written
    await open('#/users?search=idle&status=idle')
    await page.getByRole('link', { name: 'idle-never' }).waitFor()
    assert.equal(await page.getByRole('link', { name: 'idle-active' }).count(), 0)
  })

  it('selects all users that match, and asks for their number before it deletes them', async () => {
    const users = Array.from({ length: 61 }, (_, at) => ({ name: `crew-${String(at).padStart(2, '0')}` }))
    await ask('POST', '/transfer/users', { users })
    await open('#/users?search=crew')
    // until then the list is the one of the search before, and what is selected in it counts no more
    await page.getByRole('search').getByText('50 of 61 users').waitFor()
    await page.getByRole('checkbox', { name: 'Select all' }).check()
    const bar = page.getByRole('region', { name: 'Selected users' })
    await bar.getByText('50 users selected').waitFor()
    await bar.getByRole('button', { name: 'Select all 61' }).click()
    await bar.getByText('61 users selected').waitFor()
    await bar.getByRole('button', { name: 'Delete' }).click()
    const dialog = page.getByRole('dialog')
    const confirm = dialog.getByRole('button', { name: 'Delete 61 users' })
    assert.ok(await confirm.isDisabled())
    await dialog.getByLabel('Type 61 to confirm').fill('50')
    assert.ok(await confirm.isDisabled())
    await dialog.getByLabel('Type 61 to confirm').fill('61')
    await confirm.click()
    await page.getByRole('heading', { name: 'No user matches' }).waitFor()
    await addUser('solo-last')
    await open('#/users?search=solo-last')
    await page.getByRole('checkbox', { name: 'Select solo-last' }).check()
    assert.equal(await bar.getByRole('button', { name: /^Select all/ }).count(), 0)
    await bar.getByRole('button', { name: 'Delete' }).click()
    await dialog.getByRole('button', { name: 'Delete 1 user' }).click()
    await page.getByRole('heading', { name: 'No user matches' }).waitFor()
  })

  it('shows who has a second factor, in a column and by a filter', async () => {
    await addUser('factor-with')
    await addUser('factor-without')
    const asUser = { method: 'POST', as: `factor-with:${PASSWORD}` }
    const { secret } = (await send(server.document, { ...asUser, path: '/_cardea/account/totp', body: {} })).json
    const code = renderCode(readTotp({ key: secret }) ?? assert.fail(), Math.floor(Date.now() / 30_000))
    const body = { secret, code }
    await send(server.document, { ...asUser, path: '/_cardea/account/totp/confirm', body })
    await open('#/users?search=factor')
    await page.getByRole('row', { name: 'factor-with active one-time codes' }).waitFor()
    await page.getByRole('row', { name: 'factor-without active none' }).waitFor()
    await page.getByLabel('Status').selectOption('With a second factor')
    await page.getByRole('row', { name: 'factor-without' }).waitFor({ state: 'detached' })
    await page.getByRole('row', { name: 'factor-with' }).waitFor()
    await page.getByLabel('Status').selectOption('Without a second factor')
    await page.getByRole('row', { name: 'factor-without' }).waitFor()
    await open('#/policy')
    await page.getByRole('link', { name: 'Users with a second factor' }).click()
    await page.getByRole('link', { name: 'factor-with', exact: true }).waitFor()
  })

  it('says that a user does not exist, and offers no retry', async () => {
    await open('#/users/nix')
    await page.getByRole('heading', { name: 'There is no user nix' }).waitFor()
    assert.equal(await page.getByRole('button', { name: 'Try again' }).count(), 0)
    await open('#/users?status=locked')
    await page.getByRole('heading', { name: 'No user is locked now' }).waitFor()
  })

  it('shows when each user signed in last, and how often a sign-in was refused, with a link to the records', async () => {
    await addUser('lise')
    const signIn = (password: string) =>
      send(server.document, { method: 'POST', path: '/_session', body: { name: 'lise', password } })
    await signIn(PASSWORD)
    await signIn('a-wrong-password')
    // written within a second, exact to the minute
    await waitUntil(async () => (await ask('GET', '/users/lise')).body.includes('"lastSignIn":{'))
    await open('#/users')
    await page.reload()
    const row = page.getByRole('row', { name: 'lise' })
    await row.getByText(/^(just now|1 min. ago)/).waitFor()
    await row.getByRole('link', { name: '1 refused sign-in, by hour' }).click()
    await page.getByRole('link', { name: 'Sign-in of lise was refused' }).first().waitFor()
  })

  it('disables, enables and deletes a user after one question that names it', async () => {
    await addUser('bob')
    await open('#/users/bob')
    const panel = page.getByRole('complementary', { name: 'bob' })
    const confirm = async (short: string, label: string) => {
      await panel.getByRole('button', { name: short, exact: true }).click()
      await page.getByRole('dialog').getByRole('button', { name: label }).click()
      await page.getByRole('dialog').waitFor({ state: 'detached' })
    }
    await confirm('Disable', 'Disable bob')
    await panel.getByText('disabled', { exact: true }).waitFor()
    assert.equal(JSON.parse((await ask('GET', '/users/bob')).body).active, false)
    await confirm('Enable', 'Enable bob')
    await panel.getByRole('button', { name: 'Disable' }).waitFor()
    await panel.getByText('More actions').click()
    await confirm('Delete', 'Delete bob')
    await page.getByRole('link', { name: 'grace' }).waitFor()
    assert.equal((await ask('GET', '/users/bob')).status, 404)
    assert.equal(new URL(page.url()).hash, '#/users')
  })

  it('edits roles and grants', async () => {
    await addUser('cleo')
    await open('#/users/cleo')
    const panel = page.getByRole('complementary', { name: 'cleo' })
    await panel.getByLabel('Add a role').fill('editor')
    await panel.getByLabel('Add a role').press('Enter')
    await panel.getByRole('button', { name: 'Remove the role editor' }).waitFor()
    await panel.getByLabel('Database', { exact: true }).fill('shop')
    await panel.getByLabel('Level').selectOption('ro')
    await panel.getByRole('button', { name: 'Grant' }).click()
    await panel.getByRole('button', { name: 'Remove the grant on shop' }).waitFor()
    const { roles, grants } = JSON.parse((await ask('GET', '/users/cleo')).body)
    assert.deepEqual({ roles, grants }, { roles: ['editor'], grants: { shop: { level: 'ro' } } })
  })

  it('finds users by the beginning of a name or role as it is typed', async () => {
    await open('#/users')
    await page.getByRole('link', { name: 'grace' }).waitFor()
    await page.getByRole('searchbox').pressSequentially('RAD')
    await page.getByRole('link', { name: 'grace' }).waitFor({ state: 'detached' })
    await page.getByRole('link', { name: 'hedy' }).waitFor()
    await page.getByRole('search').getByRole('status').getByText('1 user', { exact: true }).waitFor()
  })

  it('changes several users at once, and says which were refused', async () => {
    await Promise.all(['batch-1', 'batch-2', 'batch-3'].map((name) => addUser(name)))
    await open('#/users?search=batch')
    for (const name of ['batch-1', 'batch-2', 'batch-3']) await page.getByLabel(`Select ${name}`).check()
    await ask('DELETE', '/users/batch-3')
    await page.getByRole('button', { name: 'Disable', exact: true }).click()
    await page.getByRole('button', { name: 'Disable 3 users' }).click()
    const report = page.getByRole('dialog', { name: '2 of 3 users changed' })
    await report.getByText('batch-3').waitFor()
    await report.getByRole('button', { name: 'Close' }).click()
    assert.equal(JSON.parse((await ask('GET', '/users/batch-1')).body).active, false)
  })

  it('undoes a change of several users, and only what it has changed', async () => {
    await addUser('undo-1', { roles: ['kept'] })
    await addUser('undo-2')
    await open('#/users?search=undo')
    for (const name of ['undo-1', 'undo-2']) await page.getByLabel(`Select ${name}`).check()
    await page.getByRole('button', { name: 'Add roles' }).click()
    await page.getByRole('dialog').getByLabel('Roles').fill('kept')
    await page.keyboard.press('Enter')
    await page.keyboard.type('new')
    await page.getByRole('button', { name: 'Add roles to 2 users' }).click()
    const toast = page.locator('.toast', { hasText: 'Add roles: 2 users were changed.' })
    await toast.waitFor()
    assert.deepEqual(JSON.parse((await ask('GET', '/users/undo-2')).body).roles, ['kept', 'new'])
    await toast.getByRole('button', { name: 'Undo' }).click()
    await page.getByText('2 users are as before.').waitFor()
    const rolesOf = async (name: string) => JSON.parse((await ask('GET', `/users/${name}`)).body).roles
    assert.deepEqual([await rolesOf('undo-1'), await rolesOf('undo-2')], [['kept'], []])
  })

  it('explains what a user may reach', async () => {
    await addUser('reader')
    await ask('PUT', '/users/reader/grants', { database: 'shop', level: 'ro' })
    await open('#/users/reader')
    const panel = page.getByRole('complementary', { name: 'reader' })
    await panel.getByLabel('Check one database').fill('shop')
    await panel.getByText('multi-model door').first().waitFor()
    await panel.getByText(/shop/).first().waitFor()
    await panel.locator('.rules li').nth(1).waitFor()
  })

  it('opens and changes users whose names are dots', async () => {
    for (const name of ['.', '..']) {
      await addUser(name)
      await open('#/users')
      await page.getByRole('link', { name, exact: true }).click()
      const panel = page.getByRole('complementary', { name, exact: true })
      await panel.getByLabel('Add a role').fill('two words')
      await panel.getByLabel('Add a role').press('Enter')
      await panel.getByRole('button', { name: 'Remove the role two words' }).waitFor()
    }
  })

  it('shows script in names and roles as text', async () => {
    const name = '<img src=x onerror=alert(1)>'
    await addUser(name, { roles: ['<script>alert(1)</script>'] })
    await open(`#/users/${encodeURIComponent(name)}`)
    await page.getByRole('heading', { name }).waitFor()
    assert.equal(await page.locator('main img, main script, aside img, aside script').count(), 0)
    await ask('DELETE', `/users/${encodeURIComponent(name)}`)
  })

  it('is used by keyboard alone: find a user, open it, close it', async () => {
    await open('#/users')
    await page.getByRole('link', { name: 'grace' }).waitFor()
    await page.keyboard.press('/')
    await page.getByRole('combobox', { name: 'Search' }).waitFor()
    await page.keyboard.type('disable ada')
    await page.getByRole('option', { name: 'Disable ada' }).waitFor()
    await page.keyboard.press('Enter')
    await page.getByRole('dialog', { name: 'Disable ada' }).waitFor()
    await page.keyboard.press('Escape')
    await page.getByRole('dialog').waitFor({ state: 'detached' })
    await page.keyboard.press('Escape')
    await page.getByRole('complementary').waitFor({ state: 'detached' })
    await page.keyboard.press('?')
    await page.getByRole('dialog', { name: 'Keyboard shortcuts' }).waitFor()
    await page.keyboard.press('Escape')
    await page.getByRole('dialog').waitFor({ state: 'detached' })
    await pressSequence(page, 'g', 'm')
    await page.getByRole('heading', { name: 'My account', level: 1 }).waitFor()
  })

  // the last one: the lists of other tests are short without its users
  it('finds a part of a name, says how many there are, and sorts by a column', async () => {
    for (let at = 0; at < 60; at += 1) await addUser(`x${at}.lovelace`)
    await open('#/users')
    await page.getByLabel('Search in names and roles').fill('LOVEL')
    await page.getByRole('search').getByText('50 of 60 users').waitFor()
    await page.getByRole('button', { name: 'Name' }).click()
    await page.getByRole('search').getByText('60 users', { exact: true }).waitFor()
    await page.getByRole('button', { name: 'Name' }).click()
    await page.locator('tbody tr').first().getByText('x9.lovelace').waitFor()
    assert.match(page.url(), /sort=-Name/)
    assert.equal(await page.getByRole('columnheader', { name: 'Name' }).getAttribute('aria-sort'), 'descending')
  })
})
