import assert from 'node:assert/strict'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { configCommand } from '../../src/cli/config.ts'
import { ExitError } from '../../src/cli/context.ts'
import { splitFlags } from '../../src/config/flags.ts'

const cwd = mkdtempSync(join(tmpdir(), 'cardea-cli-'))
after(() => rmSync(cwd, { recursive: true, force: true }))
writeFileSync(join(cwd, 'good.ini'), '[chttpd]\nport = 1\n[chttpd_auth]\nsecret = hush\n[mine]\na = 1\n', {
  mode: 0o600,
})
writeFileSync(join(cwd, 'bad.ini'), '[chttpd]\nprot = 1\nport = x\n', { mode: 0o600 })

interface Outcome {
  readonly out: string
  readonly code: number
  readonly error: string
}

async function run(...argv: readonly string[]): Promise<Outcome> {
  const lines: string[] = []
  const flags = splitFlags(argv)
  const context = { flags, env: {}, cwd, print: (text: string) => void lines.push(text), printError: () => {} }
  try {
    await configCommand(context).parseAsync([...flags.rest], { from: 'user' })
    return { out: lines.join('\n'), code: 0, error: '' }
  } catch (error) {
    if (!(error instanceof ExitError)) throw error
    return { out: lines.join('\n'), code: error.exitCode, error: error.message }
  }
}

test('show prints what was set, --all defaults too, --json as data', async () => {
  const { out } = await run('show', '-c', 'good.ini')
  assert.equal(
    out,
    [
      'chttpd.port = 1  (good.ini:2)',
      'chttpd_auth.secret = ***  (good.ini:4)',
      'mine.a = 1  (good.ini:6; ignored)',
    ].join('\n'),
  )
  assert.match((await run('show', '--all')).out, /^log\.level = info {2}\(default\)$/m)
  const shown = JSON.parse((await run('show', '--json', '-c', 'good.ini')).out)
  assert.deepEqual(shown[0], { name: 'chttpd.port', value: '1', source: 'good.ini:2', isDefault: false })
  assert.equal(shown.length, 3)
})

test('get prints one value, a secret masked', async () => {
  assert.equal((await run('get', 'chttpd.port', '-c', 'good.ini')).out, '1')
  assert.equal((await run('get', 'chttpd_auth.secret', '-c', 'good.ini')).out, '***')
  assert.equal((await run('get', 'log.level', '--log.level', 'warn')).out, 'warn')
})

test('get of an unknown option ends with 3 and names the nearest', async () => {
  const { code, error } = await run('get', 'chttpd.prot')
  assert.equal(code, 3)
  assert.match(error, /Did you mean chttpd\.port\?/)
})

test('check prints warnings, and problems with their exit code', async () => {
  const good = await run('check', '-c', 'good.ini')
  assert.equal(good.code, 0)
  assert.match(good.out, /warning: ignored, .*\[mine\] a\n/)
  assert.match(good.out, /no problems/)
  const bad = await run('check', '-c', 'bad.ini')
  assert.equal(bad.code, 3)
  assert.equal(bad.error.split('\n').length, 2)
  assert.equal((await run('check', '--chttpd.port', 'x')).code, 4)
  assert.equal((await run('check', '-c', 'nowhere')).code, 6)
  assert.equal((await run('check', '--ssl.enable')).code, 1)
})

test('show and get of a bad configuration end with its problems', async () => {
  for (const words of [['show'], ['get', 'chttpd.port']]) assert.equal((await run(...words, '-c', 'bad.ini')).code, 3)
})

test('docs prints the page of options', async () => assert.match((await run('docs')).out, /^# Options/))
