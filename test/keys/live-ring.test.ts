import assert from 'node:assert/strict'
import { mkdirSync, mkdtempSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, it, type TestContext } from 'node:test'
import { digestHex } from '../../src/base/encoding.ts'
import { createLiveRing } from '../../src/keys/live-ring.ts'
import { describeRing, type KeyRing } from '../../src/keys/ring.ts'
import { loadSecretRing, type RingLoad, reloadSecretRing, type SecretSource } from '../../src/keys/secret-files.ts'

const digest = (text: string) => digestHex('sha256', Buffer.from(text))
const activeOf = (ring: KeyRing) => describeRing(ring).active.sha256

async function load(secret: string): Promise<RingLoad & { kind: 'ring' }> {
  const loaded = await loadSecretRing({ secret })
  assert.ok(loaded.kind === 'ring')
  return loaded
}

describe('the current ring', () => {
  it('is replaced as a whole, and its version with it', async () => {
    const [one, two] = [await load('one'), await load('two')]
    const live = createLiveRing(one.ring, async () => two)
    assert.equal(live.get().version, one.ring.version)
    assert.equal(await live.reload(), two)
    assert.equal(live.get(), two.ring)
    assert.equal(live.get().version, two.ring.version)
  })

  const problem: RingLoad = { kind: 'refused', errorNum: 34, message: 'why', reason: 'why' }
  const failures: [string, () => Promise<RingLoad>, number][] = [
    ['is refused', async () => problem, 34],
    ['rejects', async () => Promise.reject(new Error('disk')), 4],
    ['throws', () => assert.fail('at once'), 4],
  ]
  for (const [name, broken, errorNum] of failures) {
    it(`stays when a load ${name}, and the reason is kept until one succeeds`, async () => {
      const { ring } = await load('one')
      let next = broken
      const live = createLiveRing(ring, () => next())
      const answer = await live.reload()
      assert.equal(answer.kind === 'refused' && answer.errorNum, errorNum)
      assert.equal(live.get(), ring)
      assert.equal(live.problem, answer)
      next = () => load('two')
      await live.reload()
      assert.equal(live.problem, undefined)
    })
  }

  it('is loaded once at a time, and calls made meanwhile share a later load', async () => {
    const starts: ((loaded: RingLoad) => void)[] = []
    const loadLater = () => new Promise<RingLoad>((resolve) => starts.push(resolve))
    const rings = [await load('one'), await load('two'), await load('three')] as const
    const live = createLiveRing(rings[0].ring, loadLater)
    const first = live.reload()
    await new Promise(setImmediate)
    const others = [live.reload(), live.reload(), live.reload()]
    assert.equal(starts.length, 1)
    starts[0]?.(rings[1])
    assert.equal(await first, rings[1])
    await new Promise(setImmediate)
    assert.equal(starts.length, 2)
    starts[1]?.(rings[2])
    assert.deepEqual(await Promise.all(others), [rings[2], rings[2], rings[2]])
    assert.equal(live.get(), rings[2].ring)
  })
})

/** A ring that watches, and a way to wait until a certain secret signs. */
async function watchRing(t: TestContext, source: SecretSource, useEvents: boolean) {
  const loaded = await loadSecretRing(source)
  assert.ok(loaded.kind === 'ring')
  const waiting = new Set<() => void>()
  let reloads = 0
  const live = createLiveRing(
    loaded.ring,
    () => reloadSecretRing(source),
    () => {
      reloads += 1
      setImmediate(() => waiting.forEach((check) => void check()))
    },
    // with file system events, polling is set too slow to be noticed
    { source, options: { settleMs: 5, pollMs: useEvents ? 60_000 : 5, useEvents } },
  )
  t.after(() => live.stop())
  // the watching keeps no process alive
  const alive = setInterval(() => {}, 1000)
  t.after(() => clearInterval(alive))
  const until = (isSo: () => boolean) =>
    new Promise<void>((resolve) => {
      const check = () => isSo() && waiting.delete(check) && resolve()
      waiting.add(check)
      check()
    })
  await until(() => reloads > 0)
  return { live, until, untilSigning: (text: string) => until(() => activeOf(live.get()) === digest(text)) }
}

function makeFolder(t: TestContext): string {
  const folder = mkdtempSync(join(tmpdir(), 'cardea-watch-'))
  t.after(() => rmSync(folder, { recursive: true, force: true }))
  return folder
}

describe('watching', () => {
  for (const [how, useEvents] of [
    ['with file system events', true],
    ['by polling', false],
  ] as const) {
    it(`a file, ${how}: written in place, replaced, broken, repaired`, async (t) => {
      const keyfile = join(makeFolder(t), 'secret')
      writeFileSync(keyfile, 'one')
      const { live, until, untilSigning } = await watchRing(t, { keyfile }, useEvents)
      writeFileSync(keyfile, 'two')
      await untilSigning('two')
      writeFileSync(`${keyfile}.new`, 'three')
      renameSync(`${keyfile}.new`, keyfile)
      await untilSigning('three')
      rmSync(keyfile)
      await until(() => live.problem?.errorNum === 34)
      assert.equal(activeOf(live.get()), digest('three'))
      writeFileSync(keyfile, 'four')
      await untilSigning('four')
    })

    it(`a mounted secret, ${how}: replaced through its link`, async (t) => {
      const folder = makeFolder(t)
      for (const [name, text] of [
        ['..1', 'one'],
        ['..2', 'two'],
      ] as const) {
        mkdirSync(join(folder, name))
        writeFileSync(join(folder, name, 'key'), text)
      }
      symlinkSync('..1', join(folder, '..data'))
      symlinkSync('..data/key', join(folder, 'key'))
      const asFolder = await watchRing(t, { folder }, useEvents)
      const asFile = await watchRing(t, { keyfile: join(folder, 'key') }, useEvents)
      symlinkSync('..2', join(folder, '..tmp'))
      renameSync(join(folder, '..tmp'), join(folder, '..data'))
      await Promise.all([asFolder.untilSigning('two'), asFile.untilSigning('two')])
    })
  }

  it('a folder: a new first file signs', async (t) => {
    const folder = makeFolder(t)
    writeFileSync(join(folder, 'b'), 'old')
    const { live, untilSigning } = await watchRing(t, { folder }, true)
    writeFileSync(join(folder, 'a'), 'new')
    await untilSigning('new')
    assert.equal(live.get().verifying.length, 2)
  })

  it('stops on request', async (t) => {
    const keyfile = join(makeFolder(t), 'secret')
    writeFileSync(keyfile, 'one')
    const { live } = await watchRing(t, { keyfile }, false)
    const other = await watchRing(t, { keyfile }, false)
    live.stop()
    writeFileSync(keyfile, 'two')
    await other.untilSigning('two')
    assert.equal(activeOf(live.get()), digest('one'))
  })
})
