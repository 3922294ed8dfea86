import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { OPERATIONS } from '../../src/modules.ts'

const PAGE = readFileSync(new URL('../../docs/reference/admin-api.md', import.meta.url), 'utf8')

test('the page names every operation of the admin API', () => {
  for (const { method, path } of Object.values(OPERATIONS)) {
    const shown = path
      .replace('{section}/{key}', 'SECTION/OPTION')
      .replace(/\{(\w+)\}/g, (_, name: string) => name.toUpperCase())
    const row = PAGE.split('\n').find((line) =>
      new RegExp(`^\\|[A-Z, ]*\\b${method}\\b[A-Z, ]*\\| \`${shown}[\`?]`).test(line),
    )
    assert.ok(row, `${method} ${shown}`)
  }
})
