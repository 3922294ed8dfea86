import assert from 'node:assert/strict'
import { cpSync, mkdirSync, readdirSync, statSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { runCommand } from '../support/commands.ts'
import { CARDEA, FREE_PORTS, IN_MEMORY, run, start } from '../support/process.ts'
import { makeFolder } from '../support/scope.ts'

interface Row {
  readonly row: string
  readonly args: readonly string[]
  /** The text of bad.ini in the working folder, given by --config. */
  readonly file?: string
  readonly env?: Readonly<Record<string, string>>
  /** It fails after something was opened: only a process of its own shows that nothing keeps it running. */
  readonly hasProcess?: true
  readonly code: number
  readonly says: readonly RegExp[]
}

const ROWS: readonly Row[] = [
  ...['serve', 'start', 'config check'].map((command) => ({
    row: `${command} reads a file attached to -c`,
    args: [...command.split(' '), '-cmissing.ini'],
    code: 6,
    says: [/^there is no such file \(missing\.ini\)$/m],
  })),
  ...['-Cbad.ini', '--configs=bad.ini', '-qcbad.ini'].map((flag) => ({
    row: `${flag}, an unknown spelling of --config`,
    args: ['serve', flag],
    code: 3,
    says: [/unknown option/],
  })),
  {
    row: 'an unknown flag, with the nearest',
    args: ['serve', '--chttpd.prot', '1'],
    code: 3,
    says: [/^unknown option; did you mean --chttpd\.port\? \(--chttpd\.prot\)$/m],
  },
  {
    row: 'an unknown option of a file, with its line and the nearest',
    args: ['serve'],
    file: '[chttpd_auth]\n\ntimout = 5\n',
    code: 3,
    says: [/^unknown option \[chttpd_auth\] timout; did you mean timeout\? \(bad\.ini:3\)$/m],
  },
  ...(['serve', 'config check'] as const).map((command) => ({
    row: `${command} with an option without its value in a file`,
    args: command.split(' '),
    file: '[chttpd]\nrequire_valid_user =\n[chttpd_auth]\nsecret =\nsame_site =\n[httpd]\nbind_address =\n',
    code: 4,
    says: [/^expected true or false, got nothing \(bad\.ini:2\)$/m],
  })),
  {
    row: 'a variable that is not an option',
    args: ['serve'],
    env: { CARDEA_REQUIRE_VALID_USER: 'true' },
    code: 3,
    says: [/^unknown option \(CARDEA_REQUIRE_VALID_USER\)$/m],
  },
  {
    row: 'an unknown variable',
    args: ['serve'],
    env: { CARDEA_CHTTPD__PROT: '1' },
    code: 3,
    says: [/^unknown option; did you mean CARDEA_CHTTPD__PORT\? \(CARDEA_CHTTPD__PROT\)$/m],
  },
  {
    row: 'a misspelt section of a file',
    args: ['serve'],
    file: '\n\n[chtpd]\nrequire_valid_user = true\n',
    code: 3,
    says: [/^unknown section \[chtpd\]; did you mean \[chttpd\]\? \(bad\.ini:3\)$/m],
  },
  {
    row: 'a misspelt section, checked alone',
    args: ['config', 'check', '--admins.root', 'a password'],
    file: '[chtpd]\nrequire_valid_user = true\n',
    code: 3,
    says: [/^unknown section.* \(bad\.ini:1\)$/m],
  },
  {
    row: 'a variable with one underscore too few',
    args: ['serve'],
    env: { CARDEA_CHTTPD_REQUIRE_VALID_USER: 'true' },
    code: 3,
    says: [/did you mean CARDEA_CHTTPD__REQUIRE_VALID_USER\? \(CARDEA_CHTTPD_REQUIRE_VALID_USER\)$/m],
  },
  {
    row: 'a line without =',
    args: ['serve'],
    file: '[chttpd]\nrequire_valid_user true\n',
    code: 6,
    says: [/^expected "option = value".* \(bad\.ini:2\)$/m],
  },
  { row: 'an option without a section', args: ['serve', '--prot'], code: 3, says: [/unknown option '--prot'/] },
  { row: 'a misspelt --config', args: ['serve', '--confg', 'x'], code: 3, says: [/^\(Did you mean --config\?\)$/m] },
  {
    row: 'invalid administrators',
    hasProcess: true,
    args: ['serve', '--admins._c', '-pbkdf2-ab,salt,1', ...IN_MEMORY],
    file: '[admins]\nada = -pbkdf2-abc,salt,10\nbob = -hashed-0123456789\n',
    code: 1,
    says: [
      /^administrator ada is malformed: ..* \(bad\.ini:2\)$/m,
      /^administrator bob.* \(bad\.ini:3\)$/m,
      /^.* \(--admins\._c\)$/m,
      /^No adm/m,
    ],
  },
  {
    row: 'an invalid value of a flag',
    args: ['serve', '--chttpd.port', 'x'],
    code: 4,
    says: [/^.*"x" \(--chttpd\.port\)$/m],
  },
  {
    row: 'an invalid value in a file',
    args: ['serve'],
    file: '[chttpd]\nport = 70000\n',
    code: 4,
    says: [/^\[chttpd\] port: .* \(bad\.ini:2\)$/m],
  },
  { row: 'a flag without its value', args: ['serve', '--chttpd.port'], code: 4, says: [/^.* \(--chttpd\.port\)$/m] },
  {
    row: 'a missing file',
    args: ['serve', '--config', 'nowhere.ini'],
    code: 6,
    says: [/^there is no such file \(nowhere\.ini\)$/m],
  },
  {
    row: 'a missing secret file',
    args: ['serve', '--chttpd_auth.secret', '@file:nowhere'],
    code: 6,
    says: [/^cannot read "nowhere": there is no such file \(--chttpd_auth\.secret\)$/m],
  },
  {
    row: 'all problems at once, a bad file first',
    args: ['serve', '--config', 'nowhere.ini', '--chttpd.prot', '1', '--chttpd.port', 'x'],
    code: 6,
    says: [/^.* \(nowhere\.ini\)$/m, /^.* \(--chttpd\.prot\)$/m, /^.* \(--chttpd\.port\)$/m],
  },
  {
    row: 'no administrator',
    hasProcess: true,
    args: ['serve', ...IN_MEMORY],
    code: 1,
    says: [/^No administrator is configured/m, /cardea init/, /\[admins\]/, /CARDEA_ADMINS__NAME/],
  },
  {
    row: 'a store that cannot be opened',
    hasProcess: true,
    args: ['serve', '--admins.ada', 'pw', '--store.url', 'sqlite:bad.ini/store.db'],
    file: '',
    code: 1,
    says: [/^The store cannot be opened: .*bad\.ini.*--store\.url/m],
  },
  {
    row: 'an address of another machine',
    hasProcess: true,
    args: ['serve', ...IN_MEMORY, '--admins.ada', 'pw', '--chttpd.bind_address', '192.0.2.1'],
    code: 1,
    says: [/^The document door cannot listen on 192\.0\.2\.1:0: this machine does not have that address\./m],
  },
  { row: 'an unknown command', args: ['serv'], code: 2, says: [/unknown command 'serv'/, /Did you mean serve\?/] },
  { row: 'a folder that cannot be created', args: ['init', 'bad.ini'], file: '', code: 1, says: [/^bad\.ini /m] },
  {
    row: 'options of the configuration given to init',
    args: ['init', 'new', '--admins.ada', 'pw'],
    code: 1,
    says: [/^init takes no options of the configuration: --admins\.ada/],
  },
  { row: 'the configuration checked alone', args: ['config', 'check', '--chttpd.prot', '1'], code: 3, says: [/port/] },
]

describe('a command that fails says why, and exits with', () => {
  for (const { row, args, file, env, hasProcess, code, says } of ROWS) {
    it(`${code}: ${row}`, async (t) => {
      const cwd = makeFolder(t)
      if (file !== undefined) writeFileSync(join(cwd, 'bad.ini'), file, { mode: 0o600 })
      const config = file ? ['--config', 'bad.ini'] : []
      const words = [...args, ...config]
      const options = { cwd, ...(env && { env }) }
      const ended = await (hasProcess ? run(t, words, options) : runCommand(words, options))
      assert.equal(ended.code, code, ended.stderr)
      for (const pattern of says) assert.match(ended.stderr, pattern)
      assert.doesNotMatch(ended.stderr, /^ {4}at /m, 'a person is not shown a stack')
    })
  }
})

it('a port in use is reported with exit code 1', async (t) => {
  const other = createServer().listen(0, '127.0.0.1')
  t.after(() => other.close())
  await new Promise((resolve) => other.once('listening', resolve))
  const address = other.address()
  const port = typeof address === 'object' && address ? address.port : 0
  for (const flags of [
    ['--chttpd.port', `${port}`],
    ['--server.endpoint', `tcp://127.0.0.1:${port}`],
  ]) {
    const ended = await run(t, ['serve', ...IN_MEMORY, '--admins.ada', 'pw', ...flags])
    assert.equal(ended.code, 1)
    assert.match(ended.stderr, new RegExp(`door cannot listen on 127\\.0\\.0\\.1:${port}: the address is in use`))
    assert.doesNotMatch(ended.stderr, /^ {4}at /m)
  }
})

it('help and version exit with 0', async () => {
  for (const [args, pattern] of [
    [['--version'], /^Cardea \d+\.\d+\.\d+\n$/],
    [['--help'], /^Usage: cardea[\s\S]*\n\nUsers and administrators:\n {2}user /],
    [['--help-chttpd'], /--chttpd\.port/],
    [['config', 'check', '--admins.root', 'a password'], /no problems/],
  ] as const) {
    const ended = await runCommand(args)
    assert.equal(ended.code, 0, ended.stderr)
    assert.match(ended.stdout, pattern)
  }
})

it('a closed pipe is not a failure', async (t) => {
  const started = start(t, ['--help-all'])
  started.child.stdout?.destroy()
  const { code, signal } = await started.ended
  assert.deepEqual({ code, signal, stderr: started.stderr() }, { code: 0, signal: null, stderr: '' })
})

const ENDINGS: readonly (readonly [row: string, main: string, code: number, says: RegExp])[] = [
  ['a command that never finishes fails with a message', 'new Promise(() => {})', 1, /^Cardea ended before .*\n$/],
  ['a command that throws fails', 'Promise.reject(new Error("ours"))', 1, /Error: ours/],
  ['a command exits with its code', 'Promise.resolve(5)', 5, /^$/],
]

for (const [row, main, code, says] of ENDINGS) {
  it(row, async (t) => {
    const folder = makeFolder(t)
    for (const name of ['bin', 'src']) mkdirSync(join(folder, name))
    cpSync(CARDEA, join(folder, 'bin', 'cardea'))
    writeFileSync(join(folder, 'package.json'), JSON.stringify({ type: 'module', engines: { node: '>=24.18' } }))
    writeFileSync(join(folder, 'src', 'main.ts'), `export const main = () => ${main}\n`)
    const ending = await run(t, [], { command: [process.execPath, join(folder, 'bin', 'cardea')] })
    assert.equal(ending.code, code)
    assert.match(ending.stderr, says)
  })
}

it('a start without an administrator creates nothing and prints only that', async (t) => {
  const cwd = makeFolder(t)
  const { code, stdout, stderr } = await run(t, ['serve', '--cors.origins', '*'], { cwd })
  assert.equal(code, 1)
  assert.equal(stdout, '')
  assert.match(stderr, /^No administrator is configured/)
  assert.deepEqual(readdirSync(cwd), [])
})

it('a file that is not a store keeps its mode', async (t) => {
  const cwd = makeFolder(t)
  const path = join(cwd, 'some.ini')
  writeFileSync(path, '[admins]\nada = one\n'.padEnd(5000, ';'), { mode: 0o644 })
  const args = ['serve', '--config', 'some.ini', '--store.url', 'sqlite:some.ini', ...FREE_PORTS]
  const { code, stderr } = await run(t, args, { cwd })
  assert.equal(code, 1, stderr)
  assert.match(stderr, /The store cannot be opened/)
  assert.equal(statSync(path).mode & 0o777, 0o644)
})
