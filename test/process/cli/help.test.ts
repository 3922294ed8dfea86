// What the command line says of itself: help, hints, completion, and the forms of its output.
import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import type { Command } from 'commander'
import { renderMan } from '../../../src/cli/completion.ts'
import { loadProgram } from '../../../src/cli/program.ts'
import { runCommand } from '../../support/commands.ts'
import { makeManaged } from '../../support/managed.ts'
import { ROOT } from '../../support/process.ts'
import { send } from '../../support/request.ts'

const listPaths = (command: Command, path: readonly string[] = []): readonly (readonly string[])[] => [
  path,
  ...command.commands.flatMap((each) => listPaths(each, [...path, each.name()])),
]

const PATHS = listPaths(await loadProgram()).filter((path) => path.at(-1) !== 'help')

describe('help', () => {
  it('of every command names --config and the exit codes', async () => {
    for (const path of PATHS) {
      const { code, stdout } = await runCommand([...path, '--help'])
      assert.equal(code, 0, path.join(' '))
      assert.match(stdout, /-c, --config <path>/, path.join(' '))
      assert.match(stdout, /^Exit codes:$/m, path.join(' '))
    }
  })

  it('is the same as an argument and as an option', async () => {
    for (const path of [[], ['user'], ['user', 'add']])
      assert.equal((await runCommand(['help', ...path])).stdout, (await runCommand([...path, '--help'])).stdout)
  })

  it('is right where a message or a page names a command', () => {
    const groups = new Set(PATHS.flatMap(([group, name]) => (name === undefined ? [] : [group])))
    const known = new Set(PATHS.map((path) => path.join(' ')))
    const files = ['src/**/*.ts', 'console/src/**/*.{ts,tsx}', 'docs/**/*.md', 'README.md', 'SECURITY.md']
    const unknown = files
      .flatMap((pattern) => globSync(pattern, { cwd: ROOT }))
      .flatMap((file) => readFileSync(join(ROOT, file), 'utf8').match(/\bcardea ([a-z]+ [a-z][a-z-]+)/g) ?? [])
      .map((text) => text.replace('cardea ', ''))
      .filter((command) => groups.has(command.split(' ')[0]) && !known.has(command))
    assert.deepEqual([...new Set(unknown)], [])
  })

  const HINTS: readonly (readonly [args: readonly string[], says: RegExp])[] = [
    [['user', 'delete', 'ann'], /unknown command 'delete'[\s\S]*Did you mean remove\?/],
    [['users'], /unknown command 'users'[\s\S]*Did you mean user\?/],
    [['user', 'lst'], /Did you mean list\?/],
    [['stop'], /unknown command 'stop'[\s\S]*Ctrl-C or SIGTERM/],
  ]
  for (const [args, says] of HINTS)
    it(`hints at what ${args.join(' ')} may mean`, async () => {
      const { code, stderr } = await runCommand(args)
      assert.equal(code, 2)
      assert.match(stderr, says)
    })

  it('prints the version as a command and as a flag', async () => {
    for (const word of ['version', '-V', '--version']) {
      const { code, stdout } = await runCommand([word])
      assert.deepEqual([code, /^Cardea \d+\.\d+\.\d+/.test(stdout)], [0, true], word)
    }
  })
})

describe('completion', () => {
  for (const shell of ['bash', 'zsh', 'fish', 'man'])
    it(`for ${shell} names every command`, async () => {
      const { code, stdout } = await runCommand(['completion', shell])
      assert.equal(code, 0)
      for (const path of PATHS) assert.ok(stdout.includes(path.at(-1) ?? ''), path.join(' '))
    })

  it('completes commands and options in bash', async () => {
    const { stdout } = await runCommand(['completion', 'bash'])
    const complete = (...words: readonly string[]) => {
      const program = `${stdout}\nCOMP_WORDS=(cardea "$@"); COMP_CWORD=$#; _cardea; echo "\${COMPREPLY[@]}"`
      return spawnSync('bash', ['-c', program, 'bash', ...words], { encoding: 'utf8' }).stdout.trim()
    }
    assert.equal(complete('sta'), 'start status')
    assert.equal(complete('user', 'set-p'), 'set-password')
    assert.equal(complete('user', 'list', '--st'), '--status')
  })

  it('makes a manual page without a line that a formatter takes for a request', async () => {
    const unknown = renderMan(await loadProgram())
      .split('\n')
      .filter((line) => /^[.']/.test(line) && !/^\.(?:TH|SH|SS|TP|B)\b/.test(line))
    assert.deepEqual(unknown, [])
  })
})

describe('lists', () => {
  it('of users are filtered, and JSON lines with times in ISO 8601', async (t) => {
    const { cardea, serve } = makeManaged(t)
    const server = await serve()
    for (const [name, ...more] of [['ann', '--role', 'sales'], ['bob'], ['cid', '--role', 'sales', '--disabled']])
      assert.equal((await cardea(['user', 'add', name ?? '', '--password-stdin', ...more], 'pw')).code, 0)
    const body = { name: 'ann', password: 'pw' }
    assert.equal((await send(server.document, { method: 'POST', path: '/_session', body })).status, 200)
    const list = async (...args: readonly string[]) => {
      const { stdout } = await cardea(['user', 'list', '--json', ...args])
      return stdout.split('\n').flatMap((line) => (line === '' ? [] : [JSON.parse(line)]))
    }
    const names = async (...args: readonly string[]) => (await list(...args)).map(({ name }) => name)
    assert.deepEqual(await names(), ['ann', 'bob', 'cid'])
    assert.deepEqual(await names('--role', 'sales'), ['ann', 'cid'])
    assert.deepEqual(await names('--status', 'disabled'), ['cid'])
    assert.deepEqual(await names('--search', 'bob'), ['bob'])
    const sessions = await cardea(['user', 'sessions', 'ann', '--json'])
    assert.match(JSON.parse(sessions.stdout).createdAt, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/)
    const [record] = (await cardea(['audit', 'list', '--json', '--limit', '1'])).stdout.split('\n')
    assert.match(JSON.parse(record ?? '').time, /^\d{4}-\d\d-\d\dT.*Z$/)
  })

  it('show access tokens, which token revoke removes', async (t) => {
    const { cardea, serve } = makeManaged(t)
    const { multiModel } = await serve()
    assert.equal((await cardea(['user', 'add', 'ann', '--password-stdin'], 'pw')).code, 0)
    const as = `ann:pw`
    const valid = Math.floor(Date.now() / 1000) + 3600
    const made = await send(multiModel, {
      ...{ method: 'POST', path: '/_api/token/ann', as },
      body: { name: 'backup', valid_until: valid },
    })
    assert.equal(made.status, 200, made.body)
    assert.match((await cardea(['token', 'list', 'ann'])).stdout, /^backup +yes +\d{4}-.* never/m)
    const [line = ''] = (await cardea(['token', 'list', 'ann', '--json'])).stdout.split('\n')
    assert.equal(Date.parse(JSON.parse(line).expiresAt), valid * 1000)
    const revoked = await cardea(['token', 'revoke', 'ann', 'backup'])
    assert.deepEqual([revoked.code, revoked.stdout], [0, 'The access token backup of ann is revoked.\n'])
    assert.equal((await cardea(['token', 'list', 'ann'])).stdout, 'ann has no access tokens.\n')
    assert.equal((await cardea(['token', 'revoke', 'ann', 'backup'])).code, 5)
  })
})
