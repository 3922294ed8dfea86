// The built console, for tests that need its files.
import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { ROOT } from './process.ts'

const ASSETS = join(ROOT, 'dist', 'console', 'assets')

/** Builds the console if a source is newer than the last build. To be called before a server starts. */
export const buildConsole = (): void =>
  void execFileSync(process.execPath, [join(ROOT, 'scripts', 'console-build.mjs'), '--if-stale'])

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
