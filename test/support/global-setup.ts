// Runs once, in the process of the test runner: one PostgreSQL, the built console, and one browser if several files use
// one (scripts/test-groups.ts knows).
import { SHARED_POSTGRES, startPostgres } from '../store/postgres-server.ts'
import { SHARED_BROWSER, startBrowser } from './chromium.ts'
import { buildConsole } from './console.ts'

const works: (() => Promise<void>)[] = []

export async function globalSetup(): Promise<void> {
  buildConsole()
  const postgres = await startPostgres()
  works.push(() => postgres.stop())
  process.env[SHARED_POSTGRES] = postgres.addressOf('postgres')
  const browser = process.env['TEST_SHARES_BROWSER'] ? await startBrowser() : undefined
  if (browser === undefined) return
  works.push(() => browser.close())
  process.env[SHARED_BROWSER] = browser.wsEndpoint()
}

export async function globalTeardown(): Promise<void> {
  for (const work of works) await work()
}
