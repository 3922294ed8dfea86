// My account, administrators and password links in the console, in a real browser.
import assert from 'node:assert/strict'
import { text } from 'node:stream/consumers'
import { before, describe, it } from 'node:test'
import { readTotp, renderCode } from '../../src/directory/second-factor/totp.ts'
import { launchBrowser, NO_BROWSER, openAs, openAsAdmin, openWindow } from '../support/chromium.ts'
import { AS_ADMIN, basic, send } from '../support/request.ts'
import { createSharedScope, type Scope } from '../support/scope.ts'
import { startServer } from '../support/server.ts'
import { waitUntil } from '../support/wait.ts'

const PASSWORD = 'analytical-engine'
const OTHER = 'difference-engine'
const scope = createSharedScope()
const browser = await launchBrowser(scope)
const server = await startServer(scope, { auth: { 'account-failures': 0, 'peer-failures': 0 } })

const ask = (method: string, path: string, body?: object) =>
  send(server.document, { method, path: `/_cardea/api${path}`, as: AS_ADMIN, ...(body && { body }) })

const codeOf = (secret: string, step: number): string =>
  renderCode(readTotp({ key: secret }) ?? assert.fail(), Math.floor(Date.now() / 30_000) + step)

const openFor = (t: Scope, name: string) => openAs(t, browser, { url: server.document, name, password: PASSWORD })

const openAt = (t: Scope, at: string) => openAsAdmin(t, browser, { url: server.document, at })

describe('my account', { skip: NO_BROWSER }, () => {
  before(async () => {
    for (const name of ['ada', 'grace', 'hedy']) await ask('POST', '/users', { name, password: PASSWORD })
  })

  it('changes the password; other sessions end, this one stays', async (t) => {
    const other = await openFor(t, 'ada')
    const { page } = await openFor(t, 'ada')
    await page.getByLabel('Current password').fill(PASSWORD)
    await page.getByLabel('New password').fill(OTHER)
    await page.getByRole('button', { name: 'Change password' }).click()
    await page.getByText('Your password was changed.').waitFor()
    await page.getByText('this session').waitFor()
    await other.page.reload()
    await other.page.getByRole('button', { name: 'Sign in' }).waitFor()
  })

  it('saves what the server knows of the user', async (t) => {
    const { page } = await openFor(t, 'hedy')
    const download = page.waitForEvent('download')
    await page.getByRole('button', { name: 'Export your data' }).click()
    const saved = JSON.parse(await text(await (await download).createReadStream()))
    assert.deepEqual([saved.name, saved.user.name, saved.sessions.length], ['hedy', 'hedy', 1])
  })

  it('ends a session that another browser has open', async (t) => {
    const other = await openFor(t, 'grace')
    const { page } = await openFor(t, 'grace')
    await page.getByRole('button', { name: 'End the session from' }).click()
    await page.getByText('The session has ended.').waitFor()
    await other.page.reload()
    await other.page.getByRole('button', { name: 'Sign in' }).waitFor()
  })

  it('sets up one-time codes; then a code or a recovery code is needed', async (t) => {
    const { page } = await openFor(t, 'hedy')
    await page.getByRole('button', { name: 'Set up one-time codes' }).click()
    const dialog = page.getByRole('dialog')
    await dialog.getByRole('img', { name: 'QR code' }).waitFor()
    const secret = (await dialog.locator('code').textContent()) ?? ''
    await dialog.getByLabel('Code of the app').fill(codeOf(secret, 0))
    await dialog.getByRole('button', { name: 'Turn on' }).click()
    const codes = ((await page.getByRole('status', { name: 'Recovery codes' }).textContent()) ?? '').split('\n')
    assert.equal(codes.length, 10)
    await page.keyboard.press('Escape')
    await page.keyboard.press('Escape')
    const download = page.waitForEvent('download')
    await page.getByRole('button', { name: 'Download' }).click()
    const saved = await text(await (await download).createReadStream())
    assert.equal(saved, `Recovery codes of hedy at ${new URL(server.document).host}\n\n${codes.join('\n')}\n`)
    await page.emulateMedia({ media: 'print' })
    await page.getByText('Recovery codes of hedy at').waitFor()
    assert.deepEqual(await page.getByRole('button').and(page.locator(':visible')).count(), 0)
    await page.emulateMedia({ media: 'screen' })
    await page.getByRole('button', { name: 'I have kept them' }).click()
    await page.getByText('10 recovery codes left').waitFor()

    const fresh = await openWindow(t, browser, { url: server.multiModel })
    await fresh.signIn('hedy', PASSWORD)
    await fresh.page.getByRole('heading', { name: 'Second step' }).waitFor()
    assert.equal(await fresh.page.getByRole('alert').count(), 0)
    const field = fresh.page.getByLabel('One-time code')
    await field.and(fresh.page.locator(':focus')).fill('000000')
    await fresh.page.keyboard.press('Enter')
    await fresh.page.getByRole('alert').filter({ hasText: 'Wrong code.' }).waitFor()
    assert.equal(await field.inputValue(), '000000')
    await field.fill(codeOf(secret, 1))
    await fresh.page.keyboard.press('Enter')
    await fresh.page.getByRole('navigation', { name: 'Pages' }).waitFor()
    await fresh.page.getByRole('button', { name: 'Sign out' }).click()
    await fresh.signIn('hedy', PASSWORD, codes[3])
    await fresh.page.getByText('9 recovery codes left').waitFor()
  })

  it('creates an access token, shows it once and removes it', async (t) => {
    const { page } = await openFor(t, 'grace')
    await page.getByRole('button', { name: 'Create token' }).click()
    await page.getByRole('dialog').getByLabel('Name').fill('backup')
    await page.getByRole('dialog').getByRole('button', { name: 'Create token' }).click()
    const text = (await page.getByRole('status', { name: 'The token backup' }).textContent()) ?? ''
    assert.match(text, /^v1\.[0-9a-f]+$/)
    await page.getByRole('button', { name: 'Done' }).click()
    await page.getByRole('button', { name: 'Remove the token backup' }).click()
    await page.getByRole('dialog').getByRole('button', { name: 'Remove the token backup' }).click()
    await page.getByText('No access tokens').waitFor()
    assert.ok(!(await page.content()).includes(text))
  })

  it('creates an access token that can only read some databases', async (t) => {
    const { page } = await openFor(t, 'grace')
    await page.getByRole('button', { name: 'Create token' }).click()
    const dialog = page.getByRole('dialog')
    await dialog.getByLabel('Name').fill('report')
    const readOnly = dialog.getByLabel('Only to read, at the document door')
    assert.equal(await readOnly.count(), 0, 'without databases it can do what its user can')
    await dialog.getByLabel('Databases').fill('shop')
    await readOnly.check()
    await dialog.getByRole('button', { name: 'Create token' }).click()
    const text = (await page.getByRole('status', { name: 'The token report' }).textContent()) ?? ''
    await page.getByRole('button', { name: 'Done' }).click()
    const row = page.getByRole('row').filter({ hasText: 'report' })
    await row.filter({ hasText: 'shop' }).filter({ hasText: 'read only' }).waitFor()
    const as = basic('grace', text)
    const write = await send(server.document, { method: 'PUT', path: '/shop/x', as, body: {} })
    assert.deepEqual([write.status, write.json.reason], [403, 'This access token is read-only.'])
    const read = await send(server.document, { path: '/shop/x', as })
    assert.notEqual(read.json.reason, write.json.reason)
    await page.getByRole('button', { name: 'Remove the token report' }).click()
    await page.getByRole('dialog').getByRole('button', { name: 'Remove the token report' }).click()
    await page.getByText('No access tokens').waitFor()
  })

  it('lets a user whose password was set by an administrator do nothing before changing it', async (t) => {
    await ask('POST', '/users', { name: 'joan', password: PASSWORD, mustChangePassword: true })
    const { page } = await openFor(t, 'joan')
    await page.getByText('Set a new password before you continue.').waitFor()
    assert.equal(await page.getByRole('region', { name: 'Second factor' }).count(), 0)
  })
})

