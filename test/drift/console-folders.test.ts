// A page of the console is a folder with its texts, named by one list.
import assert from 'node:assert/strict'
import { globSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { test } from 'node:test'

const ROOT = 'console/src'
const IMPORT = /(?:from|import\() ?'(\.[^']+)'/g

/** The files that a file imports, relative to the sources of the console. */
const listImports = (file: string): readonly string[] =>
  [...readFileSync(join(ROOT, file), 'utf8').matchAll(IMPORT)].map(([, target = '']) => join(dirname(file), target))

const FILES = globSync('**/*.{ts,tsx}', { cwd: ROOT })

const findImporters = (pattern: RegExp): readonly string[] =>
  FILES.flatMap((file) =>
    listImports(file)
      .filter((target) => pattern.test(target) && dirname(target) !== dirname(file))
      .map((target) => `${file}: ${target}`),
  )

test('only pages.ts names the pages', () => {
  const importers = findImporters(/^pages\/[^/]+\/index\.ts$/)
  const folders = globSync('pages/*/index.ts', { cwd: ROOT }).toSorted()
  assert.deepEqual(
    importers.toSorted(),
    folders.map((folder) => `pages.ts: ${folder}`),
  )
})

test('the texts of a page are used in its folder only', () =>
  assert.deepEqual(findImporters(/^(?:pages\/[^/]+|frame)\/texts\.ts$/), []))
