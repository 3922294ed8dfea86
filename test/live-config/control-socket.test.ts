import assert from 'node:assert/strict'
import { chmodSync, mkdirSync, mkdtempSync, rmSync, statSync, symlinkSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { findSocketPath, isSocketPathSafe } from '../../src/live-config/control-socket.ts'

/** A temporary folder of its own, also as the system's. */
function makeFolder(t: TestContext): string {
  const before = process.env['TMPDIR']
  const folder = mkdtempSync(join(tmpdir(), 'cardea-place-'))
  process.env['TMPDIR'] = folder
  t.after(() => {
    if (before === undefined) delete process.env['TMPDIR']
    else process.env['TMPDIR'] = before
    rmSync(folder, { recursive: true, force: true })
  })
  return folder
}

const find = (storeUrl: string, folder?: string) => findSocketPath({ storeUrl, folder })

test('puts the socket beside the file of the store', (t) => {
  const folder = makeFolder(t)
  assert.equal(find(`sqlite:${folder}/cardea.db`), `${folder}/cardea.db.sock`)
  assert.equal(find(`sqlite:${folder}/cardea.db`, '/etc'), `${folder}/cardea.db.sock`)
})

test('has no socket for a store in memory, and one in the configuration folder for PostgreSQL', () => {
  assert.equal(find('sqlite::memory:', '/etc/cardea'), undefined)
  assert.equal(find('postgres://localhost/x'), undefined)
  assert.equal(find('postgres://localhost/x', '/etc/cardea'), '/etc/cardea/cardea.sock')
})

test('uses a private folder for a path that is too long, with one name for each store', (t) => {
  const long = join(makeFolder(t), 'x'.repeat(100))
  mkdirSync(long)
  const seed = { storeUrl: `sqlite:${long}/cardea.db`, folder: undefined }
  const path = findSocketPath(seed) ?? ''
  assert.ok(Buffer.byteLength(path) <= 100, path)
  assert.equal(find(seed.storeUrl), path)
  assert.notEqual(find(`sqlite:${long}/other.db`), path)
  assert.equal(isSocketPathSafe(path, seed), true)
  assert.equal(statSync(dirname(path)).mode & 0o777, 0o700)
  assert.equal(isSocketPathSafe(path, seed), true)
})

const UNSAFE: readonly { readonly name: string; readonly make: (folder: string, elsewhere: string) => void }[] = [
  {
    name: 'a folder open to others',
    make: (folder) => {
      mkdirSync(folder)
      chmodSync(folder, 0o755)
    },
  },
  { name: 'a link', make: (folder, elsewhere) => symlinkSync(elsewhere, folder) },
]

for (const { name, make } of UNSAFE) {
  test(`does not use ${name} in its place`, (t) => {
    const own = makeFolder(t)
    const long = join(own, 'x'.repeat(100))
    mkdirSync(long, { mode: 0o700 })
    const seed = { storeUrl: `sqlite:${long}/cardea.db`, folder: undefined }
    const path = findSocketPath(seed) ?? ''
    make(dirname(path), long)
    assert.equal(isSocketPathSafe(path, seed), false)
  })
}
