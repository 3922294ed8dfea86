import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { it, type TestContext } from 'node:test'
import { startShared } from '../support/hosted-server.ts'
import { BUNDLED, get, IN_MEMORY, type Started, signalWhileLoading, signsIn, start, stop } from '../support/process.ts'
import { makeFolder } from '../support/scope.ts'

const BEFORE = '[chttpd]\nrequire_valid_user = false\n[document]\nname = CouchDB\n[admins]\nada = one\n'

interface Scene {
  readonly cardea: Started
  readonly document: string
  /** Rewrites the file, sends SIGHUP, and returns the log line that follows. */
  reload(text: string): Promise<string>
}

async function serve(t: TestContext, begin = startShared): Promise<Scene> {
  const path = join(makeFolder(t), 'a.ini')
  writeFileSync(path, BEFORE, { mode: 0o600 })
  const cardea = begin(t, ['serve', '--config', path, ...IN_MEMORY])
  const { document } = await cardea.doors()
  let answers = 0
  return {
    cardea,
    document,
    async reload(text) {
      writeFileSync(path, text)
      cardea.child.kill('SIGHUP')
      answers += 1
      const all = new RegExp(`(?:[^]*?"msg":"configuration (?:not )?applied"){${answers}}`)
      const [said] = await cardea.says(all)
      return said.split('\n').at(-1) ?? ''
    },
  }
}

it('changes live options and administrators, and names what waits for a restart', async (t) => {
  const { cardea, document, reload } = await serve(t, start)
  assert.equal((await get(document)).status, 200)
  const line = await reload(
    '[chttpd]\nrequire_valid_user = true\n[document]\nname = Other\n[admins]\nada = two\nbob = three\n',
  )
  assert.match(line, /"chttpd\.require_valid_user"/)
  await cardea.says(/"options":\["document\.name"\],"msg":"these changes take effect after a restart"/)
  assert.equal((await get(document)).status, 401, 'in force')
  assert.ok(await signsIn(document, ['ada', 'two']))
  assert.ok(!(await signsIn(document, ['ada', 'one'])))
  assert.ok(await signsIn(document, ['bob', 'three']))
  assert.match((await get(document, ['ada', 'two'])).body, /^\{"couchdb"/, 'not in force before a restart')
  await stop(cardea)
})

const BAD: readonly [row: string, text: string, says: RegExp][] = [
  ['an unknown option', '[chttpd]\nrequire_valid_user = true\nprot = 1\n[admins]\nada = two\n', /prot; .*a\.ini:3\)/],
  ['an invalid value', '[chttpd]\nrequire_valid_user = true\nport = x\n[admins]\nada = two\n', /a\.ini:3\)/],
  [
    'a rule over several options',
    '[chttpd]\nrequire_valid_user = true\n[cors]\norigins = *\ncredentials = true\n',
    /cors/,
  ],
]

for (const [row, text, says] of BAD) {
  it(`${row} keeps the configuration and is reported`, async (t) => {
    const { cardea, document, reload } = await serve(t)
    const line = await reload(text)
    assert.match(line, /"msg":"configuration not applied"/)
    assert.match(line, says)
    assert.equal((await get(document)).status, 200, 'nothing of it is in force')
    assert.ok(await signsIn(document, ['ada', 'one']))
    await reload(BEFORE.replace('false', 'true'))
    assert.equal((await get(document)).status, 401, 'the next good one is')
    await stop(cardea)
  })
}

it('invalid administrators are reported, and the earlier ones are kept', async (t) => {
  const path = join(makeFolder(t), 'a.ini')
  const stored = `-hashed-${createHash('sha1').update('pwsalt').digest('hex')},salt`
  writeFileSync(path, `[admins]\nada = ${stored}\n`, { mode: 0o600 })
  const cardea = startShared(t, ['serve', '--config', path, ...IN_MEMORY])
  const { document } = await cardea.doors()
  writeFileSync(path, '[admins]\nada = -pbkdf2-abc,salt,10\n')
  cardea.child.kill('SIGHUP')
  await cardea.says(/No administrator would be left[^"]+","msg":"configuration not applied"/)
  assert.match(cardea.stderr(), /"administrator ada is malformed: [^"]+a\.ini:2\)","msg":"configuration not applied"/)
  assert.ok(await signsIn(document, ['ada', 'pw']))
  await stop(cardea)
})

it('an administrator of a flag survives a reload', async (t) => {
  const cardea = startShared(t, ['serve', '--admins.ada', 'one', ...IN_MEMORY])
  const { document } = await cardea.doors()
  cardea.child.kill('SIGHUP')
  await cardea.says(/"msg":"configuration applied"/)
  assert.ok(await signsIn(document, ['ada', 'one']))
  await stop(cardea)
})

it('a configuration from a pipe is used at the start and at each reload', async (t) => {
  const command = [
    'bash',
    '-c',
    'main=$1; shift; exec "$0" "$main" serve --config <(sleep 0.1; printf "[admins]\\nada = one\\n") "$@"',
  ]
  const cardea = start(t, IN_MEMORY, { command: [...command, process.execPath, BUNDLED] })
  const { document } = await cardea.doors()
  assert.ok(await signsIn(document, ['ada', 'one']))
  cardea.child.kill('SIGHUP')
  await cardea.says(/"msg":"configuration applied"/)
  assert.ok(await signsIn(document, ['ada', 'one']))
  await stop(cardea)
})

it('the level of the log changes', async (t) => {
  const { cardea, reload } = await serve(t)
  await reload(`[log]\nlevel = info\n${BEFORE}`)
  await reload(`[log]\nlevel = debug\n${BEFORE}`)
  await stop(cardea)
  assert.match(cardea.stderr(), /"log\.level"/)
})

it('a hang-up while the program is loading is not lost', async (t) => {
  const env = signalWhileLoading('SIGHUP')
  const cardea = start(t, ['serve', '--admins.ada', 'one', ...IN_MEMORY], { env })
  await cardea.doors()
  await cardea.says(/"msg":"configuration applied"/)
  await stop(cardea)
})

it('hang-ups during the start neither end it nor are lost', async (t) => {
  const path = join(makeFolder(t), 'a.ini')
  writeFileSync(path, BEFORE, { mode: 0o600 })
  // Long enough to be met while it hashes: the first line of the log is out before.
  const cardea = start(t, ['serve', '--config', path, ...IN_MEMORY, '--chttpd_auth.iterations', '3000000'])
  await cardea.says(/"msg":"store migrated"/)
  cardea.child.kill('SIGHUP')
  await cardea.doors()
  await cardea.says(/"msg":"configuration applied"/)
  await stop(cardea)
})
