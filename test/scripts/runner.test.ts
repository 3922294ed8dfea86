import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { ROOT, run } from '../support/process.ts'
import { makeFolder } from '../support/scope.ts'

const RUN = `import { runFiles } from '${ROOT}scripts/test-run.ts'
process.exitCode = await runFiles(process.argv.slice(1), [])`

const FAILS_ONCE = `import { existsSync, writeFileSync } from 'node:fs'
test('passes the second time', () => {
  const mark = new URL('mark', import.meta.url)
  const isSecond = existsSync(mark)
  writeFileSync(mark, '')
  if (!isSecond) throw new Error('the first time')
})`

const ROWS: readonly [row: string, source: string, code: number, says: RegExp][] = [
  ['a test that passes is green', "test('a', () => {})", 0, /pass 1\n/],
  ['a test that would pass the second time is red, and named', FAILS_ONCE, 1, /✖ passes the second time/],
  ['a file that does not load is red', "await Promise.reject(new Error('ours'))", 1, /ours/],
  [
    'a file whose process ends early is red, and named',
    "test('a', () => process.exit(0))",
    1,
    /did not run to their end: \S*one\.test\.mjs/,
  ],
  [
    'an error outside of tests is red',
    "test('a', () => void setImmediate(() => { throw new Error('late') }))",
    1,
    /late/,
  ],
]

for (const [row, source, code, says] of ROWS)
  test(row, async (t) => {
    const file = join(makeFolder(t), 'one.test.mjs')
    writeFileSync(file, `import { test } from 'node:test'\n${source}\n`)
    const command = [process.execPath, '--input-type=module', '--eval', RUN, file]
    const ended = await run(t, [], { command, cwd: ROOT })
    assert.equal(ended.code, code, ended.stdout)
    assert.match(ended.stdout, says)
  })
