// The pages that show who reaches what: sessions, roles, databases, the second factor.
import assert from 'node:assert/strict'
import { before, describe, it } from 'node:test'
import type { Page } from 'playwright-core'
import { readTotp, renderCode } from '../../src/directory/second-factor/totp.ts'
import { launchBrowser, NO_BROWSER, openAsAdmin, openWindow, type Window, waitForSaved } from '../support/chromium.ts'
import { openDatabases } from '../support/databases.ts'
import { AS_ADMIN, send } from '../support/request.ts'
import { createSharedScope } from '../support/scope.ts'
import { startServer } from '../support/server.ts'
import { beforeDocument } from '../support/upstream.ts'
import { waitUntil } from '../support/wait.ts'

const PASSWORD = 'analytical-engine'
const scope = createSharedScope()
const browser = await launchBrowser(scope)
const { securities, couchdb, options } = await openDatabases(scope, ['billing', 'mail'])
const server = await startServer(scope, options)

const ask = (method: string, path: string, body?: object) =>
  send(server.document, { method, path: `/_cardea/api${path}`, as: AS_ADMIN, ...(body && { body }) })

const signIn = (name: string, userAgent: string) =>
  send(server.document, {
    method: 'POST',
    path: '/_session',
    headers: { 'User-Agent': userAgent },
    body: { name, password: PASSWORD },
  })

const readRefused = async (url: string): Promise<readonly object[]> =>
  (await send(url, { path: '/_cardea/api/databases/of-users', as: AS_ADMIN })).json.refused

let page: Page
let open: Window['open']

before(async () => {
  if (NO_BROWSER) return
  for (const [name, roles] of [
    ['ada', ['editor', 'reader']],
    ['alan', ['reader']],
    ['grace', []],
  ] as const)
    await ask('POST', '/users', { name, password: PASSWORD, roles })
  const window = await openAsAdmin(scope, browser, { url: server.document, at: '#/nodes' })
  page = window.page
  open = window.open
})

describe('the sessions page', { skip: NO_BROWSER }, () => {
  const rowOf = (name: string) => page.getByRole('row', { name })

  before(async () => {
    for (const name of ['ada', 'ada', 'alan', 'grace']) await signIn(name, 'nano/10')
  })

  it('searches by user, address and client, and keeps the filter in the address', async () => {
    await open('#/sessions')
    await rowOf('grace').waitFor()
    await page.getByLabel('Search for the beginning').fill('a')
    await rowOf('grace').waitFor({ state: 'detached' })
    await rowOf('alan').waitFor()
    await page.getByLabel('Search by').selectOption('client')
    await page.getByLabel('Search for the beginning').fill('NANO')
    await rowOf('grace').waitFor()
    assert.equal(await rowOf('admin').count(), 0)
    await page.getByLabel('Age', { exact: true }).selectOption('Older than a day')
    await page.getByRole('heading', { name: 'No session matches' }).waitFor()
    assert.match(page.url(), /search=NANO&by=client&age=min\+86400/)
  })

  it('ends one in its panel, and marks the own one', async () => {
    await open('#/sessions?search=grace')
    await rowOf('grace').getByRole('link').click()
    const panel = page.getByRole('complementary')
    await panel.getByText('nano/10').first().waitFor()
    assert.equal(await page.title(), 'Sessions · Cardea')
    await panel.getByRole('button', { name: 'End session' }).click()
    await panel.getByRole('heading', { name: 'This session is not in the list' }).waitFor()
    await page.getByRole('heading', { name: 'No session matches' }).waitFor()
    await open('#/sessions?search=admin')
    await rowOf('admin').getByText('this session').waitFor()
  })

  it('ends several, and all that match', async () => {
    await open('#/sessions')
    await rowOf('ada').first().getByRole('checkbox').check()
    await rowOf('alan').getByRole('checkbox').check()
    await page.getByRole('button', { name: 'End 2 sessions' }).click()
    await page.getByRole('dialog').getByRole('button', { name: 'End 2 sessions' }).click()
    await rowOf('alan').waitFor({ state: 'detached' })
    assert.equal(await rowOf('ada').count(), 1)
    await page.getByLabel('Search for the beginning').fill('ad')
    await page.getByRole('button', { name: 'End all that match' }).click()
    const dialog = page.getByRole('dialog', { name: 'End all that match' })
    await dialog.getByText('whose user begins with “ad”').waitFor()
    await dialog.getByRole('button', { name: 'End all that match' }).click()
    await dialog.waitFor({ state: 'detached' })
    await rowOf('ada').waitFor({ state: 'detached' })
    await rowOf('admin').getByText('this session').waitFor()
  })

  it('never breaks an address, and fits it in', async () => {
    const peer = '2001:db8:85a3:1234:5678:8a2e:1370:7334'
    await page.route('**/_cardea/api/sessions?*', async (route) => {
      const response = await route.fetch()
      const { sessions, ...rest } = await response.json()
      await route.fulfill({
        response,
        json: { ...rest, sessions: sessions.map((each: object) => ({ ...each, peer })) },
      })
    })
    const { width, height } = page.viewportSize() ?? assert.fail()
    for (const narrow of [1024, 390]) {
      await page.setViewportSize({ width: narrow, height })
      await open('#/sessions?search=admin')
      await page.reload()
      const address = page.getByRole('table', { name: 'Sessions' }).getByText(peer).first()
      await address.waitFor()
      assert.ok(((await address.boundingBox())?.height ?? 99) < 25, `one line at ${narrow}`)
      const fits = await page.evaluate(
        '[...document.querySelectorAll(".table")].every((t) => t.scrollWidth <= t.clientWidth)',
      )
      assert.ok(fits, `nothing is cut at ${narrow}`)
    }
    await page.setViewportSize({ width, height })
    await page.unroute('**/_cardea/api/sessions?*')
  })

  it('follows sign-ins', async () => {
    await open('#/sessions')
    await rowOf('admin').waitFor()
    await signIn('alan', 'PouchDB/9')
    await rowOf('alan').getByText('PouchDB/9').waitFor()
  })
})

