import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { chownSync, mkdtempSync, readdirSync, rmSync, statSync, symlinkSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { lockStore } from '../../src/store/lock.ts'
import { findStoreFile } from '../../src/store/store-url.ts'

function makeFolder(t: TestContext): string {
  const folder = mkdtempSync(join(tmpdir(), 'cardea-lock-'))
  t.after(() => rmSync(folder, { recursive: true, force: true }))
  return folder
}

test('one process locks the store, the others wait until it is released', async (t) => {
  const folder = makeFolder(t)
  const url = `sqlite:${join(folder, 'cardea.db')}`
  const first = await lockStore(url, 0)
  assert.ok(first)
  assert.equal(await lockStore(url, 0), undefined)
  assert.equal(await lockStore(url, 0), undefined, 'asking does not loosen it')
  assert.equal(statSync(join(folder, 'cardea.db.lock')).mode & 0o777, 0o600)
  assert.deepEqual(readdirSync(folder), ['cardea.db.lock'])
  const waiting = lockStore(url, 5000)
  first.release()
  const second = await waiting
  assert.ok(second)
  first.release()
  assert.equal(await lockStore(url, 0), undefined, 'letting go twice does not take it from another')
  second.release()
})

const HOLDER = `
  import { lockStore } from ${JSON.stringify(new URL('../../src/store/lock.ts', import.meta.url).href)}
  console.log((await lockStore(process.argv[1], 0)) ? 'has it' : 'has it not')
  setInterval(() => {}, 1000)`

test('another process is locked out, and a killed process releases the lock', async (t) => {
  const url = `sqlite:${join(makeFolder(t), 'cardea.db')}`
  const child = spawn(process.execPath, ['--input-type=module-typescript', '-e', HOLDER, url], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  t.after(() => child.kill('SIGKILL'))
  const [said] = await once(child.stdout, 'data')
  assert.equal(String(said), 'has it\n')
  assert.equal(await lockStore(url, 0), undefined)
  child.kill('SIGKILL')
  await once(child, 'exit')
  const lock = await lockStore(url, 0)
  assert.ok(lock)
  lock.release()
})

test('the lock file belongs to the owner of the folder, even if root creates it', async (t) => {
  const folder = makeFolder(t)
  if (process.getuid?.() === 0) chownSync(folder, 65534, 65534)
  const lock = await lockStore(`sqlite:${join(folder, 'cardea.db')}`, 0)
  lock?.release()
  assert.equal(statSync(join(folder, 'cardea.db.lock')).uid, statSync(folder).uid)
})

test('stores in memory and servers need no lock', async () => {
  for (const url of ['sqlite::memory:', 'postgres://localhost/x']) {
    assert.ok(await lockStore(url, 0))
    assert.ok(await lockStore(url, 0))
  }
})

test('the lock is the same for every link to the file', (t) => {
  const folder = makeFolder(t)
  const link = join(makeFolder(t), 'link')
  symlinkSync(folder, link)
  const file = join(folder, 'cardea.db')
  for (const url of [`sqlite:${file}`, `sqlite://${file}`, `sqlite:${join(link, 'cardea.db')}`]) {
    assert.equal(findStoreFile(url), file, url)
  }
  for (const url of ['sqlite::memory:', 'postgres://localhost/x', 'postgresql://x']) {
    assert.equal(findStoreFile(url), undefined, url)
  }
})
