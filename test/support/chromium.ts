// A real browser for the tests of the console: an installed Chromium or Chrome.
import assert from 'node:assert/strict'
import { accessSync, constants } from 'node:fs'
import { delimiter, join } from 'node:path'
import { type Browser, type ConsoleMessage, chromium, type Locator, type Page } from 'playwright-core'
import { buildConsole } from './console.ts'
import type { Scope } from './scope.ts'

/** The headless shell takes a quarter less of a processor than the whole browser. */
const NAMES = [
  'chromium-headless-shell',
  'chromium',
  'chromium-browser',
  'google-chrome',
  'google-chrome-stable',
  'chrome',
]
const MAC = '/Applications/Google Chrome.app/Contents/MacOS/Google Chrome'

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK)
    return true
  } catch {
    return false
  }
}

function findChromium(): string | undefined {
  const named = process.env['CHROME_PATH']
  if (named) return named
  const folders = (process.env['PATH'] ?? '').split(delimiter)
  const paths = NAMES.flatMap((name) => folders.map((folder) => join(folder, name)))
  return [...paths, MAC].find(isExecutable)
}

const PROGRAM = findChromium()

/** Why tests in a browser are skipped; `false`: there is one. */
export const NO_BROWSER: string | false =
  PROGRAM === undefined && 'no browser: install Chromium (apt-get install chromium-headless-shell) or set CHROME_PATH'

/**
 * Those that Playwright disables, whose list this one replaces. Then what takes half the time of Chromium in these
 * tests: a process kept ready for the next page, and the popups of the address bar, two pages for every window.
 */
const DISABLED_FEATURES = [
  'AvoidUnnecessaryBeforeUnloadCheckSync',
  'DestroyProfileOnBrowserClose',
  'HttpsUpgrades',
  'HttpsFirstBalancedModeAutoEnable',
  'LensOverlay',
  'MediaRouter',
  'PaintHolding',
  'ThirdPartyStoragePartitioning',
  'AvoidCorsURLLoaderRestartOnRedirect',
  'OptimizationHints',
  'NetworkTimeServiceQuerying',
  'AimEnabled',
  'PreconnectToSearch',
  'SpareRendererForSitePerProcess',
  'WebUIOmniboxPopup',
  'WebUIOmniboxAimPopup',
  'WebUIOmniboxFullPopup',
]

const ARGUMENTS = [
  '--headless',
  '--no-sandbox',
  '--disable-gpu',
  '--disable-quic',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
  `--disable-features=${DISABLED_FEATURES}`,
]

/** Pages are short-lived: to optimise their scripts takes more of a processor than it saves, a fifteenth of the whole. */
const UNOPTIMISED = '--js-flags=--no-maglev --no-turbofan'

const launch = (executablePath: string, args: readonly string[]): Promise<Browser> =>
  chromium.launch({ executablePath, args: [...ARGUMENTS, ...args], timeout: 2 * WAIT_MS })

/** The browser of this process. Its files use it one after the other, with the windows of those before. */
const shared: { browser?: Promise<Browser>; closing?: NodeJS.Timeout } = {}
/** After the last file of a process nothing else closes it, and it would keep the process alive. */
const UNUSED_MS = 2000

/** Set by scripts/test-run.ts: other files of this process may use a browser, too. */
const isShared = process.env['TEST_SHARES_BROWSER'] !== undefined

/**
 * A browser, and the console built for servers that are started afterwards. `undefined`: there is none on this machine.
 * Benches measure scripts that are optimised as usual.
 */
export async function launchBrowser(scope: Scope, { optimisesScripts = false } = {}): Promise<Browser | undefined> {
  buildConsole()
  if (PROGRAM === undefined) return undefined
  if (isShared && !optimisesScripts) return borrowBrowser(scope, PROGRAM)
  const browser = await launch(PROGRAM, optimisesScripts ? [] : [UNOPTIMISED])
  scope.after(() => browser.close())
  return browser
}

function borrowBrowser(scope: Scope, executablePath: string): Promise<Browser> {
  clearTimeout(shared.closing)
  const browser = shared.browser ?? launch(executablePath, [UNOPTIMISED])
  shared.browser = browser
  scope.after(async () => {
    // before the servers of the file close: a page that has lost its server reports errors
    for (const close of openPages) await close()
    shared.closing = setTimeout(async () => {
      delete shared.browser
      await (await browser).close()
    }, UNUSED_MS)
  })
  return browser
}

/** A browser window with cookies of its own. Errors of its page fail the test that closes it. */
export interface Window {
  readonly page: Page
  /** Opens a state of the console: `#/users`. */
  open(fragment: string): Promise<void>
  signIn(name: string, password: string, code?: string): Promise<void>
}

interface WindowOptions {
  readonly url: string
  /** The page that is loaded first: `#/users`, `sign-in`. The overview has charts, and takes Chromium twice the time. */
  readonly at?: string
  readonly colorScheme?: 'light' | 'dark'
  readonly viewport?: { readonly width: number; readonly height: number }
}

/** Longer than anything takes on a busy machine. */
const WAIT_MS = 60_000

/** Windows that tests have closed. A new one takes Chromium twice the time of one that is used again. */
const idle = new WeakMap<Browser, Page[]>()

