import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { makeManaged } from '../support/managed.ts'
import { bareEnvironment, ROOT } from '../support/process.ts'

const COLOUR = '\u001b['
/** Makes standard output a terminal for Node. */
const TERMINAL = `import { WriteStream } from 'node:tty'
  const { getColorDepth } = WriteStream.prototype
  Object.assign(process.stdout, { isTTY: true, getColorDepth })`
const ON_TERMINAL = ['--import', `data:text/javascript,${encodeURIComponent(TERMINAL)}`]

/** What `cardea check` prints. */
function check(t: TestContext, options: readonly string[], args: readonly string[] = [], env = {}): string {
  const { folder } = makeManaged(t)
  const words = [...options, join(ROOT, 'bin/cardea'), 'check', '--config', folder, ...args]
  const { stdout } = spawnSync(process.execPath, words, { env: { ...bareEnvironment(), TERM: 'xterm', ...env } })
  return stdout.toString()
}

test('words have colours on a terminal, and none with NO_COLOR, in a pipe and in JSON', (t) => {
  assert.ok(check(t, ON_TERMINAL).includes(`${COLOUR}32mok`))
  for (const plain of [check(t, ON_TERMINAL, [], { NO_COLOR: '1' }), check(t, []), check(t, ON_TERMINAL, ['--json'])]) {
    assert.match(plain, /\bok\b/)
    assert.ok(!plain.includes(COLOUR), plain)
  }
})
