// Administrators in files: the hash made of a clear text belongs to the line it stood in, whatever the store keeps.

import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { SYSTEM_CLOCK } from '../../src/base/clock.ts'
import { SILENT_LOG } from '../../src/base/log.ts'
import { toFlags } from '../../src/config/flags.ts'
import { PROGRAM } from '../../src/directory/caller.ts'
import { openLiveConfig } from '../../src/live-config/live-config.ts'
import { openConfiguration } from '../../src/live-config/load.ts'
import { buildSnapshot, type ConfigSnapshot, rebuildFromStore } from '../../src/live-config/snapshot.ts'
import { createStoredLayer } from '../../src/live-config/stored-layer.ts'
import { OPTION_TABLE } from '../../src/module-options.ts'
import { KERNEL_ROWS } from '../../src/modules.ts'
import { createHasher } from '../../src/passwords/hasher.ts'
import { openStore } from '../../src/store/create-store.ts'
import { openDirectory } from '../../src/wiring/core.ts'

const stored = (password: string) => `-hashed-${createHash('sha1').update(`${password}salt`).digest('hex')},salt`
const ROOT = `root = ${stored('root')}`

/** A place with a file of administrators, and a server over it that can be reloaded and started again. */
async function open(t: TestContext) {
  const folder = mkdtempSync(join(tmpdir(), 'cardea-'))
  t.after(() => rmSync(folder, { recursive: true, force: true }))
  const file = join(folder, 'a.ini')
  const flags = toFlags({ store: { url: `sqlite:${join(folder, 'store.db')}` }, chttpd_auth: { iterations: 1 } })
  const load = () =>
    openConfiguration({ table: OPTION_TABLE, flags: { configs: [folder], flags, problems: [] }, env: {}, cwd: '/' })
  const start = async () => {
    const liveConfig = await openLiveConfig({ rows: KERNEL_ROWS, load, log: SILENT_LOG })
    return { liveConfig, directory: await openDirectory(liveConfig, {}) }
  }
  const write = (...lines: string[]) => writeFileSync(file, `[admins]\n${lines.join('\n')}\n`, { mode: 0o600 })
  write(ROOT, 'ada = secret')
  let running = await start()
  const stop = async () => {
    await running.directory.close()
    await running.liveConfig.kernel.store.close()
  }
  t.after(stop)
  return {
    folder,
    write,
    line: () => /^ada = (.*)$/m.exec(readFileSync(file, 'utf8'))?.[1] ?? '',
    directory: () => running.directory,
    /** The stored form in force, or nothing, for each of a reload and a start. */
    async read(): Promise<string | undefined> {
      const find = () => running.liveConfig.get().administrators.get('ada')?.text
      assert.deepEqual((await running.liveConfig.reload()).problems, [])
      const reloaded = find()
      await stop()
      running = await start()
      assert.equal(find(), reloaded, 'a start and a reload agree')
      return reloaded
    },
  }
}

test('a plain-text line is hashed once, and either form in the file gives the same hash', async (t) => {
  const { write, line, read } = await open(t)
  const hash = line()
  assert.match(hash, /^-pbkdf2-/)
  assert.equal(await read(), hash)
  write(ROOT, 'ada = secret')
  assert.equal(await read(), hash)
  assert.equal(line(), hash)
})

test('the administrator is removed with the line, and returns with it', async (t) => {
  const { write, line, read } = await open(t)
  const hash = line()
  write(ROOT)
  assert.equal(await read(), undefined)
  write(ROOT, 'ada = secret')
  assert.equal(await read(), hash)
})

test('another hash or another password in the line takes effect', async (t) => {
  const { write, line, read } = await open(t)
  write(ROOT, `ada = ${stored('other')}`)
  assert.equal(await read(), stored('other'))
  write(ROOT, 'ada = third')
  const hash = await read()
  assert.match(hash ?? '', /^-pbkdf2-/)
  assert.equal(line(), hash)
  write(ROOT)
  assert.equal(await read(), undefined)
})

test('a section that no longer counts creates no administrator', async (t) => {
  const { folder, read } = await open(t)
  writeFileSync(join(folder, 'b.ini'), `[admins]\n${ROOT}\n`, { mode: 0o600 })
  assert.equal(await read(), undefined)
})

