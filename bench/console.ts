// The console in a real browser: from the navigation until a page can be used, by the clock of the browser, and the size
// of its files. The server runs in this process, which does nothing else meanwhile.
import { readdirSync, statSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { launchBrowser, NO_BROWSER } from '../test/support/chromium.ts'
import { startDemo } from '../test/support/console-demo.ts'
import { median, milliseconds } from './figures.ts'

const GOAL_MS = 300
const GOAL_BYTES = 120 * 1024
const ASSETS = fileURLToPath(new URL('../dist/console/assets/', import.meta.url))

/** A page, and the element that is there when it can be used. */
const PAGES = {
  'sign-in': { fragment: '', usable: 'input[type=password]' },
  Overview: { fragment: '#/overview', usable: '.tiles' },
  Users: { fragment: '#/users', usable: 'tbody a.name' },
  Settings: { fragment: '#/settings', usable: 'tbody a.name' },
}

const USABLE = 'page is usable'

/** Runs in the page. `performance.now` begins with the navigation. It tells the bench, whose questions would take time. */
const watch = `(selector) => {
  const look = () => {
    if (globalThis.usableMs !== undefined || !document.querySelector(selector)) return
    globalThis.usableMs = performance.now()
    console.log('${USABLE}')
  }
  new MutationObserver(look).observe(document, { childList: true, subtree: true })
}`

/** Runs in the page. The first byte is that of the first response of the API. */
const readTimes = `(() => {
  const [api] = performance.getEntriesByType('resource').filter(({ name }) => name.includes('/_cardea/api/'))
  return { usable: globalThis.usableMs, firstByte: api.responseStart - api.requestStart }
})()`

async function readPage(page, open) {
  const usable = page.waitForEvent('console', (message) => message.text() === USABLE)
  await open()
  await usable
  return page.evaluate(readTimes)
}

/** A window without anything in its cache, and the same page once more with its files there. */
async function visit(browser, { url, fragment, usable, storageState }) {
  const context = await browser.newContext(storageState && { storageState })
  const page = await context.newPage()
  await page.addInitScript(`(${watch})(${JSON.stringify(usable)})`)
  const first = await readPage(page, () => page.goto(`${url}/_cardea/${fragment}`))
  const again = await readPage(page, () => page.reload())
  await context.close()
  return { first, again }
}

async function signIn(browser, url) {
  const context = await browser.newContext()
  const page = await context.newPage()
  await page.goto(`${url}/_cardea/`)
  await page.getByLabel('Name').fill('admin')
  await page.getByLabel('Password', { exact: true }).fill('adminpw')
  await page.getByRole('button', { name: 'Sign in' }).click()
  await page.getByRole('navigation', { name: 'Pages' }).waitFor()
  const storageState = await context.storageState()
  await context.close()
  return storageState
}

async function measurePage(browser, visitor, { runs, warmUps }) {
  for (let run = 0; run < warmUps; run += 1) await visit(browser, visitor)
  const visits: Awaited<ReturnType<typeof visit>>[] = []
  for (let run = 0; run < runs; run += 1) visits.push(await visit(browser, visitor))
  return {
    first: median(visits.map(({ first }) => first.usable)),
    again: median(visits.map(({ again }) => again.usable)),
    firstByte: median(visits.map(({ first }) => first.firstByte)),
  }
}

/** As browsers load them: compressed with Brotli. */
const countBytes = () =>
  readdirSync(ASSETS)
    .filter((name) => name.endsWith('.br'))
    .reduce((sum, name) => sum + statSync(`${ASSETS}${name}`).size, 0)

async function measureAll(scope, { pages, runs, warmUps }) {
  const browser = await launchBrowser(scope, { optimisesScripts: true })
  const { document: url } = await startDemo(scope)
  const state = await signIn(browser, url)
  const figures: (Awaited<ReturnType<typeof measurePage>> & { readonly name: string })[] = []
  for (const [name, page] of Object.entries(PAGES).slice(0, pages)) {
    const visitor = { url, ...page, storageState: name === 'sign-in' ? undefined : state }
    figures.push({ name, ...(await measurePage(browser, visitor, { runs, warmUps })) })
  }
  return figures
}

export const bench = {
  title: 'Console',
  about:
    'From the navigation until a page of the console shows its data, by the clock of the browser (Chromium), with an empty\n' +
    'cache and once more; and the first byte of the first response of the admin API. Median. Goal: at most\n' +
    `${GOAL_MS} ms with an empty cache, and at most 120 KiB of script and style, compressed.`,
  runs: 9,
  /** Sizes: visits of warm-up, pages. */
  async run(runs, [warmUps = 1, pages = Object.keys(PAGES).length] = []) {
    if (NO_BROWSER) throw new Error(NO_BROWSER)
    const works: (() => unknown)[] = []
    try {
      const figures = await measureAll({ after: (work) => works.unshift(work) }, { runs, warmUps, pages })
      const bytes = countBytes()
      const rows = figures.map(({ name, first, again, firstByte }) => [
        name,
        milliseconds(first),
        milliseconds(again),
        milliseconds(firstByte),
      ])
      return {
        columns: [`page; script and style are ${(bytes / 1024).toFixed(1)} KiB`, 'first load', 'again', 'first byte'],
        rows,
        isGoalMet: bytes <= GOAL_BYTES && figures.every(({ first }) => first <= GOAL_MS),
      }
    } finally {
      for (const work of works) await work()
    }
  },
}
