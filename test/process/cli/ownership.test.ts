import assert from 'node:assert/strict'
import { chownSync, lstatSync, readdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { runCommand } from '../../support/commands.ts'
import { FREE_PORTS, start, stop } from '../../support/process.ts'
import { makeFolder } from '../../support/scope.ts'

const OWNER = 65_534

const skip = process.getuid?.() !== 0 && 'needs root'

/** Commands that create files, each in the folder that the ones before have left. */
const COMMANDS: readonly (readonly string[])[] = [
  ['init', 'etc/cardea'],
  ['user', 'add', 'ann', '--no-password', '--config', 'etc/cardea'],
  ['secret', 'create', 'etc/cardea/keys/other'],
  ['secret', 'rotate', '--config', 'etc/cardea'],
  ['export', 'users.jsonl', '--config', 'etc/cardea'],
  ['backup', 'cardea.backup', '--config', 'etc/cardea'],
  ['restore', 'cardea.backup', '--replace', '--config', 'etc/cardea'],
]

const listAll = (folder: string): readonly string[] =>
  readdirSync(folder, { recursive: true, encoding: 'utf8' }).map((name) => join(folder, name))

function requireOwned(folder: string, what: string): void {
  const foreign = listAll(folder).filter((path) => lstatSync(path).uid !== OWNER || lstatSync(path).gid !== OWNER)
  assert.deepEqual(foreign, [], `${what}: everything belongs to the owner of the folder`)
}

test('what root creates in the folder of another user belongs to that user', { skip }, async (t) => {
  const folder = makeFolder(t)
  chownSync(folder, OWNER, OWNER)
  for (const args of COMMANDS) {
    const { code, stderr } = await runCommand(args, { cwd: folder })
    assert.equal(code, 0, stderr)
    requireOwned(folder, args.join(' '))
  }
})

test('the same for a server that root starts, with a file of audit records and a new folder of the store', {
  skip,
}, async (t) => {
  const folder = makeFolder(t)
  chownSync(folder, OWNER, OWNER)
  const options = ['--upstream.document', 'http://127.0.0.1:1', '--audit.destinations', 'file:audit.jsonl']
  const server = start(t, ['start', 'data', ...FREE_PORTS, ...options], { cwd: folder })
  await server.says(/Stop with Ctrl-C/)
  await stop(server)
  requireOwned(folder, 'start')
})

test('an existing file keeps its owner', { skip }, async (t) => {
  const folder = makeFolder(t)
  const file = join(folder, 'audit.jsonl')
  writeFileSync(file, '')
  chownSync(folder, OWNER, OWNER)
  await runCommand(['init', 'data'], { cwd: folder })
  const args = ['user', 'add', 'ann', '--no-password', '--config', 'data', '--audit.destinations', `file:${file}`]
  const { code, stderr } = await runCommand(args, { cwd: folder })
  assert.equal(code, 0, stderr)
  assert.equal(lstatSync(file).uid, 0)
})
