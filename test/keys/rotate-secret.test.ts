import assert from 'node:assert/strict'
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, it, type TestContext } from 'node:test'
import { listFolder, SecretProblem } from '../../src/keys/new-secret.ts'
import { stepRotation } from '../../src/keys/rotate-secret.ts'

const NOW = 1_800_000_000

function createFolder(t: TestContext, files: Readonly<Record<string, string>>) {
  const folder = mkdtempSync(join(tmpdir(), 'cardea-rotation-'))
  t.after(() => rmSync(folder, { recursive: true, force: true }))
  for (const [name, text] of Object.entries(files)) writeFileSync(join(folder, name), text)
  const step = (nowSeconds = NOW, isForced = false) =>
    stepRotation(folder, { nowSeconds, lifetimeSeconds: 100, isForced })
  const names = () => readdirSync(folder).filter((name) => !name.startsWith('.'))
  return { folder, step, names }
}

describe('rotating a secret', () => {
  it('waits until every token of the old secret has expired', async (t) => {
    const { step, names } = createFolder(t, { 'a.key': 'old' })
    assert.deepEqual(await step(), { kind: 'added', file: 'a.key.next' })
    const activated = await step(NOW + 10)
    assert.equal(activated.kind, 'activated')
    assert.deepEqual(await step(NOW + 109), { kind: 'waiting', file: 'a.key', until: NOW + 110 })
    assert.deepEqual(await step(NOW + 110), { kind: 'removed', file: 'a.key' })
    assert.deepEqual(names(), [activated.file])
  })
  it('works repeatedly, also twice within a second', async (t) => {
    const { folder, step, names } = createFolder(t, { '1.key': 'old' })
    for (let round = 0; round < 5; round += 1) {
      const before = (await listFolder(folder))[0]?.sha256
      for (const kind of ['added', 'activated', 'removed']) assert.equal((await step(NOW, true)).kind, kind)
      assert.equal(names().length, 1)
      assert.notEqual((await listFolder(folder))[0]?.sha256, before)
    }
  })
  it('keeps other secrets in their order', async (t) => {
    const { step, names } = createFolder(t, { '1-old': 'one', '1': 'two', z: 'three' })
    for (const kind of ['added', 'activated', 'removed']) assert.equal((await step(NOW, true)).kind, kind)
    assert.deepEqual(names().slice(1), ['1-old', 'z'])
  })
  it('keeps the signing secret first at every step', async (t) => {
    for (const name of ['1', 'zz', '0', '00-x', '-x', 'Ä', '09']) {
      const { folder, step } = createFolder(t, { [name]: 'old' })
      const first = async () => (await listFolder(folder))[0]?.name
      await step()
      assert.equal(await first(), name, name)
      const { file } = await step()
      assert.equal(await first(), file, name)
    }
  })
  it('reports a name that nothing sorts before', async (t) => {
    const { step } = createFolder(t, { ' x': 'old' })
    await assert.rejects(step(), SecretProblem)
  })
  it('continues after an interruption', async (t) => {
    const { folder, step, names } = createFolder(t, { '1.key': 'old' })
    await step()
    rmSync(join(folder, '1.key.next'))
    assert.equal((await step()).kind, 'added')
    const note = join(folder, '.rotation.json')
    const before = readFileSync(note, 'utf8')
    await step()
    writeFileSync(note, before)
    assert.equal((await step(NOW + 50)).kind, 'activated')
    assert.deepEqual(await step(NOW + 60), { kind: 'waiting', file: '1.key', until: NOW + 150 })
    assert.equal(names().length, 2)
  })
  it('ignores a note with paths outside the folder', async (t) => {
    for (const text of [
      '{',
      '[]',
      '{"old":"../x","next":"a","first":"b"}',
      '{"old":"/etc/passwd","next":"a","first":"b"}',
    ]) {
      const { folder, step } = createFolder(t, { '1.key': 'old', '.rotation.json': text })
      await assert.rejects(step(), SecretProblem, text)
      assert.ok(existsSync(join(folder, '1.key')))
    }
  })
  it('rejects a folder without a secret', async (t) => {
    await assert.rejects(createFolder(t, { '.x': 'x' }).step(), SecretProblem)
  })
})
