// Takes the picture of README, the app of `npm run demo` beside the console: node scripts/demo-picture.ts
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { launchBrowser, NO_BROWSER, openAsAdmin } from '../test/support/chromium.ts'
import { NOTES, startNotesDemo } from '../test/support/notes-demo.ts'

const FILE = join(fileURLToPath(new URL('../docs/images/', import.meta.url)), 'demo.png')
const HEIGHT = 810

const showBoth = (app: Buffer, console: Buffer): string => `
  <style>
    body { display: flex; gap: 24px; margin: 0; padding: 24px; background: #dfe4e5; align-items: start }
    img { border-radius: 10px; box-shadow: 0 4px 24px rgb(0 0 0 / 18%) }
  </style>
  ${[app, console].map((image) => `<img src="data:image/png;base64,${image.toString('base64')}">`).join('')}`

const works: (() => unknown)[] = []
const scope = { after: (work: () => unknown) => works.unshift(work) }
try {
  const browser = await launchBrowser(scope)
  if (!browser) throw new Error(String(NO_BROWSER))
  const { document: url } = await startNotesDemo(scope)
  const app = await browser.newPage({ viewport: { width: 760, height: HEIGHT } })
  await app.goto(`${url}${NOTES.path}`)
  await app.getByLabel('Name').fill(NOTES.user.name)
  await app.getByLabel('Password').fill(NOTES.user.password)
  await app.getByRole('button', { name: 'Sign in', exact: true }).click()
  await app.getByRole('button', { name: 'The engine' }).click()
  await app.locator('#status[data-status="Synced"]').waitFor()
  const { page } = await openAsAdmin(scope, browser, { url, viewport: { width: 1120, height: HEIGHT } })
  await page.locator('.plot canvas').first().waitFor()
  await page.getByRole('button', { name: 'Hide' }).first().click()
  await page.waitForTimeout(1000) // charts are drawn with the next frames
  const both = await browser.newPage({ viewport: { width: 1952, height: HEIGHT + 48 } })
  await both.setContent(showBoth(await app.screenshot(), await page.screenshot()))
  await both.screenshot({ path: FILE })
} finally {
  for (const work of works) await work()
}
