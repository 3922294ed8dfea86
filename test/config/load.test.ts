import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { chmodSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { after, test } from 'node:test'
import { splitFlags } from '../../src/config/flags.ts'
import { openSettings } from '../../src/config/load.ts'
import { exitCodeOf, renderProblem } from '../../src/config/problems.ts'
import { OPTION_TABLE } from '../../src/module-options.ts'

const folders: string[] = []
after(() => {
  for (const folder of folders) rmSync(folder, { recursive: true, force: true })
})

function folderWith(files: Readonly<Record<string, string | Uint8Array>>): string {
  const folder = mkdtempSync(join(tmpdir(), 'cardea-config-'))
  folders.push(folder)
  for (const [name, content] of Object.entries(files)) {
    mkdirSync(dirname(join(folder, name)), { recursive: true })
    writeFileSync(join(folder, name), content, { mode: 0o600 })
  }
  return folder
}

const load = (cwd: string, argv: readonly string[], env: Record<string, string> = {}) =>
  openSettings({ table: OPTION_TABLE, flags: splitFlags(argv, OPTION_TABLE), env, cwd })([])

const problemsOf = (cwd: string, argv: readonly string[], env = {}) => load(cwd, argv, env).problems.map(renderProblem)

test('applies files in order, those of a folder in byte order of their names', () => {
  const cwd = folderWith({
    'd/10-b.ini': '[log]\nlevel = warn',
    'd/9-a.ini': '[log]\nlevel = error',
    'd/B.ini': '[log]\nformat = json\n[cors]\nmax_age = 1',
    'd/a.ini': '[cors]\nmax_age = 2',
    'd/.hidden.ini': '[log]\nlevel = debug',
    'd/note.txt': 'no ini',
    'last.ini': '[log]\nformat = text',
  })
  const { settings, problems, warnings } = load(cwd, ['--config', 'd', '-c', 'last.ini'])
  assert.deepEqual([problems, warnings], [[], []])
  assert.partialDeepStrictEqual(settings.values.log, { level: 'error', format: 'text' })
  assert.equal(settings.values.cors.max_age, 2)
  assert.deepEqual(settings.find('log', 'level')?.source, { kind: 'file', path: 'd/9-a.ini', line: 2 })
})

test('reads files named in the environment unless a flag names files', () => {
  const cwd = folderWith({
    'a.ini': '[log]\nlevel = warn',
    'b.ini': '[log]\nformat = json',
    'c.ini': '[log]\nlevel = error',
  })
  assert.partialDeepStrictEqual(load(cwd, [], { CARDEA_CONFIG: 'a.ini:b.ini' }).settings.values.log, {
    level: 'warn',
    format: 'json',
  })
  assert.partialDeepStrictEqual(load(cwd, ['-c', 'c.ini'], { CARDEA_CONFIG: 'a.ini:b.ini' }).settings.values.log, {
    level: 'error',
    format: 'auto',
  })
})

test('follows links, as mounted secrets need', () => {
  const cwd = folderWith({ 'real/a.ini': '[log]\nlevel = warn', 'd/none.txt': '' })
  symlinkSync(join(cwd, 'real/a.ini'), join(cwd, 'd/a.ini'))
  assert.equal(load(cwd, ['-c', 'd']).settings.values.log.level, 'warn')
})

test('reports a file that cannot be read and reads the others', () => {
  const cwd = folderWith({
    'latin.ini': Buffer.from('[log]\r\nlevel = info\r\n; caf\xe9\r\n', 'latin1'),
    'good.ini': '[chttpd]\nprot = 1',
    'd/b.ini': '',
  })
  symlinkSync(join(cwd, 'gone'), join(cwd, 'd/a.ini'))
  const argv = ['-c', 'nowhere.ini', '-c', 'latin.ini', '-c', 'd', '-c', 'good.ini']
  assert.deepEqual(problemsOf(cwd, argv), [
    'there is no such file (nowhere.ini)',
    'this line is not UTF-8 (latin.ini:3)',
    'there is no such file (d/a.ini)',
    'unknown option [chttpd] prot; did you mean port? (good.ini:2)',
  ])
  assert.equal(exitCodeOf(load(cwd, argv).problems), 6)
})

test('rejects an endless file', () => {
  const cwd = folderWith({ 'big.ini': Buffer.alloc(4 * 1024 * 1024 + 1, '; x\n') })
  assert.match(problemsOf(cwd, ['-c', 'big.ini']).join(), /larger than/)
})

test('reports a folder without files', () => {
  const cwd = folderWith({ 'd/x.txt': '' })
  const { problems } = load(cwd, ['-c', 'd'])
  assert.deepEqual(problems, [{ kind: 'bad-file', place: 'd', message: 'there is no *.ini file in this folder' }])
})

test('removes only the last line end of a secret file', () => {
  const cwd = folderWith({ s: ' hush \n\n', t: 'hush\r\n' })
  const secretOf = (name: string) =>
    load(cwd, ['--chttpd_auth.secret', `@file:${name}`]).settings.values.chttpd_auth.secret
  assert.equal(secretOf('s'), ' hush \n')
  assert.equal(secretOf('t'), 'hush')
})

const BAD_SECRETS: Readonly<Record<string, readonly [content: string | Uint8Array | undefined, reason: RegExp]>> = {
  missing: [undefined, /there is no such file/],
  empty: ['\n', /it is empty/],
  binary: [Uint8Array.of(0xff, 0xfe), /not UTF-8/],
  endless: [Buffer.alloc(1024 * 1024 + 1, 'x'), /larger than/],
}

for (const [name, [content, reason]] of Object.entries(BAD_SECRETS)) {
  test(`reports a secret file that is ${name}`, () => {
    const cwd = folderWith(content === undefined ? {} : { s: content })
    const { problems } = load(cwd, [], { CARDEA_ADMINS__root_FILE: 's' })
    assert.deepEqual(
      problems.map(({ kind, place }) => [kind, place]),
      [['bad-file', 'CARDEA_ADMINS__root_FILE']],
    )
    assert.match(problems[0]?.message ?? '', reason)
  })
}

test('reports a folder named as a secret file', () => {
  const cwd = folderWith({ 'd/x': '' })
  assert.match(problemsOf(cwd, ['--chttpd_auth.secret', '@file:d']).join(), /it is a folder/)
})

test('warns about the mode of a file', () => {
  const cwd = folderWith({ 'a.ini': '[admins]\nroot = pw' })
  chmodSync(join(cwd, 'a.ini'), 0o640)
  assert.match(load(cwd, ['-c', 'a.ini']).warnings.join(), /chmod 600 a\.ini/)
})

test('reports flags without a value', () => {
  assert.deepEqual(problemsOf('/', ['--config']), ['needs a value (--config)'])
})

test('reads only files and named pipes, and never blocks', () => {
  const cwd = folderWith({ 'd/a.ini': '[log]\nlevel = warn' })
  for (const name of ['d/b.ini', 'pipe', 'secret']) execFileSync('mkfifo', [join(cwd, name)])
  const argv = ['-c', '/dev/zero', '-c', 'd', '-c', 'pipe', '--chttpd_auth.secret', '@file:secret']
  assert.deepEqual(problemsOf(cwd, argv), [
    'it is not a regular file (/dev/zero)',
    'it is not a regular file (d/b.ini)',
    'cannot read "secret": it is not a regular file (--chttpd_auth.secret)',
  ])
})

test('warns about the first of two lines for an administrator', () => {
  const cwd = folderWith({ 'a.ini': '[admins]\nada = one\nbob = -hashed-ab,s\nada = two\nbob = three\n' })
  assert.deepEqual(load(cwd, ['-c', 'a.ini']).warnings, [
    '[admins] ada: this line is ignored: the one at a.ini:4 is used (a.ini:2)',
    '[admins] bob: this line is ignored: the one at a.ini:5 is used (a.ini:3)',
  ])
})
