import assert from 'node:assert/strict'
import type { BrowserContext } from 'playwright-core'
import { build } from 'vite'

async function buildPage(): Promise<string> {
  const result = await build({
    configFile: false,
    logLevel: 'error',
    root: import.meta.dirname,
    define: { global: 'globalThis', 'process.env.NODE_ENV': '"production"' },
    build: { write: false, lib: { entry: 'page.ts', formats: ['es'] }, target: 'es2022' },
  })
  const [output] = [result].flat()
  assert.ok(output && 'output' in output)
  return output.output[0].code
}

/** Built once for all tests of a file. */
let built: Promise<string> | undefined

/** Answers `/app/` of that origin, in the browser, with page.ts: an application with PouchDB and the client. */
export async function servePage(context: BrowserContext, url: string): Promise<void> {
  built ??= buildPage()
  const code = await built
  const isPage = ({ origin, pathname }: URL) => origin === url && pathname === '/app/'
  await context.route(isPage, (route) =>
    route.fulfill({ contentType: 'text/html', body: '<script type="module" src="/app/page.js"></script>' }),
  )
  await context.route(`${url}/app/page.js`, (route) => route.fulfill({ contentType: 'text/javascript', body: code }))
}
