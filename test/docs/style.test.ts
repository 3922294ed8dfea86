import assert from 'node:assert/strict'
import { globSync } from 'node:fs'
import { test } from 'node:test'
import { ROOT } from '../support/process.ts'
import { listBlocks, PAGES, readPage } from './page.ts'

const MAX_WIDTH = 120
/** Their text comes from tables and comments in src/ and client/, and from bench/. */
const GENERATED = /(options|security-events|errors|benchmarks|reference\/library|reference\/client)\.md$/

/** Lines of prose: no code, no tables, no addresses. */
const listProse = (page: string): string[] =>
  page
    .replaceAll(/^```[\s\S]*?^```$/gm, '')
    // written by bench/run.ts
    .replaceAll(/^<!-- bench:[\s\S]*?^<!-- \/bench:.*$/gm, '')
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
  'docs/reference/troubleshoot.md',
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

/** What may read the clock of the machine, which can be wrong and can jump, and why. */
const WALL_CLOCK: Readonly<Record<string, string>> = {
  'src/base/clock.ts': 'offers it',
  'src/base/siblings.ts': 'when the server started',
  'src/store/store-clock.ts': "makes the store's time of it",
  'src/cli/audit-list.ts': 'a command asks for the records of the last hours',
  'src/cli/backup.ts': 'the date in a backup',
  'src/cli/config.ts': 'the dates of certificates',
  'src/cli/machine-checks.ts': 'compares it',
  'src/cli/reload-secrets.ts': 'a token of a command that opens no store',
  'src/cli/restore.ts': 'a command that replaces the store',
  'src/cli/secret.ts': 'the ages of files',
  'src/cli/shown-users.ts': 'what a command shows',
  'src/cli/token.ts': 'a token of a command that opens no store',
  'src/cli/transfer/run-import.ts': 'a token of a command that opens no store',
  'src/http/reply.ts': 'the header Date',
  'src/http/session-tickets.ts': 'all workers change their keys at the same moment',
  'src/live-config/certificates.ts': 'the dates of certificates',
  'src/live-config/secrets-overview.ts': 'the ages of files',
  'src/observe/audit/destinations.ts': 'the time in the signature of a webhook',
  'src/modules/tracing/open-telemetry.ts': 'the times of traces',
  'src/observe/part-metrics.ts': 'the ages of files, and when the process started',
  'src/observe/security-events.ts': 'a command that replaces the store; the kernel gives it the time of the store',
  'src/wiring/upstreams.ts': 'a token of a command that opens no store',
}

test("times come from the store's clock and intervals from the monotonic one, with few exceptions", () => {
  const reading = globSync('src/**/*.ts', { cwd: ROOT }).filter((file) =>
    /\bDate\.now\b|new Date\(\)|\bSYSTEM_CLOCK\b/.test(readPage(file)),
  )
  assert.deepEqual(
    reading.filter((file) => !Object.hasOwn(WALL_CLOCK, file)),
    [],
    'take kernel.clock for times and MONOTONIC_CLOCK for intervals',
  )
  const idle = Object.keys(WALL_CLOCK).filter((file) => !reading.includes(file))
  assert.deepEqual(idle, [], 'no longer needed')
})
