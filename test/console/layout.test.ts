// Every page of the console at different widths, while it loads, after an error, and by keyboard alone.
import assert from 'node:assert/strict'
import { before, describe, it } from 'node:test'
import type { Page } from 'playwright-core'
import { launchBrowser, NO_BROWSER, openAsAdmin, openWindow, pressSequence, type Window } from '../support/chromium.ts'
import { CONSOLE_PAGES, startDemo } from '../support/console-demo.ts'
import { AS_ADMIN, send } from '../support/request.ts'
import { createSharedScope } from '../support/scope.ts'
import { waitUntil } from '../support/wait.ts'

const scope = createSharedScope()
const browser = await launchBrowser(scope)
const { document: url } = await startDemo(scope)

/** The administrator's, for all tests that need no other. */
let window: Window

before(async () => {
  if (!NO_BROWSER) window = await openAsAdmin(scope, browser, { url })
})

/** Shows a page at that size. */
async function show(fragment: string, width = 1280, height = 800): Promise<Page> {
  await window.page.setViewportSize({ width, height })
  await window.open(fragment)
  return window.page
}

const settle = (page: Page) => page.locator('.skeleton').first().waitFor({ state: 'detached' })

/** What is wider than the window, by its class. Tables and code scroll in a box of their own. */
const WIDER = `[document.documentElement, ...document.querySelectorAll('.page, .panel > .content, dialog[open]')]
  .filter((element) => element.scrollWidth > element.clientWidth)
  .map((element) => element.tagName + '.' + element.className + ' ' + element.scrollWidth)`

/** The narrow one for all, the others in turn. The long form shows each page at all of them. */
const widthsOf = (at: number): readonly number[] =>
  process.env['TEST_LONG'] ? [360, 768, 2560] : [360, at % 2 === 0 ? 768 : 2560]

/** Options are rows of one kind, and Chromium takes a second for all of them. The long form shows all. */
const toShortList = (fragment: string) =>
  fragment === '#/settings' && !process.env['TEST_LONG'] ? `${fragment}?search=session` : fragment

describe('every page', { skip: NO_BROWSER }, () => {
  for (const [at, [name, fragment]] of Object.entries(CONSOLE_PAGES).entries())
    it(`scrolls only down at ${widthsOf(at).join(', ')} px: ${name}`, async () => {
      const page = await show(toShortList(fragment))
      await settle(page)
      for (const width of widthsOf(at)) {
        await page.setViewportSize({ width, height: 800 })
        // charts are drawn again after the window has its new size
        await waitUntil(async () => (await page.evaluate<string[]>(WIDER)).length === 0)
      }
    })

  it('stays where it is when a panel or the selection of rows opens', async () => {
    const { page } = window
    const topOf = async () => (await page.locator('.page tbody tr').first().boundingBox())?.y
    for (const list of ['users', 'administrators', 'settings', 'audit']) {
      await show(`#/${list}`, 1440, 900)
      const before = await topOf()
      await page.locator('.page tbody tr a').first().click()
      await page.getByRole('complementary').waitFor()
      assert.equal(await topOf(), before, list)
    }
    await show('#/users', 1440, 900)
    const before = await topOf()
    await page.getByLabel('Select ada').check()
    await page.getByText('1 user selected').waitFor()
    assert.equal(await topOf(), before)
    // the header of a list stays in view
    await page.setViewportSize({ width: 1440, height: 300 })
    await page.locator('.page tbody tr').last().scrollIntoViewIfNeeded()
    const [row, header] = await Promise.all([topOf(), page.locator('.page thead th').first().boundingBox()])
    assert.ok((row ?? 0) < 0 && (header?.y ?? -1) >= 0, `${row} ${header?.y}`)
  })

  it('has a palette that stays in place while the list changes, and badges beside their icons', async () => {
    const page = await show('#/nodes', 390, 780)
    const users = page.locator('.nav a', { has: page.locator('.count') })
    const [icon, badge] = await Promise.all([users.locator('svg').boundingBox(), users.locator('.count').boundingBox()])
    assert.ok(icon && badge && badge.x >= icon.x + icon.width, `${badge?.x} beside ${icon?.x}`)
    await page.setViewportSize({ width: 1440, height: 900 })
    await page.keyboard.press('/')
    const field = page.getByRole('combobox')
    const before = await field.boundingBox()
    await field.fill('no such thing')
    await page.getByRole('option').nth(1).waitFor({ state: 'detached' })
    assert.equal((await field.boundingBox())?.y, before?.y)
    await page.keyboard.press('Escape')
  })

  it('selects rows in a narrow window, with the actions in view', async () => {
    const page = await show('#/users', 390, 480)
    await page.getByLabel('Select ada').check()
    const bar = page.getByRole('region', { name: 'Selected users' })
    await bar.waitFor()
    await page.evaluate(`document.querySelector('.page').scrollTo(0, 1e6)`)
    const box = await bar.boundingBox()
    assert.ok(box && box.y >= 0 && box.y < 480, `${box?.y}`)
    await page.getByLabel('Select all').check()
    await bar.getByText('22 users').waitFor()
    await page.getByLabel('Select all').uncheck()
    await bar.waitFor({ state: 'detached' })
  })

  it('keeps names and roles of 200 characters inside their places', async () => {
    const [name, role] = ['n'.repeat(200), 'r'.repeat(200)]
    await send(url, { method: 'POST', path: '/_cardea/api/users', as: AS_ADMIN, body: { name, roles: [role] } })
    for (const width of [1440, 390]) {
      const page = await show(`#/users/${name}`, width)
      await page.getByRole('button', { name: `Remove the role ${role}` }).waitFor()
      assert.deepEqual(await page.evaluate<string[]>(WIDER), [], `${width} px`)
    }
  })

  it('cuts no filter beside a panel', async () => {
    const page = await show('#/audit', 1440, 900)
    await page.locator('.page tbody tr a').first().click()
    await page.getByRole('complementary').waitFor()
    const isCut = `[...document.querySelectorAll('.toolbar .range, .toolbar .outcome')].filter((select) => {
      const free = select.cloneNode(true)
      free.style.cssText = 'position: absolute; width: max-content'
      select.parentElement.append(free)
      const width = free.offsetWidth
      free.remove()
      return select.offsetWidth < width
    }).length`
    assert.equal(await page.evaluate<number>(isCut), 0)
  })

  it('has labels of one line in the bar of narrow windows', async () => {
    const page = await show('#/nodes', 360, 780)
    const heights = await page
      .locator('.nav .short:visible')
      .evaluateAll((all) => all.map((each) => each.clientHeight || each.getBoundingClientRect().height))
    assert.equal(heights.length, 5)
    assert.ok(
      heights.every((height) => height < 24),
      heights.join(),
    )
    await page.getByRole('button', { name: 'More' }).click()
    await page.getByRole('dialog', { name: 'More' }).getByRole('link', { name: 'Secrets' }).click()
    await page.getByRole('heading', { name: 'Secrets', level: 1 }).waitFor()
  })
})