describe('the roles page', { skip: NO_BROWSER }, () => {
  it('counts the members of each role and finds one by its beginning', async () => {
    await open('#/roles')
    await page.getByRole('row', { name: 'reader 2' }).waitFor()
    await page.getByLabel('Search the beginning of a role').fill('ED')
    await page.getByRole('row', { name: 'reader' }).waitFor({ state: 'detached' })
    await page.getByRole('row', { name: 'editor 1' }).waitFor()
  })

  it('shows the members of a role and what they reach, and follows changes', async () => {
    await ask('PUT', '/users/ada/grants', { database: 'shop', level: 'rw' })
    await open('#/roles/reader')
    const panel = page.getByRole('complementary', { name: 'reader' })
    await panel.getByRole('row', { name: 'shop 1' }).waitFor()
    await panel.getByText('Only administrators may.').first().waitFor()
    await ask('PUT', '/users/grace/roles', { add: ['reader'] })
    await panel.getByRole('link', { name: 'grace' }).waitFor()
    await page.getByRole('row', { name: 'reader 3' }).waitFor()
    await panel.getByRole('link', { name: 'grace' }).click()
    await page.getByRole('complementary', { name: 'grace' }).waitFor()
    await open('#/roles/nobody')
    await page.getByRole('heading', { name: 'No user has the role nobody' }).waitFor()
  })
})

