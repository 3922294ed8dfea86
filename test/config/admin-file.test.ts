import assert from 'node:assert/strict'
import { chmodSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { rewriteAdmin } from '../../src/config/admin-file.ts'
import { splitFlags } from '../../src/config/flags.ts'
import { openSettings } from '../../src/config/load.ts'
import { OPTION_TABLE } from '../../src/module-options.ts'

const folder = mkdtempSync(join(tmpdir(), 'cardea-admins-'))
after(() => rmSync(folder, { recursive: true, force: true }))

const STORED = `-pbkdf2-${'a'.repeat(64)},${'b'.repeat(32)},600000`
let count = 0

function writeIni(text: string): string {
  count += 1
  const path = join(folder, `${count}.ini`)
  writeFileSync(path, text, { mode: 0o640 })
  chmodSync(path, 0o640)
  return path
}

const adminsOf = (path: string) =>
  openSettings({ table: OPTION_TABLE, flags: splitFlags(['-c', path], OPTION_TABLE), env: {}, cwd: folder })([])
    .settings.admins

test('replaces the password and keeps every other byte and the mode', () => {
  const path = writeIni('\uFEFF; mine\r\n[admins]\r\nann = pw ; why\r\nbob=p w\r\n\r\n')
  for (const admin of adminsOf(path)) assert.equal(rewriteAdmin(admin, STORED), undefined)
  assert.equal(readFileSync(path, 'utf8'), `\uFEFF; mine\r\n[admins]\r\nann = ${STORED} ; why\r\nbob=${STORED}\r\n\r\n`)
  assert.equal(statSync(path).mode & 0o777, 0o640)
  assert.deepEqual(
    adminsOf(path).map(({ name, text }) => [name, text]),
    [
      ['ann', STORED],
      ['bob', STORED],
    ],
  )
})

const CHANGED: Readonly<Record<string, readonly [text: string, reason: RegExp]>> = {
  'another password': ['[admins]\nann = other', /changed since it was read/],
  'another line': ['\n[admins]\nann = pw', /changed since it was read/],
  'another section': ['[mine]\nann = pw', /changed since it was read/],
  nothing: ['', /changed since it was read/],
  'a file reference': ['[admins]\nann = @file:x', /names a file/],
}

for (const [name, [text, reason]] of Object.entries(CHANGED)) {
  test(`leaves the file unchanged if the line now contains ${name}`, () => {
    const path = writeIni('[admins]\nann = pw')
    const [admin] = adminsOf(path)
    assert.ok(admin)
    writeFileSync(path, text)
    assert.match(rewriteAdmin(admin, STORED) ?? '', reason)
    assert.equal(readFileSync(path, 'utf8'), text)
  })
}

test('returns a reason for a missing file and for a flag', () => {
  const path = writeIni('[admins]\nann = pw')
  const [admin] = adminsOf(path)
  assert.ok(admin)
  rmSync(path)
  assert.match(rewriteAdmin(admin, STORED) ?? '', /ENOENT/)
  assert.match(
    rewriteAdmin({ ...admin, source: { kind: 'flag', name: '--admins.ann' } }, STORED) ?? '',
    /not set in a file/,
  )
})

test('rejects a hash that would not be read back unchanged', () => {
  const path = writeIni('[admins]\nann = pw')
  const [admin] = adminsOf(path)
  assert.ok(admin)
  assert.match(rewriteAdmin(admin, 'a\n[admins]\nevil = pw') ?? '', /cannot be written/)
  assert.equal(readFileSync(path, 'utf8'), '[admins]\nann = pw')
})
