// Takes pictures of every page of the console and puts them on one sheet:
//   node scripts/console-sheet.ts [folder]     (default: tmp/console-sheet)
// Every page at 390 and 1440 px in both themes; the empty, loading and error states at 1440 px, light; and what only
// a click shows.
import { mkdirSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import type { Page } from 'playwright-core'
import { launchBrowser, NO_BROWSER } from '../test/support/chromium.ts'
import { CONSOLE_PAGES, startDemo } from '../test/support/console-demo.ts'
import { addHistory, addLostNode } from '../test/support/console-history.ts'
import { makeFolder } from '../test/support/scope.ts'
import { startServer } from '../test/support/server.ts'

const folder = resolve(process.argv[2] ?? 'tmp/console-sheet')
const works: (() => unknown)[] = []
const scope = { after: (work: () => unknown) => works.unshift(work) }

/** What the pages show on a server without users. */
const EMPTY_PAGES = ['overview', 'users', 'roles', 'sessions', 'databases', 'policy', 'secrets', 'audit', 'nodes']

/** A dialog over a list has no loading or error state of its own. */
const STATELESS_PAGES = new Set(['add-user', 'delete-user', 'locked-user'])

const API = '**/_cardea/api/**'
const STORE_DOWN = { status: 503, json: { error: 'store_unavailable', reason: 'The store does not respond.' } }

interface Moment {
  readonly fragment: string
  readonly width: number
  readonly height?: number
  act?(page: Page): Promise<void>
}

/** What only a click shows, or a taller window. */
const MOMENTS: Record<string, Moment> = {
  'overview-whole': { fragment: '#/overview', width: 1440, height: 1500 },
  'overview-tables': { fragment: '#/overview?view=table', width: 1440 },
  'user-whole': { fragment: '#/users/ada', width: 1440, height: 1700 },
  selected: { fragment: '#/users', width: 1440, act: (page) => page.getByLabel('Select ada').check() },
  'delete-failed': {
    fragment: '#/users/ada?do=delete',
    width: 1440,
    async act(page) {
      await page.route(API, (route) =>
        route.request().method() === 'DELETE' ? route.fulfill(STORE_DOWN) : route.continue(),
      )
      await page.getByRole('dialog').getByRole('button', { name: 'Delete ada' }).click()
      await page.getByRole('alert').waitFor()
    },
  },
  'add-refused': {
    fragment: '#/users?do=add',
    width: 390,
    async act(page) {
      const dialog = page.getByRole('dialog')
      await dialog.getByLabel('Name', { exact: true }).fill('ada')
      await dialog.getByRole('button', { name: 'Add user' }).click()
      await dialog.getByRole('alert').waitFor()
    },
  },
  palette: {
    fragment: '#/overview',
    width: 1440,
    async act(page) {
      await page.keyboard.press('/')
      await page.getByRole('combobox').fill('disable ad')
      await page.getByRole('option', { name: 'Disable ada' }).waitFor()
    },
  },
  shortcuts: { fragment: '#/overview', width: 1440, act: (page) => page.keyboard.press('?') },
  more: { fragment: '#/nodes', width: 390, act: (page) => page.getByRole('button', { name: 'More' }).click() },
  changed: {
    fragment: '#/settings/chttpd_auth.timeout?search=session',
    width: 1440,
    async act(page) {
      await page.getByLabel('New value').fill('1800')
      await page.locator('aside .notice').waitFor()
    },
  },
}

const isSession = (request) => request.url().endsWith('/session')

/** How requests for data end in a state; those for the session always work. */
const STATES = {
  loading: () => undefined,
  error: (route) => route.fulfill(STORE_DOWN),
}

const pictures: { readonly file: string; readonly heading: string }[] = []

async function takePicture(page, name, heading) {
  const file = `${name}.png`
  await page.screenshot({ path: join(folder, file) })
  pictures.push({ file, heading })
}

async function openSignedIn(browser, url) {
  const context = await browser.newContext({ reducedMotion: 'reduce' })
  const page = await context.newPage()
  await page.goto(`${url}/_cardea/`)
  await page.getByLabel('Name').fill('admin')
  await page.getByLabel('Password', { exact: true }).fill('adminpw')
  await page.getByRole('button', { name: 'Sign in' }).click()
  await page.getByRole('navigation', { name: 'Pages' }).waitFor()
  return page
}

/** Waits until nothing is loading, or for long enough to see what does. */
async function open(page, url, fragment) {
  await page.goto('about:blank')
  await page.goto(`${url}/_cardea/${fragment}`)
  await page.getByRole('navigation', { name: 'Pages' }).waitFor()
  await page
    .locator('.skeleton')
    .first()
    .waitFor({ state: 'detached', timeout: 1500 })
    .catch(() => undefined)
  // charts are drawn with the next frames
  await page.waitForTimeout(150)
}

async function takeSignIn(browser, url) {
  for (const colorScheme of ['light', 'dark'])
    for (const width of [390, 1440]) {
      const context = await browser.newContext({ colorScheme, viewport: { width, height: 900 } })
      const page = await context.newPage()
      await page.goto(`${url}/_cardea/`)
      await page.getByRole('button', { name: 'Sign in' }).waitFor()
      await takePicture(page, `sign-in-${width}-${colorScheme}`, `sign-in, ${width} px, ${colorScheme}`)
      await context.close()
    }
}

async function takePages(page, url) {
  for (const [name, fragment] of Object.entries(CONSOLE_PAGES))
    for (const colorScheme of ['light', 'dark'])
      for (const width of [390, 1440]) {
        await page.emulateMedia({ colorScheme })
        await page.setViewportSize({ width, height: width < 720 ? 780 : 900 })
        await open(page, url, fragment)
        await takePicture(page, `${name}-${width}-${colorScheme}`, `${name}, ${width} px, ${colorScheme}`)
      }
}

async function takeStates(page, url) {
  await page.emulateMedia({ colorScheme: 'light' })
  await page.setViewportSize({ width: 1440, height: 900 })
  for (const [state, answer] of Object.entries(STATES)) {
    await page.route(API, (route) => (isSession(route.request()) ? route.continue() : answer(route)))
    for (const [name, fragment] of Object.entries(CONSOLE_PAGES)) {
      if (STATELESS_PAGES.has(name)) continue
      await open(page, url, fragment)
      await takePicture(page, `${name}-${state}`, `${name}, ${state}`)
    }
    await page.unrouteAll({ behavior: 'ignoreErrors' })
  }
}

async function takeMoments(page, url) {
  await page.emulateMedia({ colorScheme: 'light' })
  for (const [name, { fragment, width, height = width < 720 ? 780 : 900, act }] of Object.entries(MOMENTS)) {
    await page.setViewportSize({ width, height })
    await open(page, url, fragment)
    await act?.(page)
    await page.waitForTimeout(150)
    await takePicture(page, name, name)
    await page.unrouteAll({ behavior: 'ignoreErrors' })
  }
}

async function takeEmpty(page, url) {
  await page.setViewportSize({ width: 1440, height: 900 })
  for (const name of EMPTY_PAGES) {
    await open(page, url, CONSOLE_PAGES[name])
    await takePicture(page, `${name}-empty`, `${name}, empty`)
  }
}

const renderSheet = () => `<!doctype html>
<meta charset="utf-8">
<title>The console of Cardea</title>
<style>
body { margin: 16px; font: 14px system-ui; background: #888 }
main { display: flex; flex-wrap: wrap; gap: 16px; align-items: flex-start }
figure { margin: 0; padding: 8px; background: #fff }
img { display: block; height: 360px }
</style>
<main>
${pictures.map(({ file, heading }) => `<figure><a href="${file}"><img src="${file}" alt="${heading}"></a><figcaption>${heading}</figcaption></figure>`).join('\n')}
</main>
`

if (NO_BROWSER) throw new Error(NO_BROWSER)
mkdirSync(folder, { recursive: true })
try {
  const browser = await launchBrowser(scope)
  const store = { url: `sqlite:${makeFolder(scope)}/cardea.db` }
  const { document: url } = await startDemo(scope, { store })
  await addHistory(store.url)
  await addLostNode(store.url)
  const { document: emptyUrl } = await startServer(scope)
  await takeSignIn(browser, url)
  const page = await openSignedIn(browser, url)
  await takePages(page, url)
  await takeMoments(page, url)
  await takeStates(page, url)
  await takeEmpty(await openSignedIn(browser, emptyUrl), emptyUrl)
  writeFileSync(join(folder, 'index.html'), renderSheet())
  console.log(`${pictures.length} pictures: ${join(folder, 'index.html')}`)
} finally {
  for (const work of works) await work()
}
