import assert from 'node:assert/strict'
import { globSync } from 'node:fs'
import { test } from 'node:test'
import { ROOT } from '../support/process.ts'
import { listBlocks, PAGES, readPage } from './page.ts'

const MAX_WIDTH = 120
/** Their text comes from tables in src/ and from bench/. */
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

const EXPLAINS_GRANTS = [
  'SECURITY.md',
  'docs/guides/arangodb.md',
  'docs/guides/library.md',
  'docs/guides/troubleshoot.md',
  'docs/reference/admin-api.md',
  'docs/reference/cli.md',
  'docs/reference/multi-model-door.md',
  'docs/start/arangodb.md',
]

test('no page grants rw on _system, and pages that explain grants say what it means', () => {
  const grants = PAGES.filter((page) => /_system[ =]rw|database\/_system|_system: 'rw'/.test(readPage(page)))
  assert.deepEqual(grants, [])
  const silent = EXPLAINS_GRANTS.filter(
    (page) => !/`rw` on `_system`[^.]*manager|manager[^.]*`rw` on `_system`/is.test(readPage(page)),
  )
  assert.deepEqual(silent, [])
})

/** Commands whose output is a password, a secret or a key. */
const SECRET_OUTPUT = /(cardea init|cardea token|cardea secret|openssl rand|cat \S*cert\S* \S*key\S*)\b[^|\n]*>/

test('files that a shell writes secrets into are for their owner alone', () => {
  const open = PAGES.flatMap((page) =>
    listBlocks(readPage(page))
      .filter(({ language, text }) => language === 'sh' && SECRET_OUTPUT.test(text) && !text.includes('umask 077'))
      .map(({ line }) => `${page}:${line}`),
  )
  assert.deepEqual(open, [])
})