/** The pages that load data of their own, with what they say if they cannot. */
const FAILURES: Readonly<Record<string, string>> = {
  users: 'The users could not be loaded',
  roles: 'The roles could not be loaded',
  databases: 'The databases could not be loaded',
  sessions: 'The sessions could not be loaded',
  administrators: 'The administrators could not be loaded',
  policy: 'The policy could not be loaded',
  secrets: 'The secrets could not be loaded',
  settings: 'The options could not be loaded',
  audit: 'The audit trail could not be loaded',
  nodes: 'The nodes could not be loaded',
  account: 'Your account could not be loaded',
  overview: 'The overview could not be loaded',
}

describe('a page whose data', { skip: NO_BROWSER }, () => {
  for (const [name, text] of Object.entries(FAILURES)) {
    it(`is slow or fails says so and offers to try again: ${name}`, async () => {
      const { page } = window
      const held = Promise.withResolvers<void>()
      let isDown = true
      const data = (address: URL) => /\/_cardea\/api\/(?!(?:session|events)$)/.test(address.pathname)
      await page.route(data, async (route) => {
        await held.promise
        if (!isDown) return route.continue()
        return route.fulfill({
          status: 503,
          json: { error: 'store_unavailable', reason: 'The store does not respond.' },
        })
      })
      await show(toShortList(`#/${name}`))
      await page.locator('main').getByRole('status', { name: 'Loading' }).first().waitFor()
      held.resolve()
      const alert = page.getByRole('alert').filter({ hasText: text })
      await alert.getByText('The store does not respond.').waitFor()
      isDown = false
      // a live event may load the page again first: then there is nothing left to click
      await Promise.allSettled([alert.getByRole('button', { name: 'Try again' }).click({ timeout: 5000 })])
      await alert.waitFor({ state: 'detached' })
      await page.unrouteAll({ behavior: 'wait' })
      await settle(page)
    })
  }
})

const KEYS: Readonly<Record<string, string>> = {
  u: 'Users',
  r: 'Roles',
  e: 'Sessions',
  d: 'Databases',
  a: 'Administrators',
  f: 'Second factor',
  s: 'Secrets',
  t: 'Settings',
  l: 'Audit',
  n: 'Nodes',
  m: 'My account',
  o: 'Overview',
}

/** Where the address is not the title. */
const ADDRESSES: Readonly<Record<string, string>> = { 'My account': 'account', 'Second factor': 'policy' }

