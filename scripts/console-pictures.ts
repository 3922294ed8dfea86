// Takes the pictures of the console for README and docs: node scripts/console-pictures.ts
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { Page } from 'playwright-core'
import { launchBrowser, NO_BROWSER, openAsAdmin } from '../test/support/chromium.ts'
import { startDemo } from '../test/support/console-demo.ts'
import { addHistory } from '../test/support/console-history.ts'
import { makeFolder } from '../test/support/scope.ts'

const FOLDER = fileURLToPath(new URL('../docs/images/', import.meta.url))
const VIEWPORT = { width: 1440, height: 810 }

interface Picture {
  readonly fragment: string
  readonly waitsFor: string
  readonly colorScheme?: 'light' | 'dark'
  prepare?(page: Page): Promise<void>
}

/** Each with the element that must be there. */
const PICTURES: Record<string, Picture> = {
  'console-overview': { fragment: '#/overview', waitsFor: '.plot canvas' },
  'console-users': { fragment: '#/users/ada', waitsFor: '.rules li' },
  'console-audit': { fragment: '#/audit', waitsFor: 'tbody tr' },
  'console-settings': {
    fragment: '#/settings/chttpd_auth.timeout?search=session',
    waitsFor: 'aside form',
    colorScheme: 'dark',
    prepare: (page) => page.getByLabel('New value').fill('1800'),
  },
}

if (NO_BROWSER) throw new Error(NO_BROWSER)
const works: (() => unknown)[] = []
const scope = { after: (work: () => unknown) => works.unshift(work) }
try {
  const browser = await launchBrowser(scope)
  const store = { url: `sqlite:${makeFolder(scope)}/cardea.db` }
  const { document: url } = await startDemo(scope, {
    store,
    node: { name: 'cardea@db1.example.com' },
    chttpd_auth: { iterations: 600_000 },
  })
  await addHistory(store.url)
  const { page, open } = await openAsAdmin(scope, browser, { url, viewport: VIEWPORT })
  for (const [name, { fragment, waitsFor, colorScheme = 'light', prepare }] of Object.entries(PICTURES)) {
    await page.emulateMedia({ colorScheme })
    await open(fragment)
    await page.reload()
    await page.locator(waitsFor).first().waitFor()
    await prepare?.(page)
    await page.waitForTimeout(1000) // charts are drawn with the next frames
    await page.screenshot({ path: join(FOLDER, `${name}.png`) })
  }
} finally {
  for (const work of works) await work()
}
