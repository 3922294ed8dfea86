// The page at /_cardea/sign-in in a real browser: it ends in the session cookie of the document door.
import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import axe from 'axe-core'
import { readTotp, renderCode } from '../../src/directory/second-factor/totp.ts'
import { findViolations, launchBrowser, NO_BROWSER, openWindow } from '../support/chromium.ts'
import { startMailServer, tokenOf } from '../support/mail.ts'
import { AUDIENCE, CLIENT, CLIENT_SECRET, startProvider } from '../support/provider.ts'
import { ADMIN, basic, send } from '../support/request.ts'
import { createSharedScope, makeFolder, type Scope } from '../support/scope.ts'
import { startServer, startServerWithFiles } from '../support/server.ts'

const scope = createSharedScope()
const browser = await launchBrowser(scope)
const provider = await startProvider(scope)
const { cardea, document, multiModel, addresses } = await startServer(scope, {
  admin: { endpoint: 'tcp://127.0.0.1:0' },
  chttpd_auth: { allow_sign_up: true, same_site: 'strict' },
  console: { name: 'Shop & lab' },
})
await cardea.users.create({ name: 'ada', password: 'analytical engine' })

async function openPage(t: Scope, url: string, query = '') {
  const { page } = await openWindow(t, browser, { url, at: `sign-in${query}` })
  return page
}