describe('administrators', { skip: NO_BROWSER }, () => {
  it('creates a link with which a user sets a password, once', async (t) => {
    await ask('POST', '/users', { name: 'lise', password: PASSWORD })
    const { page } = await openAt(t, '#/users/lise?do=link')
    await page.getByRole('dialog').getByRole('button', { name: 'Create link' }).click()
    const url = (await page.getByRole('status', { name: 'Password link for lise' }).textContent()) ?? ''
    const user = await openWindow(t, browser, { url: server.document, at: new URL(url).hash })
    await user.page.getByLabel('New password').fill(OTHER)
    await user.page.getByRole('button', { name: 'Set password' }).click()
    await user.page.getByRole('link', { name: 'Sign in' }).click()
    await user.signIn('lise', OTHER)
    await user.page.getByRole('navigation', { name: 'Pages' }).waitFor()
    await user.page.goto(url)
    await user.page.reload()
    await user.page.getByText('This link is not valid.').waitFor()
  })

  it('adds an administrator and removes it; the last one stays', async (t) => {
    const { page, open } = await openAt(t, '#/administrators/admin')
    await page.getByText('The last administrator cannot be removed.').waitFor()
    assert.ok(await page.getByRole('button', { name: 'Remove' }).isDisabled())
    await open('#/administrators?do=add')
    await page.getByRole('dialog').getByLabel('Name').fill('ops')
    await page.getByRole('dialog').getByLabel('Password', { exact: true }).fill(PASSWORD)
    await page.getByRole('dialog').getByRole('button', { name: 'Add administrator' }).click()
    await page.getByRole('complementary', { name: 'ops' }).getByText('No session is open.').waitFor()
    await send(server.document, { method: 'POST', path: '/_session', body: { name: 'ops', password: PASSWORD } })
    // written within a second, exact to the minute
    const hasName = ({ name }: { readonly name: string }) => name === 'ops'
    await waitUntil(
      async () => (await ask('GET', '/administrators')).json.administrators.find(hasName).lastSignIn !== null,
    )
    await page.reload()
    await page
      .getByRole('row', { name: 'ops' })
      .getByText(/^(just now|1 min. ago)/)
      .waitFor()
    await page.getByRole('button', { name: 'End sessions' }).click()
    await page.getByRole('dialog').getByText('1 session ends at once').waitFor()
    await page.getByRole('dialog').getByRole('button', { name: 'End all sessions of ops' }).click()
    await page.getByText('1 session has ended.').waitFor()
    await page.getByRole('complementary', { name: 'ops' }).getByRole('button', { name: 'Remove' }).click()
    await page.getByRole('dialog').getByRole('button', { name: 'Remove ops' }).click()
    await page.getByText('ops is no longer an administrator.').waitFor()
    assert.equal((await ask('GET', '/administrators')).json.administrators.length, 1)
  })
})
