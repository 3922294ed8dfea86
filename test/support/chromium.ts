// A real browser for the tests of the console: an installed Chromium or Chrome.
import assert from 'node:assert/strict'
import { accessSync, constants } from 'node:fs'
import { delimiter, join } from 'node:path'
import { type Browser, type BrowserContext, type BrowserServer, chromium, type Page } from 'playwright-core'
import { buildConsole } from './console.ts'
import type { Scope } from './scope.ts'

const NAMES = ['chromium', 'chromium-browser', 'google-chrome', 'google-chrome-stable', 'chrome']
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

const executablePath = findChromium()

/** Why tests in a browser are skipped; `false`: there is one. */
export const NO_BROWSER: string | false =
  executablePath === undefined && 'no browser: install Chromium (apt-get install chromium) or set CHROME_PATH'

const ARGUMENTS = [
  '--headless',
  '--no-sandbox',
  '--disable-gpu',
  '--disable-quic',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
]

/** Set by global-setup.ts: the address of the browser that all test files of one run share. */
export const SHARED_BROWSER = 'TEST_BROWSER'

/** `undefined`: there is none on this machine. */
export async function startBrowser(): Promise<BrowserServer | undefined> {
  if (executablePath === undefined) return undefined
  return chromium.launchServer({ executablePath, args: ARGUMENTS, timeout: 2 * WAIT_MS })
}

/** The browser of this run, or a new one if the file runs alone; and the console built for servers started afterwards. */
export async function launchBrowser(scope: Scope): Promise<Browser | undefined> {
  buildConsole()
  const server = process.env[SHARED_BROWSER] === undefined ? await startBrowser() : undefined
  const address = process.env[SHARED_BROWSER] ?? server?.wsEndpoint()
  if (address === undefined) return undefined
  const browser = await chromium.connect(address, { timeout: 2 * WAIT_MS })
  scope.after(async () => {
    await browser.close()
    await server?.close()
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

type ContextOptions = NonNullable<Parameters<Browser['newContext']>[0]>

/** Longer than anything takes on a busy machine. */
const WAIT_MS = 60_000

export async function openWindow(
  t: Scope,
  browser: Browser | undefined,
  { url, ...options }: ContextOptions & { readonly url: string },
): Promise<Window> {
  assert.ok(browser)
  const context: BrowserContext = await browser.newContext({
    viewport: { width: 1280, height: 800 },
    reducedMotion: 'reduce',
    ...options,
  })
  context.setDefaultTimeout(WAIT_MS)
  const page = await context.newPage()
  const problems = watchProblems(page)
  t.after(async () => {
    await context.close()
    assert.deepEqual(problems, [])
  })
  await page.goto(`${url}/_cardea/`)
  return {
    page,
    open: async (fragment) => void (await page.goto(`${url}/_cardea/${fragment}`)),
    async signIn(name, password, code) {
      await page.getByLabel('Name').fill(name)
      await page.getByLabel('Password', { exact: true }).fill(password)
      if (code !== undefined) {
        const reveal = page.getByRole('button', { name: 'I have a one-time code' })
        if (await reveal.isVisible()) await reveal.click()
        await page.getByLabel('One-time code').fill(code)
      }
      await page.getByRole('button', { name: 'Sign in' }).click()
    },
  }
}

/** A window in which the administrator of `createTestCardea` is signed in. */
export async function openAsAdmin(...given: Parameters<typeof openWindow>): Promise<Window> {
  const window = await openWindow(...given)
  await window.signIn('admin', 'adminpw')
  await window.page.getByRole('navigation', { name: 'Pages' }).waitFor()
  return window
}

/** Exceptions and violations of the policy. Refused requests are part of the tests. */
function watchProblems(page: Page): string[] {
  const problems: string[] = []
  page.on('pageerror', (error) => problems.push(error.message))
  page.on('console', (message) => {
    if (message.type() === 'error' && !message.text().startsWith('Failed to load resource'))
      problems.push(message.text())
  })
  return problems
}
