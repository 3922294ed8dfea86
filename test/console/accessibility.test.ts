// Every page of the console passes the rules of axe: one with the light theme in a wide window, the next with the dark
// theme in a narrow one. `npm run test:long -- accessibility` looks at each page with both themes at both widths, and at
// all rows of a list.
import assert from 'node:assert/strict'
import { before, describe, it } from 'node:test'
import axe from 'axe-core'
import { findViolations, launchBrowser, NO_BROWSER, openWindow, type Window } from '../support/chromium.ts'
import { CONSOLE_PAGES, startDemo } from '../support/console-demo.ts'
import { createSharedScope } from '../support/scope.ts'

const scope = createSharedScope()
const browser = await launchBrowser(scope)
const server = await startDemo(scope)

interface View {
  readonly colorScheme: 'light' | 'dark'
  readonly width: number
}

const VIEWS: readonly View[] = [
  { colorScheme: 'light', width: 1280 },
  { colorScheme: 'dark', width: 360 },
]
const ALL_VIEWS: readonly View[] = [
  ...VIEWS,
  { colorScheme: 'light', width: 360 },
  { colorScheme: 'dark', width: 1280 },
]

const viewsOf = (at: number): readonly View[] =>
  process.env['TEST_LONG'] ? ALL_VIEWS : VIEWS.filter((_, index) => index === at % VIEWS.length)

/** Users in every state are among the first nine rows; the others are of the same kinds. */
const EXCLUDED = process.env['TEST_LONG'] ? [] : ['.page tbody tr:nth-child(n + 10)']

describe('axe finds no violation', { skip: NO_BROWSER }, () => {
  let window: Window

  before(async () => {
    window = await openWindow(scope, browser, { url: server.document })
  })

  const check = async (fragment: string, views: readonly View[]) => {
    const { page } = window
    for (const { colorScheme, width } of views) {
      await page.emulateMedia({ colorScheme })
      await page.setViewportSize({ width, height: 800 })
      await window.open(fragment)
      await page.locator('.skeleton').first().waitFor({ state: 'detached' })
      assert.deepEqual(await findViolations(page, EXCLUDED), [], `${colorScheme} at ${width} px`)
    }
  }

  it('on the page sign-in', async () => {
    await window.page.evaluate(axe.source)
    await check('#/', VIEWS)
    const { page } = window
    const headers = { 'X-Cardea-Second-Factor': 'required' }
    await page.route('**/api/session', (route) => route.fulfill({ status: 401, headers, json: {} }))
    await window.signIn('admin', 'adminpw')
    await page.getByRole('heading', { name: 'Second step' }).waitFor()
    assert.deepEqual(await findViolations(page), [], 'second step')
    await page.unrouteAll()
    await page.getByRole('button', { name: 'Use another name' }).click()
    await window.signIn('admin', 'adminpw')
    await window.page.getByRole('navigation', { name: 'Pages' }).waitFor()
    await window.page.evaluate(axe.source)
  })

  for (const [at, [name, fragment]] of Object.entries(CONSOLE_PAGES).entries())
    it(`on the page ${name}`, async () => {
      // axe takes long for all options, which are rows of one kind
      await check(name === 'settings' ? `${fragment}?search=session` : fragment, viewsOf(at))
    })
})
