import assert from 'node:assert/strict'
import { globSync } from 'node:fs'
import { test } from 'node:test'
import { ROOT } from '../support/process.ts'
import { PAGES, readPage } from './page.ts'

const MAX_WIDTH = 120
/** Their text comes from tables in src/ and from scripts/bench/. */
const GENERATED = /(options|security-events|errors|benchmarks)\.md$/

/** Lines of prose: no code, no tables, no addresses. */
const listProse = (page: string): string[] =>
  page
    .replaceAll(/^```[\s\S]*?^```$/gm, '')
    .split('\n')
    .filter((line) => !/^\||^ {4}|\]\(|https?:/.test(line))

test(`no line of prose is longer than ${MAX_WIDTH} characters`, () => {
  const pages = PAGES.filter((page) => !GENERATED.test(page))
  const long = pages.flatMap((page) =>
    listProse(readPage(page))
      .filter((line) => line.length > MAX_WIDTH)
      .map((line) => `${page}: ${line}`),
  )
  assert.deepEqual(long, [])
})

const UNCLEAR = /\b(nobody|whoever|somebody|anybody|anew|dear|stands|told)\b/i

test('pages name the actor and use current words', () => {
  const pages = [...PAGES, 'CHANGELOG.md']
  const unclear = pages.flatMap((page) =>
    readPage(page)
      .split('\n')
      .filter((line) => UNCLEAR.test(line))
      .map((line) => `${page}: ${line}`),
  )
  assert.deepEqual(unclear, [])
})

test('sources name the actor and use current words', () => {
  const unclear = globSync('src/**/*.ts', { cwd: ROOT }).flatMap((file) =>
    readPage(file)
      .split('\n')
      .filter((line) => UNCLEAR.test(line))
      .map((line) => `${file}: ${line.trim()}`),
  )
  assert.deepEqual(unclear, [])
})
