import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { adminApiSteps } from '../../src/dialects/admin-api/steps.ts'
import { documentSteps } from '../../src/dialects/document/steps.ts'
import { multiModelSteps } from '../../src/dialects/multi-model/steps.ts'
import type { Step } from '../../src/http/request-context.ts'

const PAGE = readFileSync(new URL('../../docs/background/lifecycle.md', import.meta.url), 'utf8')

// no step runs here, so none of them needs its dependencies
const none = {} as never

const DIALECTS: Readonly<Record<string, readonly Step[]>> = {
  document: documentSteps(none),
  'multi-model': multiModelSteps(none),
  'admin API': adminApiSteps({ operations: {} } as never),
}

/** The list after the name of a dialect. A list that ends with a comma continues on the next line. */
function readSteps(dialect: string): readonly string[] {
  const found = new RegExp(`│   ${dialect}: +((?:.*,\\n)*.*)`).exec(PAGE)?.[1] ?? ''
  return found.split(/,[\s│]+/).map((name) => name.trim().toLowerCase())
}

for (const [dialect, steps] of Object.entries(DIALECTS))
  test(`the page lists the steps of ${dialect} in their order`, () => {
    assert.deepEqual(
      readSteps(dialect),
      steps.map(({ name }) => name),
    )
  })