describe('the sign-in page', { skip: NO_BROWSER }, () => {
  const listeners = { document, 'multi-model': multiModel, admin: addresses.admin[0] ?? '' }
  for (const [name, url] of Object.entries(listeners))
    it(`signs a user in and out at the ${name} listener, with the keyboard alone`, async (t) => {
      const page = await openPage(t, url)
      await page.keyboard.type('ada')
      await page.keyboard.press('Tab')
      await page.keyboard.type('wrong')
      await page.keyboard.press('Enter')
      await page.getByRole('alert').filter({ hasText: 'Wrong name or password.' }).waitFor()
      await page.getByLabel('Password').fill('analytical engine')
      await page.keyboard.press('Enter')
      await page.getByText('You are signed in as ada.').waitFor()
      const session = await page.request.get(`${document}/_session`)
      assert.equal((await session.json()).userCtx.name, 'ada')
      await page.reload()
      await page.getByRole('button', { name: 'Sign out' }).click()
      await page.getByText('You are signed out.').waitFor()
      const after = await page.request.get(`${document}/_session`)
      assert.equal((await after.json()).userCtx.name, null)
    })

  it('names the instance, shows the password on request, and says that it waits after 3 seconds', async (t) => {
    const page = await openPage(t, document)
    await page.getByText('Shop & lab').waitFor()
    assert.equal(await page.title(), 'Sign in · Shop & lab')
    await page.getByLabel('Name').fill('ada')
    const password = page.getByLabel('Password')
    await password.fill('analytical engine')
    await page.getByRole('button', { name: 'Show' }).click()
    assert.equal(await password.getAttribute('type'), 'text')
    await page.getByRole('button', { name: 'Hide' }).click()
    assert.equal(await password.getAttribute('type'), 'password')
    await page.clock.install()
    let goOn = () => {}
    const held = new Promise<void>((resolve) => {
      goOn = resolve
    })
    await page.route('**/_cardea/sign-in/sign-in', async (route) => {
      await held
      await route.continue()
    })
    await page.getByRole('button', { name: 'Sign in' }).click()
    await page.clock.fastForward(3100)
    await page.getByText('Still waiting for the server.').waitFor()
    goOn()
    await page.getByText('You are signed in as ada.').waitFor()
  })

  it('asks for a one-time code as a second step, then goes to the path in next', async (t) => {
    await cardea.users.create({ name: 'hedy', password: 'frequency hopping' })
    const headers = { Authorization: basic('hedy', 'frequency hopping') }
    const path = '/_cardea/account/totp'
    const { secret } = JSON.parse((await send(document, { method: 'POST', path, headers, body: {} })).body)
    const codeAt = (step: number) =>
      renderCode(readTotp({ key: secret }) ?? assert.fail(), Math.floor(Date.now() / 30_000) + step)
    await send(document, { method: 'POST', path: `${path}/confirm`, headers, body: { secret, code: codeAt(-1) } })
    const page = await openPage(t, document, '?next=%2F_session%3Fa%3D1')
    await page.getByLabel('Name').fill('hedy')
    await page.getByLabel('Password').fill('frequency hopping')
    await page.getByRole('button', { name: 'Sign in' }).click()
    await page.getByRole('heading', { name: 'Second step' }).waitFor()
    await page.evaluate(axe.source)
    assert.deepEqual(await findViolations(page), [])
    await page.getByLabel('One-time code').fill('000000')
    await page.keyboard.press('Enter')
    await page.getByRole('alert').filter({ hasText: 'Wrong code.' }).waitFor()
    await page.getByLabel('One-time code').fill(codeAt(0))
    await page.keyboard.press('Enter')
    await page.waitForURL(`${document}/_session?a=1`)
    assert.match((await page.textContent('body')) ?? '', /"name":"hedy"/)
    await page.goto(`${document}/_cardea/sign-in`)
  })

  it('creates an account and signs in', async (t) => {
    const page = await openPage(t, document)
    await page.getByRole('button', { name: 'Create an account' }).click()
    await page.getByLabel('Name').fill('ada')
    await page.getByLabel('New password').fill('a new password')
    await page.keyboard.press('Enter')
    await page.getByRole('alert').filter({ hasText: /./ }).waitFor()
    await page.getByLabel('Name').fill('grace')
    await page.keyboard.press('Enter')
    await page.getByText('You are signed in as grace.').waitFor()
  })

  it('signs in at an identity provider, links an account and signs out there', async (t) => {
    const server = await startServer(scope, {
      chttpd_auth: { same_site: 'strict' },
      'provider:example': {
        issuer: provider.issuer,
        audience: AUDIENCE,
        'client-id': CLIENT,
        'client-secret': CLIENT_SECRET,
        label: 'Example ID',
      },
    })
    const url = server.document
    await server.cardea.users.create({ name: 'ada', password: 'analytical engine' })
    const path = '/_cardea/api/settings/console/public-url'
    await send(url, { method: 'PUT', path, headers: ADMIN, body: { value: url } })
    const page = await openPage(t, url, '?next=%2F_session')
    await page.getByRole('button', { name: 'Sign in with Example ID' }).click()
    await page.getByRole('alert').filter({ hasText: 'this account is not linked to a user' }).waitFor()
    await page.evaluate(axe.source)
    assert.deepEqual(await findViolations(page), [])
    await page.getByRole('link', { name: 'Start again' }).click()
    await page.getByLabel('Name').fill('ada')
    await page.getByLabel('Password').fill('analytical engine')
    await page.keyboard.press('Enter')
    await page.getByRole('button', { name: 'Link your account at Example ID' }).click()
    await page.getByLabel('Password').fill('analytical engine')
    await page.keyboard.press('Enter')
    await page.getByText('The account is linked.').waitFor()
    await page.getByRole('button', { name: 'Sign out' }).click()
    await page.getByRole('button', { name: 'Sign out of Example ID too' }).waitFor()
    await page.goto(`${url}/_cardea/sign-in?next=%2F_session`)
    await page.getByRole('button', { name: 'Sign in with Example ID' }).click()
    await page.waitForURL(`${url}/_session`)
    assert.match((await page.textContent('body')) ?? '', /"name":"ada"/)
    const offer = page.getByRole('button', { name: 'Link your account at Example ID' })
    await page.goto(`${url}/_cardea/sign-in`)
    await page.getByText('You are signed in as ada.').waitFor()
    assert.equal(await offer.count(), 0, 'in a session of the provider')
    await page.getByRole('button', { name: 'Sign out' }).click()
    await page.goto(`${url}/_cardea/sign-in`)
    await page.getByRole('button', { name: 'Sign in with Example ID' }).click()
    await page.getByText('You are signed in as ada.').waitFor()
    assert.equal(await offer.count(), 0, 'right after the sign-in')
  })

  it('links the account of a user who opens a password link', async (t) => {
    const server = await startServer(scope, {
      'provider:example': { issuer: provider.issuer, audience: AUDIENCE, 'client-id': CLIENT, label: 'Example ID' },
    })
    const url = server.document
    await server.cardea.users.create({ name: 'iva', password: null })
    const path = '/_cardea/api/settings/console/public-url'
    await send(url, { method: 'PUT', path, headers: ADMIN, body: { value: url } })
    const asked = { method: 'POST', path: '/_cardea/api/users/iva/password-link', headers: ADMIN, body: {} }
    const link = new URL(JSON.parse((await send(url, asked)).body).url)
    const { page } = await openWindow(t, browser, { url, at: link.href.slice(`${url}/_cardea/`.length) })
    await page.getByRole('link', { name: 'Use an account at an identity provider' }).click()
    await page.getByRole('heading', { name: 'Choose your account' }).waitFor()
    await page.evaluate(axe.source)
    assert.deepEqual(await findViolations(page), [])
    assert.equal(await page.getByRole('button', { name: 'Link your account at Example ID' }).count(), 1)
  })

  it('creates the user of an invitation with an account, also after a reload on the way', async (t) => {
    const mailServer = await startMailServer(t)
    const file = join(makeFolder(t), 'local.ini')
    writeFileSync(file, '[console]\npublic-url = https://db.example.com\n')
    const server = await startServerWithFiles(t, [file], {
      mail: { url: mailServer.url, from: 'no-reply@shop.example' },
      'provider:example': {
        issuer: provider.issuer,
        audience: AUDIENCE,
        'client-id': CLIENT,
        'client-secret': CLIENT_SECRET,
        label: 'Example ID',
      },
    })
    const url = server.document
    const path = '/_cardea/api/settings/console/public-url'
    assert.equal((await send(url, { method: 'PUT', path, headers: ADMIN, body: { value: url } })).status, 200)
    const invited = {
      method: 'POST',
      path: '/_cardea/api/invitations',
      headers: ADMIN,
      body: { address: 'iva@a.example' },
    }
    assert.equal((await send(url, invited)).status, 200)
    const at = `#/invitation-link/${tokenOf(await mailServer.take('iva@a.example'))}`
    Object.assign(provider.state, { idToken: { sub: 'invited' } })
    t.after(() => Object.assign(provider.state, { idToken: {} }))
    const choose = async () => {
      const { page } = await openWindow(t, browser, { url, at })
      await page.getByLabel('Name').fill('iva/ü')
      await page.getByRole('button', { name: 'Use an account at an identity provider' }).click()
      await page.getByRole('heading', { name: 'Choose your account' }).waitFor()
      return page
    }
    await (await choose()).reload()
    assert.equal(await server.cardea.users.find('iva/ü'), undefined)
    const page = await choose()
    await page.getByRole('button', { name: 'Link your account at Example ID' }).click()
    await page.getByText('You are signed in as iva/ü.').waitFor()
  })

  it('gives the web interface of ArangoDB a token of its door', async (t) => {
    const next = '/_db/_system/_admin/aardvark/index.html'
    const page = await openPage(t, multiModel, `?next=${encodeURIComponent(next)}`)
    await page.route(`**${next}`, (route) => route.fulfill({ contentType: 'text/html', body: 'the web interface' }))
    await page.getByLabel('Name').fill('ada')
    await page.getByLabel('Password').fill('analytical engine')
    await page.keyboard.press('Enter')
    await page.getByText('the web interface').waitFor()
    assert.equal(await page.evaluate("sessionStorage.getItem('jwtUser')"), 'ada')
    const headers = { Authorization: `bearer ${await page.evaluate("sessionStorage.getItem('jwt')")}` }
    assert.equal((await send(multiModel, { path: '/_api/user/ada', headers })).status, 200)
    const body = { passwd: 'another password' }
    assert.equal((await send(multiModel, { method: 'PATCH', path: '/_api/user/ada', headers, body })).status, 403)
  })

  it('makes a token only for a session, at the multi-model door, for the page itself', async () => {
    const path = '/_cardea/sign-in/token'
    assert.equal((await send(multiModel, { method: 'POST', path })).status, 401)
    const signed = await send(document, {
      method: 'POST',
      path: '/_session',
      body: { name: 'ada', password: 'analytical engine' },
    })
    const Cookie = signed.lines['set-cookie']?.[0]?.split(';')[0] ?? ''
    const foreign = { Cookie, Origin: 'https://example.com' }
    assert.equal((await send(multiModel, { method: 'POST', path, headers: foreign })).status, 403)
    assert.equal((await send(multiModel, { method: 'POST', path, headers: { Cookie } })).status, 200)
    assert.equal((await send(document, { method: 'POST', path, headers: { Cookie } })).status, 404)
  })

  it('passes the rules of axe in both themes, and fits a small screen', async (t) => {
    const page = await openPage(t, document)
    await page.evaluate(axe.source)
    for (const [colorScheme, width] of [
      ['light', 1280],
      ['dark', 390],
    ] as const) {
      await page.emulateMedia({ colorScheme })
      await page.setViewportSize({ width, height: 800 })
      assert.deepEqual(await findViolations(page), [], colorScheme)
      assert.ok(await page.evaluate('document.documentElement.scrollWidth <= innerWidth'), `${width} px`)
    }
  })

  for (const next of ['//example.com', '/\\example.com', 'https://example.com', 'javascript:alert(1)'])
    it(`rejects ${next} as the next path`, async () => {
      const path = `/_cardea/sign-in?next=${encodeURIComponent(next)}`
      assert.equal((await send(document, { path })).status, 400)
    })

  it('says that it cannot go to a wrong next path, and signs in', async (t) => {
    const page = await openPage(t, document, '?next=https%3A%2F%2Fexample.com')
    await page.getByRole('status').filter({ hasText: 'After the sign-in you stay here.' }).waitFor()
    await page.getByLabel('Name').fill('ada')
    await page.getByLabel('Password').fill('analytical engine')
    await page.keyboard.press('Enter')
    await page.getByText('You are signed in as ada.').waitFor()
  })

  it('signs nobody in for a page of another origin', async () => {
    const path = '/_cardea/sign-in/sign-in'
    const headers = { Origin: 'https://example.com', 'Content-Type': 'application/json' }
    const body = { name: 'ada', password: 'analytical engine' }
    const { status, lines } = await send(document, { method: 'POST', path, headers, body })
    assert.equal(status, 403)
    assert.equal(lines['set-cookie'], undefined)
  })

  it('is closed where a door requires a credential on every path, and open at admin.endpoint', async (t) => {
    const closed = await startServer(t, {
      admin: { endpoint: 'tcp://127.0.0.1:0' },
      chttpd: { require_valid_user: true },
      server: { 'authentication-system-only': false },
    })
    const path = '/_cardea/sign-in'
    assert.equal((await send(closed.document, { path })).status, 401)
    assert.equal((await send(closed.multiModel, { path })).status, 401)
    assert.equal((await send(closed.addresses.admin[0] ?? '', { path })).status, 200)
  })
})
