// The built console, for tests that need its files.
import { execFileSync } from 'node:child_process'
import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { ROOT } from './process.ts'

const ASSETS = join(ROOT, 'dist', 'console', 'assets')

/** Builds the console if a source is newer than the last build. To be called before a server starts. */
export const buildConsole = (): void =>
  void execFileSync(process.execPath, [join(ROOT, 'scripts', 'console-build.mjs'), '--if-stale'])

/** The path of a file that the page loads. */
export function findAsset(ending: '.js' | '.css'): string {
  const name = readdirSync(ASSETS).find((file) => file.endsWith(ending))
  return `/_cardea/assets/${name}`
}
