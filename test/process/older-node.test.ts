import assert from 'node:assert/strict'
import { cpSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { NEEDED, OLDER } from '../support/older-node.ts'
import { BUNDLED, CARDEA, get, IN_MEMORY, ROOT, run, type Started, start, stop } from '../support/process.ts'
import { makeFolder, type Scope } from '../support/scope.ts'
import { waitUntil } from '../support/wait.ts'

const startOlder = (scope: Scope, args: readonly string[], bin: string): Started =>
  start(scope, args, { command: [...OLDER.command, bin] })

const serve = (scope: Scope): Started => startOlder(scope, ['serve', ...IN_MEMORY, '--admins.ada', 'pw'], BUNDLED)

/** The process that the older Node has started. */
function findChild({ child }: Started): number {
  const text = readFileSync(`/proc/${child.pid}/task/${child.pid}/children`, 'utf8')
  return Number(text.trim().split(' ')[0])
}

describe(`on Node ${OLDER.version}`, () => {
  it('a checkout starts with its own Node; arguments, output and exit codes are passed on', async (t) => {
    const rows: readonly [args: string[], code: number, says: RegExp][] = [
      [['--version'], 0, /^Cardea \d/],
      [['serve', '--chttpd.prot', '1'], 3, /unknown option; .* \(--chttpd\.prot\)/],
      [['config', 'get', 'chttpd.port', '--chttpd.port', '17'], 0, /^17$/m],
    ]
    for (const [args, code, says] of rows) {
      const ended = await run(t, args, { command: [...OLDER.command, CARDEA] })
      assert.deepEqual([ended.code, ended.signal], [code, null], ended.stderr)
      assert.match(ended.stdout + ended.stderr, says)
    }
  })

  for (const signal of ['SIGTERM', 'SIGINT'] as const) {
    it(`SIGHUP is passed on, and ${signal} ends both with success`, async (t) => {
      const cardea = serve(t)
      const { document } = await cardea.doors()
      assert.equal((await get(`${document}/_up`)).status, 200)
      cardea.child.kill('SIGHUP')
      await cardea.says(/"msg":"configuration applied"/)
      cardea.child.kill(signal)
      assert.deepEqual(await cardea.ended, { code: 0, signal: null })
      assert.match(cardea.stderr(), /"msg":"stopped"/)
    })
  }

  it('a killed launcher stops the server in order', async (t) => {
    const cardea = serve(t)
    await cardea.doors()
    cardea.child.kill('SIGKILL')
    assert.deepEqual(await cardea.ended, { code: null, signal: 'SIGKILL' }) // and no process holds the output any more
    assert.match(cardea.stderr(), /"msg":"stopped"/)
  })

  it('also when it is killed before the server starts', async (t) => {
    const cardea = serve(t)
    await waitUntil(() => findChild(cardea) !== 0)
    cardea.child.kill('SIGKILL')
    assert.equal((await cardea.ended).signal, 'SIGKILL')
  })

  it('a killed server ends the launcher with its signal', async (t) => {
    const cardea = serve(t)
    await cardea.doors()
    process.kill(findChild(cardea), 'SIGKILL')
    assert.deepEqual(await cardea.ended, { code: null, signal: 'SIGKILL' })
  })
})

describe(`on Node ${OLDER.version} a package reports the required version where`, () => {
  const rows: readonly [row: string, bring: (folder: string) => void, says: RegExp][] = [
    ['it has no Node of its own', () => {}, new RegExp(`; this is ${OLDER.version}\\.$`, 'm')],
    ['its own Node cannot run', (folder) => writeFileSync(join(folder, 'node'), 'x', { mode: 0o644 }), /EACCES/],
    [
      'its own Node is too old as well',
      (folder) => writeFileSync(join(folder, 'node'), oldNode(), { mode: 0o755 }),
      new RegExp(`; this is ${OLDER.version}\\.$`, 'm'),
    ],
  ]

  const oldNode = () => `#!/bin/sh\nexec ${OLDER.command.map((word) => `'${word}'`).join(' ')} "$@"\n`

  for (const [row, bring, says] of rows) {
    it(row, async (t) => {
      const folder = makeFolder(t)
      for (const name of ['bin', 'package.json']) cpSync(join(ROOT, name), join(folder, name), { recursive: true })
      const own = join(folder, 'node_modules', 'node')
      mkdirSync(join(own, 'bin'), { recursive: true })
      if (row !== 'it has no Node of its own')
        writeFileSync(join(own, 'package.json'), '{"name":"node","version":"1.0.0"}')
      bring(join(own, 'bin'))
      const started = startOlder(t, ['--version'], join(folder, 'bin', 'cardea'))
      assert.deepEqual(await started.ended, { code: 1, signal: null })
      assert.match(started.stderr(), new RegExp(`^Cardea needs Node ${NEEDED} or later`))
      assert.match(started.stderr(), says)
      assert.match(started.stderr(), /npm ci/)
      assert.equal(started.stderr().match(/Cardea needs/g)?.length, 1)
    })
  }
})

it('a link to the command works like the command', async (t) => {
  const link = join(makeFolder(t), 'cardea')
  symlinkSync(CARDEA, link)
  const ended = await run(t, ['--version'], { command: [process.execPath, link] })
  assert.equal(ended.code, 0, ended.stderr)
})

const NEWER = 'Object.defineProperty(process,"versions",{value:{...process.versions,node:"99.0.0"}})'

it('a Node that is newer than those Cardea was tested with starts it, and the log names what is lost', async (t) => {
  const command = [process.execPath, '--import', `data:text/javascript,${NEWER}`, BUNDLED]
  const cardea = start(t, ['serve', ...IN_MEMORY, '--admins.ada', 'pw'], { command })
  const { document } = await cardea.doors()
  assert.equal((await get(`${document}/_session`, ['ada', 'pw'])).status, 200)
  assert.match(cardea.stderr(), /"level":40,.*an internal of Node that Cardea uses, v8-flags, is not in 99\.0\.0/)
  await stop(cardea)
})