test('a change at run time overrides the line, and stays without it', async (t) => {
  const { write, directory, read } = await open(t)
  const changed = await directory().setAdministrator('ada', PROGRAM, { password: 'changed' })
  assert.equal(await read(), changed)
  write(ROOT, 'ada = secret')
  assert.equal(await read(), changed, 'the same text again is no new intent')
  write(ROOT, `ada = ${stored('other')}`)
  assert.equal(await read(), changed)
  write(ROOT)
  assert.equal(await read(), changed)
})

test('a hash set at run time is kept when the line with the same hash is removed', async (t) => {
  const { write, line, directory, read } = await open(t)
  const hash = line()
  await directory().setAdministrator('ada', PROGRAM, { stored: hash })
  write(ROOT)
  assert.equal(await read(), hash)
})

test('an administrator deleted at run time stays deleted until the line changes', async (t) => {
  const { write, directory, read } = await open(t)
  await directory().removeAdministrator('ada', PROGRAM)
  assert.equal(await read(), undefined)
  for (const text of ['secret', stored('other')]) {
    write(ROOT, `ada = ${text}`)
    assert.equal(await read(), undefined)
  }
  write(ROOT, 'ada = third')
  assert.match((await read()) ?? '', /^-pbkdf2-/)
})

test('nodes that start at the same time agree on one hash of a line', async (t) => {
  const store = await openStore('sqlite::memory:', { log: SILENT_LOG })
  t.after(() => store.close())
  const folder = mkdtempSync(join(tmpdir(), 'cardea-'))
  t.after(() => rmSync(folder, { recursive: true, force: true }))
  const flags = toFlags({ chttpd_auth: { iterations: 1 } })
  const node = (text: string) => {
    const file = join(folder, 'a.ini')
    writeFileSync(file, `[admins]\n${text}\n`, { mode: 0o600 })
    return {
      reader: openConfiguration({
        table: OPTION_TABLE,
        flags: { configs: [file], flags, problems: [] },
        env: {},
        cwd: '/',
      }),
      deps: {
        runtime: createStoredLayer(store, SYSTEM_CLOCK),
        hasher: createHasher({ queue: () => 10 }),
        log: SILENT_LOG,
        mayLackAdministrator: true,
        ownSecret: '',
        checkSecrets: () => undefined,
      },
    }
  }
  const nodes = [1, 2, 3].map(() => node('ada = secret\nbob = secret'))
  const begun = await Promise.all(nodes.map(({ reader, deps }) => buildSnapshot(reader, deps, undefined)))
  const settled: ConfigSnapshot[] = []
  for (const [index, { reader, deps }] of nodes.entries()) {
    const before = begun[index]?.next
    if (before) settled.push((await rebuildFromStore(reader, deps, before)).next)
  }
  for (const name of ['ada', 'bob']) {
    const texts = settled.map(({ administrators }) => administrators.get(name)?.text)
    assert.equal(new Set(texts).size, 1, name)
    assert.match(texts[0] ?? '', /^-pbkdf2-/)
  }
  const later = node(`eve = ${stored('eve')}`)
  const { next } = await buildSnapshot(later.reader, later.deps, undefined)
  assert.deepEqual([...next.administrators.keys()], ['eve'])
})

test('plain text in lines that do not count is hashed too, and creates no administrator', async (t) => {
  const { folder, write, directory, read } = await open(t)
  const earlier = join(folder, '0.ini')
  writeFileSync(earlier, '[admins]\nbob = old password of bob\n', { mode: 0o600 })
  write(
    'eve = old password of eve',
    '[log]',
    'level = warn',
    '[admins]',
    ROOT,
    'ada = old password of ada',
    'ada = secret',
  )
  assert.match((await read()) ?? '', /^-pbkdf2-/)
  for (const path of [earlier, join(folder, 'a.ini')]) {
    const text = readFileSync(path, 'utf8')
    assert.doesNotMatch(text, /old password/, path)
    assert.match(text, /^(?:bob|eve) = -pbkdf2-/m, path)
  }
  const names = directory()
    .listAdministrators()
    .map(({ name }) => name)
  assert.deepEqual(names.toSorted(), ['ada', 'root'])
  const account = await directory().findAccount('ada')
  const hasher = createHasher({ queue: () => 10 })
  const isPassword = (text: string) => hasher.verify(account?.password, text, { decoy: { unit: 'sha256', amount: 1 } })
  assert.deepEqual([await isPassword('secret'), await isPassword('old password of ada')], [true, false])
})
