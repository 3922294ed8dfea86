// One more row in the table of fields, added as it loads, is a field at the command line, in exports and in the library.
import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { before, test } from 'node:test'
import { promisify } from 'node:util'
import { openCommands } from '../support/commands.ts'
import { makeManaged } from '../support/managed.ts'
import { bareEnvironment, ROOT } from '../support/process.ts'
import { createSharedScope } from '../support/scope.ts'

const ROW = `
  reviewAt: {
    type: 'time',
    part: 'record',
    isOptional: true,
    event: 'review',
    shown: 'review?',
    label: 'review',
    given: 'review?',
    option: ['--review <time>', 'when the rights of the user are looked at again'],
    set: { path: 'review', summary: 'Set when the rights of a user are looked at again', member: 'review?' },
  },`

function addRow(): Record<string, string> {
  const program = `import { registerHooks } from 'node:module'
    registerHooks({ load(url, context, next) {
      const loaded = next(url, context)
      if (!url.endsWith('/users/fields.ts')) return loaded
      return { ...loaded, source: String(loaded.source).replace('USER_FIELDS = {', 'USER_FIELDS = {' + ${JSON.stringify(ROW)}) }
    } })`
  return { NODE_OPTIONS: `--import data:text/javascript,${encodeURIComponent(program)}` }
}

const scope = createSharedScope()
const runCommand = openCommands(scope, addRow())
let folder = ''

before(async () => {
  folder = makeManaged(scope).folder
  await cardea('user', 'add', 'ada', '--no-password', '--review', '2030-05-01')
})

async function cardea(...args: readonly string[]): Promise<string> {
  const { code, stdout, stderr } = await runCommand([...args, '--config', folder])
  assert.equal(code, 0, stdout + stderr)
  return stdout
}

test('user add gives the field, and user show prints it', async () => {
  assert.match(await cardea('user', 'show', 'ada'), /^review +2030-05-01T00:00:00Z$/m)
  assert.match(await cardea('user', 'show', 'ada', '--json'), /"review": "2030-05-01T00:00:00Z"/)
})

test('user set changes and removes it', async () => {
  await cardea('user', 'add', 'bob', '--no-password')
  assert.match(await cardea('user', 'set', 'bob', 'review', '2031-01-01'), /^review +2031-01-01T00:00:00Z$/m)
  assert.doesNotMatch(await cardea('user', 'set', 'bob', 'review', 'never'), /^review/m)
})

test('an export has it, and an import sets it', async () => {
  const file = join(folder, 'users.jsonl')
  await cardea('export', file)
  assert.match(readFileSync(file, 'utf8'), /"reviewAt":1903824000/)
  await cardea('user', 'remove', 'ada')
  await cardea('import', file)
  assert.match(await cardea('user', 'show', 'ada'), /^review +2030-05-01T00:00:00Z$/m)
})

test('a list of users as CSV gives it', async () => {
  const file = join(folder, 'list.csv')
  writeFileSync(file, 'name,review\neve,2032-02-02\n')
  await cardea('import', file, '--from', 'csv')
  assert.match(await cardea('user', 'show', 'eve'), /^review +2032-02-02T00:00:00Z$/m)
})

test('the library shows and sets it', async () => {
  const program = `const { createCardea } = await import(${JSON.stringify(`${ROOT}/src/index.ts`)})
    const cardea = await createCardea({ options: { store: { url: 'sqlite::memory:' }, admins: { admin: 'a long password' } } })
    await cardea.users.create({ name: 'ada', password: null, reviewAt: new Date('2030-05-01') })
    const { reviewAt } = await cardea.users.update('ada', { reviewAt: new Date('2031-01-01') })
    console.log(reviewAt.toISOString())
    await cardea.close()`
  const env = { ...bareEnvironment(), ...addRow() }
  const { stdout } = await promisify(execFile)(process.execPath, ['--input-type=module', '--eval', program], { env })
  assert.equal(stdout.trim(), '2031-01-01T00:00:00.000Z')
})
