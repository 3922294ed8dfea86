// The reference pages of library and client: the programs with their examples give what they show.
import assert from 'node:assert/strict'
import { copyFileSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { ROOT, start } from '../support/process.ts'
import { createWalk, toStart } from './walk.ts'

/** Makes every line that is followed by `// → value` assert that value. */
const toAssertions = (program: string): string =>
  `import { deepEqual as equal } from 'node:assert/strict'\n${program.replaceAll(/^(.+)\n\/\/ → (.+)$/gm, 'equal($1, $2)')}`

for (const file of ['library.mjs', 'client.mjs'])
  test(`examples/calls/${file} gives what it shows`, async (t) => {
    const walk = await createWalk(t, 'npm install cardea express fastify')
    const program = readFileSync(join(ROOT, 'examples/calls', file), 'utf8')
    assert.ok(program.split('// →').length > 5)
    writeFileSync(join(walk.folder, file), toAssertions(program))
    copyFileSync(join(ROOT, 'examples/calls/one-time-code.mjs'), join(walk.folder, 'one-time-code.mjs'))
    const { ended, stderr } = start(t, [file], toStart(walk, [process.execPath]))
    const { code } = await ended
    assert.equal(code, 0, stderr())
  })