async function takePage(browser: Browser): Promise<Page> {
  const closed = idle.get(browser)?.pop()
  if (closed) return closed
  // `setViewportSize` then changes the size that the page sees, and does not resize the window as well: a window that is
  // resized many times on a busy machine may draw no more frames, and a click waits for two of them.
  const context = await browser.newContext({ viewport: null })
  context.setDefaultTimeout(WAIT_MS)
  return context.newPage()
}

/** Leaves nothing of the test in the window, and stays in its process: about:blank by `page.goto` starts another. */
async function returnPage(browser: Browser, page: Page): Promise<void> {
  if (!browser.isConnected()) return
  await page.unrouteAll({ behavior: 'ignoreErrors' })
  await page.evaluate('localStorage.clear(); sessionStorage.clear(); location.replace("about:blank")')
  await page.waitForURL('about:blank')
  await page.context().clearCookies()
  idle.set(browser, [...(idle.get(browser) ?? []), page])
}

/** Closes each page that a test or file has open. */
const openPages = new Set<() => Promise<void>>()

async function openPage(t: Scope, browser: Browser | undefined, options: WindowOptions): Promise<Page> {
  assert.ok(browser)
  const page = await takePage(browser)
  await page.setViewportSize(options.viewport ?? { width: 1280, height: 800 })
  await page.emulateMedia({ reducedMotion: 'reduce', colorScheme: options.colorScheme ?? 'light' })
  const takeProblems = watchProblems(page)
  const close = async () => {
    if (!openPages.delete(close)) return
    const problems = takeProblems()
    await returnPage(browser, page)
    assert.deepEqual(problems, [])
  }
  openPages.add(close)
  t.after(close)
  return page
}

async function toWindow(page: Page, { url, at = '' }: WindowOptions): Promise<Window> {
  await page.goto(`${url}/_cardea/${at}`)
  return {
    page,
    open: async (fragment) => void (await page.goto(`${url}/_cardea/${fragment}`)),
    async signIn(name, password, code) {
      await page.getByLabel('Name').fill(name)
      await page.getByLabel('Password', { exact: true }).fill(password)
      await page.getByRole('button', { name: 'Sign in' }).click()
      if (code === undefined) return
      await page.getByLabel('One-time code').fill(code)
      await page.getByRole('button', { name: 'Sign in' }).click()
    },
  }
}

export const openWindow = async (...given: Parameters<typeof openPage>): Promise<Window> =>
  toWindow(await openPage(...given), given[2])

/** A window in which a user is signed in; without the form, which test/console/sign-in.test.ts fills in. */
export async function openAs(
  t: Scope,
  browser: Browser | undefined,
  { name, password, ...options }: WindowOptions & { readonly name: string; readonly password: string },
): Promise<Window> {
  const page = await openPage(t, browser, options)
  const response = await page.request.post(`${options.url}/_cardea/api/session`, { data: { name, password } })
  assert.ok(response.ok(), await response.text())
  const window = await toWindow(page, options)
  await page.getByRole('navigation', { name: 'Pages' }).waitFor()
  return window
}

/** A window in which the administrator of `createTestCardea` is signed in. */
export const openAsAdmin = (t: Scope, browser: Browser | undefined, options: WindowOptions): Promise<Window> =>
  openAs(t, browser, { ...options, name: 'admin', password: 'adminpw' })

/** Waits until a form has saved its value and loaded it again: its button is disabled while it is busy, too. */
export const waitForSaved = (button: Locator): Promise<void> =>
  button.and(button.page().locator(':disabled:not([aria-busy=true])')).waitFor()

/** Presses the keys of a shortcut one right after the other: the page waits a second for the next one. */
export const pressSequence = (page: Page, ...keys: readonly string[]): Promise<unknown> =>
  Promise.all(keys.map((key) => page.keyboard.press(key)))

/** Exceptions and violations of the policy. Refused requests are part of the tests. */
function watchProblems(page: Page): () => readonly string[] {
  const problems: string[] = []
  const noteError = (error: Error) => problems.push(error.message)
  const noteMessage = (message: ConsoleMessage) => {
    if (message.type() === 'error' && !message.text().startsWith('Failed to load resource'))
      problems.push(message.text())
  }
  page.on('pageerror', noteError).on('console', noteMessage)
  return () => {
    page.off('pageerror', noteError).off('console', noteMessage)
    return problems
  }
}

interface Violation {
  readonly id: string
  readonly help: string
  readonly nodes: readonly { readonly target: readonly string[]; readonly failureSummary: string }[]
}

/**
 * Each violation of the rules of axe, whose source the page must have evaluated, with the first element that has it.
 * Elements that match `exclude` are left out.
 */
export async function findViolations(page: Page, exclude: readonly string[] = []): Promise<readonly string[]> {
  const context = JSON.stringify({ exclude: exclude.map((selector) => [selector]) })
  // without resultTypes axe also describes every element that passes, which takes about a fifth of the time
  const { violations } = await page.evaluate<{ violations: readonly Violation[] }>(
    `axe.run(${context}, { resultTypes: ["violations"] })`,
  )
  return violations.map(({ id, nodes: [node] }) => `${id}: ${node?.target.join(' ')} ${node?.failureSummary}`)
}
