import assert from 'node:assert/strict'
import { test } from 'node:test'
import { followPage } from './follow.ts'
import { listIndentedCommands, PAGES, readPage } from './page.ts'

/** Followed by test/real/couchdb.test.ts. */
const NEEDS_COUCHDB = new Set(['docs/guides/couchdb.md'])

for (const page of PAGES) {
  const skip = NEEDS_COUCHDB.has(page) && 'needs a real CouchDB: test/real/couchdb.test.ts follows it'
  test(`${page} does what it shows`, { skip }, async (t) => {
    await followPage(t, page)
  })
}

/** Shows the forms of commands; test/docs/cli.test.ts compares them with the commands. */
const SYNOPSIS = 'docs/reference/cli.md'

test('no command is in indented text, where this test would not see it', () => {
  const missed = PAGES.filter((page) => page !== SYNOPSIS).flatMap((page) =>
    listIndentedCommands(readPage(page)).map((line) => `${page}: ${line}`),
  )
  assert.deepEqual(missed, [])
})
