// The examples of the library guide run, and give what the guide says.
import assert from 'node:assert/strict'
import { globSync, readFileSync } from 'node:fs'
import { describe, it } from 'node:test'
import { createTestCardea } from '../../src/index.ts'

const ROOT = new URL('../../', import.meta.url)
const PAGE = readFileSync(new URL('docs/guides/library.md', ROOT), 'utf8')

/** The code blocks below a heading. */
function readBlocks(heading: string): string[] {
  const section = PAGE.split(/^## /m).find((text) => text.startsWith(`${heading}\n`)) ?? ''
  return [...section.matchAll(/^```js\n([\s\S]*?)^```$/gm)].map(([, code = '']) => code)
}

/** Makes every line that is followed by `// → value` assert that value. */
const toAssertions = (code: string): string => code.replaceAll(/^(.+)\n\/\/ → (.+)$/gm, 'assert.deepEqual($1, $2)')

const AsyncFunction = (async () => {}).constructor as new (
  ...parts: string[]
) => (...values: unknown[]) => Promise<void>

async function runBlock(code: string): Promise<void> {
  const cardea = await createTestCardea()
  try {
    const headers = { 'user-agent': 'browser/1' }
    const request = { headers, socket: { remoteAddress: '127.0.0.1' } }
    const response = new Headers()
    const run = new AsyncFunction('cardea', 'request', 'response', 'assert', toAssertions(code))
    await run(cardea, request, response, assert)
  } finally {
    await cardea.close()
  }
}

describe('the library guide', () => {
  it('shows users and sessions as they are', async () => {
    const [code = ''] = readBlocks('Users')
    assert.equal(toAssertions(code).match(/assert\.deepEqual/g)?.length, 3)
    await runBlock(code)
  })

  it('shows the example as it is in the repository, and names all', () => {
    const file = readFileSync(new URL('examples/express.mjs', ROOT), 'utf8')
    assert.deepEqual(readBlocks('Sign-up and sign-in routes'), [file])
    const missing = globSync('*.mjs', { cwd: new URL('examples/', ROOT) }).filter(
      (name) => !PAGE.includes(`examples/${name}`),
    )
    assert.deepEqual(missing, [])
  })
})