describe('by keyboard alone', { skip: NO_BROWSER }, () => {
  it('signs in, opens every page, and disables a user with a command', async (t) => {
    const { page } = await openWindow(t, browser, { url, colorScheme: 'dark' })
    const { keyboard } = page
    await page.getByLabel('Name').and(page.locator(':focus')).waitFor()
    await keyboard.type('admin')
    await keyboard.press('Tab')
    await keyboard.type('adminpw')
    await keyboard.press('Enter')
    await page.getByRole('heading', { name: 'Overview', level: 1 }).waitFor()
    for (const [key, heading] of Object.entries(KEYS)) {
      await pressSequence(page, 'g', key)
      await page.getByRole('heading', { name: heading, level: 1 }).waitFor()
    }
    await keyboard.press('/')
    await keyboard.type('change password')
    await page.getByRole('option', { name: 'Change my password' }).waitFor()
    await keyboard.press('Enter')
    await page.getByRole('heading', { name: 'My account', level: 1 }).waitFor()
    await keyboard.press('Control+k')
    await keyboard.type('disable ada')
    await page.getByRole('option', { name: 'Disable ada' }).waitFor()
    await keyboard.press('Enter')
    await page.getByRole('dialog', { name: 'Disable ada' }).waitFor()
    await pressUntilFocused(page, 'Disable ada')
    await keyboard.press('Enter')
    await page.getByText('ada is disabled.').waitFor()
    const { json } = await send(url, { path: '/_cardea/api/users/ada', as: AS_ADMIN })
    assert.equal(json.active, false)
  })

  for (const list of ['users', 'roles', 'sessions', 'databases', 'administrators', 'settings', 'audit'])
    it(`moves with j and k from anywhere, and Escape returns to the row: ${list}`, async () => {
      const page = await show(toShortList(`#/${list}`))
      await page.locator('.page tbody tr a').nth(1).waitFor()
      for (const key of ['j', 'j', 'k', 'j']) await page.keyboard.press(key)
      const focused = () => page.evaluate<string>('document.activeElement.closest("tr")?.textContent')
      const row = await focused()
      assert.equal(row, await page.locator('.page tbody tr').nth(1).textContent())
      await page.keyboard.press('Enter')
      await page.getByRole('complementary').and(page.locator(':focus')).waitFor()
      await page.keyboard.press('Escape')
      await page.getByRole('complementary').waitFor({ state: 'detached' })
      assert.equal(
        await page.evaluate('[...document.querySelectorAll("tbody tr")].indexOf(document.activeElement.closest("tr"))'),
        1,
      )
    })

  it('moves between the rows of a table and opens one', async () => {
    const page = await show('#/users')
    await page.getByRole('link', { name: 'ada', exact: true }).focus()
    await page.keyboard.press('j')
    await page.keyboard.press('ArrowDown')
    await page.keyboard.press('k')
    await page.keyboard.press('Enter')
    await page.getByRole('complementary', { name: 'alan' }).waitFor()
    await page.keyboard.press('Escape')
    await page.getByRole('complementary').waitFor({ state: 'detached' })
  })

  // the last one in this window, as it signs out
  it('has a title of its own on every page', async () => {
    const { page, open } = window
    for (const heading of Object.values(KEYS)) {
      await open(`#/${ADDRESSES[heading] ?? heading.toLowerCase()}`)
      await page.getByRole('heading', { name: heading, level: 1 }).waitFor()
      assert.equal(await page.title(), `${heading} · Cardea`)
    }
    await open('#/users/ada')
    await page.getByRole('complementary', { name: 'ada' }).waitFor()
    assert.equal(await page.title(), 'ada · Users · Cardea')
    await page.getByRole('button', { name: 'Sign out' }).click()
    await page.getByRole('heading', { name: 'Sign in' }).waitFor()
    assert.equal(await page.title(), 'Sign in · Cardea')
  })
})

const MAX_TABS = 10

async function pressUntilFocused(page: Page, name: string): Promise<void> {
  const focused = () => page.evaluate<string>('document.activeElement.textContent')
  for (let at = 0; at < MAX_TABS && (await focused()) !== name; at += 1) await page.keyboard.press('Tab')
  assert.equal(await focused(), name)
}

describe('the dark theme', { skip: NO_BROWSER }, () => {
  it('follows the system, on the charts too', async (t) => {
    const { page } = await openAsAdmin(t, browser, { url, colorScheme: 'dark' })
    const background = () => page.evaluate<string>('getComputedStyle(document.documentElement).backgroundColor')
    const dark = await background()
    await page.emulateMedia({ colorScheme: 'light' })
    await page.locator('html[data-theme="light"]').waitFor()
    assert.notEqual(await background(), dark)
    await page.locator('.plot canvas').first().waitFor()
  })
})