describe('the databases page', { skip: NO_BROWSER }, () => {
  before(async () => {
    await ask('PUT', '/users/ada/grants', { database: 'shop', level: 'rw' })
  })

  it('shows who may use the databases behind both doors', async () => {
    securities.set('mail', { admins: { names: ['ada'] }, members: { roles: ['reader'] } })
    securities.set('billing', {})
    await open('#/databases')
    await page.getByRole('row', { name: 'mail ada role reader' }).waitFor()
    await page.getByRole('row', { name: 'billing administrators only every user' }).waitFor()
    await page.getByRole('row', { name: 'shop 1 user' }).waitFor()
    await page.getByLabel('Search the beginning of a name').fill('ma')
    await page.getByRole('row', { name: 'shop' }).waitFor({ state: 'detached' })
    await open('#/roles/reader')
    await page.getByRole('complementary', { name: 'reader' }).getByRole('link', { name: 'mail' }).waitFor()
  })

  it('changes _security, and asks whose value counts if another has changed it', async () => {
    await open('#/databases/mail')
    const panel = page.getByRole('complementary', { name: 'mail' })
    const members = panel.getByLabel('Users who are members')
    for (const name of ['linda x', 'grace']) {
      await members.fill(name)
      await members.press('Enter')
    }
    // without Enter: it is saved too, and becomes one of the names
    await members.fill(' alan ')
    await panel.getByRole('button', { name: 'Save access' }).click()
    await page.getByText('The access to mail is changed.').waitFor()
    await panel.getByRole('button', { name: 'Remove alan' }).waitFor()
    assert.equal(await members.inputValue(), '')
    const saved = {
      admins: { names: ['ada'], roles: [] },
      members: { names: ['linda x', 'grace', 'alan'], roles: ['reader'] },
    }
    assert.deepEqual(securities.get('mail'), saved)
    await panel.getByRole('button', { name: 'Remove reader' }).click()
    for (const role of ['reader, all', 'writer']) {
      await panel.getByLabel('Roles that are members').fill(role)
      await panel.getByLabel('Roles that are members').press('Enter')
    }
    securities.set('mail', { ...saved, members: { names: [], roles: ['ops'] } })
    // an event after which the page loads again
    await ask('PUT', '/users/grace/grants', { database: 'stats', level: 'ro' })
    await panel.getByText('Someone has changed the access in the meantime.').waitFor()
    await panel.getByText('ops').waitFor()
    await panel.getByRole('button', { name: 'Go on with mine' }).click()
    await panel.getByRole('button', { name: 'Save access' }).click()
    await waitForSaved(panel.getByRole('button', { name: 'Save access' }))
    assert.deepEqual(securities.get('mail'), {
      ...saved,
      members: { names: ['linda x', 'grace', 'alan'], roles: ['reader, all', 'writer'] },
    })
    // names of another administrator are no text of this one
    securities.set('mail', { ...saved, members: { names: ['alan', 'brian'], roles: ['writer', 'ops'] } })
    await ask('PUT', '/users/grace/grants', { database: 'stats', level: 'rw' })
    await panel.getByRole('button', { name: 'Remove brian' }).waitFor()
    assert.equal(await members.inputValue(), '')
    assert.equal(await panel.getByLabel('Roles that are members').inputValue(), '')
  })

  it('grants and removes access to a database of ArangoDB', async () => {
    await open('#/databases/shop')
    const panel = page.getByRole('complementary', { name: 'shop' })
    await panel.getByRole('row', { name: 'ada read and write' }).waitFor()
    await panel.getByLabel('Name of a user').fill('alan')
    await panel.getByLabel('Level').selectOption('ro')
    await panel.getByRole('button', { name: 'Grant', exact: true }).click()
    await panel.getByRole('row', { name: 'alan read' }).waitFor()
    await panel.getByRole('button', { name: 'Remove the grant of ada' }).click()
    await panel.getByRole('row', { name: 'ada' }).waitFor({ state: 'detached' })
    assert.deepEqual((await ask('GET', '/users/alan')).json.grants, { shop: { level: 'ro' } })
  })

  it('says which _security cannot be read, in the list and in the panel', async () => {
    securities.set('billing', { admins: 7 })
    await open('#/databases/billing')
    await page.getByRole('row', { name: 'billing cannot be read' }).waitFor()
    const panel = page.getByRole('complementary', { name: 'billing' })
    await panel.getByText('Access to this database cannot be shown.').waitFor()
    assert.equal(await panel.getByRole('button', { name: 'Save access' }).count(), 0)
    securities.set('billing', {})
  })

  it('shows databases of users that wait or were refused, has no part for an ArangoDB that is not configured, and does not call databases missing that it cannot list', async (t) => {
    const { couchdb: other } = await openDatabases(t, ['mail'])
    const enabled = { 'user-databases': { enabled: true, wait: 0 } }
    const { document: url, cardea } = await startServer(t, beforeDocument(other.url), enabled)
    // the CouchDB of this test creates none, and the second name is too long for one
    for (const name of ['ada', 'x'.repeat(116)]) await cardea.users.create({ name, password: PASSWORD })
    const window = await openAsAdmin(t, browser, { url, at: '#/databases/mail' })
    await window.page.getByText(/^Databases of users that wait to be created or changed: [12]\./).waitFor()
    await waitUntil(async () => (await readRefused(url)).length > 0)
    await window.page.reload()
    await window.page.getByText('does not get userdb-78787878').waitFor()
    await window.page.getByText('Databases of users that wait to be created or changed: 1.').waitFor()
    await window.page.getByRole('row', { name: 'mail' }).waitFor()
    await window.page.getByRole('complementary', { name: 'mail' }).getByText('Access in CouchDB').waitFor()
    assert.equal(await window.page.getByText('ArangoDB').count(), 0)
    await other.close()
    await window.open('#/databases')
    await window.page.reload()
    await window.page.getByRole('heading', { name: 'The databases cannot be listed' }).waitFor()
    assert.equal(await window.page.getByText(/No databases yet|0 databases/).count(), 0)
    await window.page.getByRole('button', { name: 'Try again' }).waitFor()
  })

  it('says in words that a database does not answer', async () => {
    await couchdb.close()
    await open('#/databases')
    await page.reload()
    const notice = page.getByText('CouchDB does not answer. Check that it is running.')
    await notice.waitFor()
    await page.getByRole('row', { name: 'shop' }).waitFor()
    const [above, below] = [await notice.boundingBox(), await page.locator('.table').boundingBox()]
    assert.ok(above && below && below.y >= above.y + above.height + 8, 'the notice does not touch the table')
  })
})

