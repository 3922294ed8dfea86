// The built console, for tests that need its files.
import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { ROOT } from './process.ts'
import { STEP_LIMIT_MS } from './wait.ts'

const ASSETS = join(ROOT, 'dist', 'console', 'assets')

/** Set once it is built: the files of a run need not look again. */
const BUILT = 'TEST_CONSOLE_BUILT'

/** Builds the console if a source is newer than the last build. To be called before a server starts. */
export function buildConsole(): void {
  if (process.env[BUILT]) return
  const script = join(ROOT, 'scripts', 'console-build.ts')
  try {
    execFileSync(process.execPath, [script, '--if-stale'], { timeout: STEP_LIMIT_MS, killSignal: 'SIGKILL' })
    process.env[BUILT] = '1'
  } catch (error) {
    const isLate = error instanceof Error && 'code' in error && error.code === 'ETIMEDOUT'
    const what = isLate ? `did not end within ${STEP_LIMIT_MS / 1000} seconds` : 'failed'
    throw new Error(`the build of the console ${what}: node ${script} --if-stale`, { cause: error })
  }
}

const toPath = (name: string): string => `/_cardea/assets/${name}`

/** The paths of all files, those that a page loads later too. */
export const listAssets = (): readonly string[] =>
  readdirSync(ASSETS)
    .filter((name) => /\.(?:js|css)$/.test(name))
    .map(toPath)

/** The path of a file that the page loads first. */
export function findAsset(ending: '.js' | '.css'): string {
  const name = readdirSync(ASSETS).find((file) => file.startsWith('index-') && file.endsWith(ending))
  assert.ok(name)
  return toPath(name)
}