describe('the page of the second factor', { skip: NO_BROWSER }, () => {
  it('requires one of a role, lists who has none, and asks a member to set it up', async () => {
    await ask('POST', '/users', { name: 'olga', password: PASSWORD, roles: ['shop floor'] })
    await open('#/policy')
    await page.getByRole('heading', { name: 'No account needs a second factor' }).waitFor()
    await page.getByLabel('Users with these roles').fill('shop floor')
    await page.getByRole('button', { name: 'Save policy' }).click()
    await page.getByRole('row', { name: 'olga role shop floor never' }).waitFor()
    const member = await openWindow(scope, browser, { url: server.document })
    await member.signIn('olga', PASSWORD)
    await member.page.getByText('Set up one-time codes or add a passkey to go on').waitFor()
    await member.page.getByRole('button', { name: 'Set up one-time codes' }).click()
    const dialog = member.page.getByRole('dialog')
    const totp = readTotp({ key: await dialog.locator('code').textContent() }) ?? assert.fail()
    await dialog.getByLabel('Code of the app').fill(renderCode(totp, Math.floor(Date.now() / 30_000)))
    await dialog.getByRole('button', { name: 'Turn on' }).click()
    await member.page.getByRole('button', { name: 'I have kept them' }).click()
    await member.page.getByText('Your second factor is set up.').waitFor()
    await member.page.getByRole('button', { name: 'Go on' }).click()
    await member.page.getByText('Your second factor is set up.').waitFor({ state: 'detached' })
    await page.getByRole('heading', { name: 'Every account that needs a second factor has one' }).waitFor()
  })

  it('keeps what is typed when another administrator changes the policy, and asks which one counts', async () => {
    await open('#/policy')
    const field = page.getByLabel('Users with these roles')
    await field.pressSequentially('ops')
    await ask('PUT', '/settings/admin/second-factor-roles', { value: 'billing' })
    const notice = page.getByText('Someone has set it to billing in the meantime.')
    await notice.waitFor()
    assert.equal(await field.inputValue(), 'ops')
    await page.getByRole('button', { name: 'Go on with shop floor, ops' }).click()
    await page.getByRole('button', { name: 'Save policy' }).click()
    await notice.waitFor({ state: 'detached' })
    await waitForSaved(page.getByRole('button', { name: 'Save policy' }))
    await field.pressSequentially('x')
    await ask('PUT', '/settings/admin/second-factor-roles', { value: 'billing' })
    await page.getByRole('button', { name: 'Keep billing' }).click()
    await page.getByRole('button', { name: 'Remove billing' }).waitFor()
    assert.equal(await field.inputValue(), '')
    await waitForSaved(page.getByRole('button', { name: 'Save policy' }))
  })

  it('takes a saved policy as the base of the next change, also before it is loaded again', async () => {
    await open('#/policy')
    const field = page.getByLabel('Users with these roles')
    const save = page.getByRole('button', { name: 'Save policy' })
    await field.pressSequentially('ops')
    const { promise: isTyped, resolve: release } = Promise.withResolvers<void>()
    await page.route('**/_cardea/api/second-factor', (route) => isTyped.then(() => route.continue()))
    await save.click()
    await page.getByText('The policy is saved').last().waitFor()
    await field.pressSequentially('night')
    const loaded = page.waitForResponse('**/_cardea/api/second-factor')
    release()
    await loaded
    await save.click()
    await page.getByRole('button', { name: 'Remove night' }).waitFor()
    assert.equal(await page.getByText('in the meantime').count(), 0)
  })
})
