// The time of a store, with clocks that start wrong, jump, drift and stop.
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { SILENT_LOG } from '../../src/base/log.ts'
import type { StoreTime, TimeStore } from '../../src/directory/store-port/time.ts'
import { openStoreClock, type StoreClock } from '../../src/store/store-clock.ts'

const START_MS = 1_800_000_000_000
const [SECOND, MINUTE, HOUR, DAY] = [1000, 60_000, 3_600_000, 86_400_000]

/** A machine with a clock that can be set, and a store with or without a clock of its own. */
function createScene({ hasOwnClock = false, row = { livedMs: 0, agreedMs: 0 } } = {}) {
  let elapsedMs = 5000
  let systemOffsetMs = 0
  let serverOffsetMs = 0
  let isReachable = true
  let waitMs = 0
  const trueMs = () => START_MS + elapsedMs
  const answer = (): StoreTime => {
    if (!isReachable) throw new Error('not reachable')
    elapsedMs += waitMs
    return { ...row, clockMs: hasOwnClock ? trueMs() + serverOffsetMs : undefined }
  }
  const store: TimeStore = {
    readTime: async () => answer(),
    keepTime: async ({ livedMs, agreedMs }) => {
      answer()
      row = { livedMs: Math.max(row.livedMs, livedMs), agreedMs: Math.max(row.agreedMs, agreedMs) }
      return answer()
    },
  }
  const warnings: string[] = []
  const options = {
    log: { ...SILENT_LOG, warn: (message: string) => void warnings.push(message) },
    system: { nowMs: () => trueMs() + systemOffsetMs },
    monotonic: { nowMs: () => elapsedMs },
  }
  let clock: StoreClock | undefined
  const scene = {
    warnings,
    trueMs,
    row: () => row,
    get clock(): StoreClock {
      assert.ok(clock, 'the clock is open')
      return clock
    },
    /** A process starts. */
    async start() {
      clock = await openStoreClock(store, options)
    },
    /** The process runs for this time, with a comparison every two seconds. */
    async run(ms: number) {
      const endMs = elapsedMs + ms
      while (elapsedMs < endMs) {
        elapsedMs = Math.min(endMs, elapsedMs + Math.max(2 * SECOND, ms / 500))
        await scene.clock.compare(true)
      }
    },
    /** Time passes without a process, or a process is suspended. */
    pass(ms: number) {
      elapsedMs += ms
    },
    setSystem(ms: number) {
      systemOffsetMs = ms
    },
    setServer(ms: number) {
      serverOffsetMs = ms
    },
    /** How long each read waits before the server reads its clock. */
    setWait(ms: number) {
      waitMs = ms
    },
    setReachable(is: boolean) {
      isReachable = is
    },
    /** How far both times are from the true one, in seconds. */
    off: () => ({
      now: Math.round((scene.clock.nowMs() - trueMs()) / SECOND),
      purge: Math.round((scene.clock.purge.nowMs() - trueMs()) / SECOND),
    }),
  }
  return scene
}

type Scene = ReturnType<typeof createScene>

interface ClockRow {
  readonly name: string
  readonly options?: Parameters<typeof createScene>[0]
  play(scene: Scene): Promise<void>
  /** In seconds from the true time. */
  readonly expected: { readonly now: number; readonly purge: number }
}

const known = (atMs: number) => ({ row: { livedMs: atMs, agreedMs: atMs } })

const ROWS: readonly ClockRow[] = [
  {
    name: 'a new store has the time of its clock',
    play: (scene) => scene.start(),
    expected: { now: 0, purge: 0 },
  },
  {
    name: 'both follow a clock that is right',
    async play(scene) {
      await scene.start()
      await scene.run(DAY)
    },
    expected: { now: 0, purge: 0 },
  },
  {
    name: 'a start with a clock ahead deletes nothing early',
    options: known(START_MS),
    async play(scene) {
      scene.setSystem(40 * DAY)
      await scene.start()
      await scene.run(MINUTE)
    },
    expected: { now: (40 * DAY) / SECOND, purge: -5 },
  },
  {
    name: 'a start with a clock ahead leaves nothing behind when it is corrected',
    options: known(START_MS),
    async play(scene) {
      scene.setSystem(HOUR)
      await scene.start()
      await scene.run(30 * MINUTE)
      scene.setSystem(0)
      await scene.run(MINUTE)
    },
    expected: { now: 0, purge: 0 },
  },
  {
    name: 'a start with a clock behind goes on where the store was',
    options: known(START_MS),
    async play(scene) {
      scene.setSystem(-10 * MINUTE)
      await scene.start()
      await scene.run(100 * SECOND)
    },
    // five seconds before the start, and a tenth of the time since
    expected: { now: -15, purge: -15 },
  },
  {
    name: 'a clock that was set back is met by and by',
    async play(scene) {
      await scene.start()
      scene.setSystem(-MINUTE)
      await scene.run(20 * MINUTE)
    },
    expected: { now: -60, purge: -60 },
  },
  {
    name: 'a jump ahead and back changes nothing',
    async play(scene) {
      await scene.start()
      await scene.run(HOUR)
      scene.setSystem(31 * DAY)
      await scene.run(HOUR)
      scene.setSystem(0)
      await scene.run(MINUTE)
    },
    expected: { now: 0, purge: 0 },
  },
  {
    name: 'a clock that stays ahead counts once it has been so for as long as it is ahead',
    async play(scene) {
      await scene.start()
      scene.setSystem(HOUR)
      await scene.run(HOUR + MINUTE)
    },
    expected: { now: 3600, purge: 3600 },
  },
  {
    name: 'deletion waits as long as the store was down',
    options: known(START_MS - 8 * HOUR),
    async play(scene) {
      await scene.start()
      await scene.run(7 * HOUR)
    },
    expected: { now: 0, purge: (-8 * HOUR) / SECOND - 5 },
  },
  {
    name: 'deletion goes on after a downtime, however often the server was started again',
    options: known(START_MS - 8 * HOUR),
    async play(scene) {
      for (let run = 0; run < 9; run += 1) {
        await scene.start()
        await scene.run(HOUR)
      }
    },
    expected: { now: 0, purge: 0 },
  },
  {
    name: 'after kill -9 at most ten seconds are missing, and found again soon',
    async play(scene) {
      await scene.start()
      await scene.run(HOUR)
      await scene.start()
      await scene.run(15 * SECOND)
    },
    expected: { now: 0, purge: 0 },
  },
  {
    name: 'the clock of PostgreSQL counts, not that of the machine',
    options: { hasOwnClock: true },
    async play(scene) {
      scene.setServer(-3 * MINUTE)
      scene.setSystem(10 * MINUTE)
      await scene.start()
      await scene.run(HOUR)
    },
    expected: { now: -180, purge: -180 },
  },
  {
    name: 'PostgreSQL whose clock jumps ahead deletes nothing early',
    options: { hasOwnClock: true },
    async play(scene) {
      await scene.start()
      scene.setServer(DAY)
      await scene.run(HOUR)
    },
    expected: { now: DAY / SECOND, purge: 0 },
  },
  {
    name: 'a standby of PostgreSQL whose clock is behind makes nothing valid again',
    options: { hasOwnClock: true },
    async play(scene) {
      await scene.start()
      scene.setServer(-DAY)
      await scene.run(100 * SECOND)
    },
    expected: { now: -10, purge: -10 },
  },
  {
    name: 'the time goes on while the store cannot be reached',
    options: { hasOwnClock: true },
    async play(scene) {
      await scene.start()
      scene.setReachable(false)
      scene.setSystem(DAY)
      await scene.run(HOUR)
    },
    expected: { now: 0, purge: 0 },
  },
  {
    name: 'a later time of another node counts',
    options: { hasOwnClock: true },
    async play(scene) {
      await scene.start()
      Object.assign(scene.row(), { livedMs: scene.trueMs() + MINUTE, agreedMs: scene.trueMs() + MINUTE })
      await scene.clock.compare(true)
    },
    expected: { now: 60, purge: 60 },
  },
  {
    name: 'a store of an earlier version, written last before a downtime, waits',
    options: { row: { livedMs: START_MS - DAY, agreedMs: 0 } },
    async play(scene) {
      await scene.start()
      await scene.run(MINUTE)
    },
    expected: { now: 0, purge: -86_405 },
  },
  {
    name: 'a store of an earlier version, written with a wrong clock, follows the clock of today',
    options: { row: { livedMs: START_MS + 40 * DAY, agreedMs: 0 } },
    async play(scene) {
      await scene.start()
    },
    expected: { now: 0, purge: 0 },
  },
]

describe('the time of a store:', () => {
  for (const { name, options, play, expected } of ROWS)
    it(name, async () => {
      const scene = createScene(options)
      await play(scene)
      assert.deepEqual(scene.off(), expected)
    })

  it('never goes back, and nothing is deleted that has not expired', async () => {
    const scene = createScene()
    await scene.start()
    let [lastNow, lastPurge] = [0, 0]
    for (const jump of [0, 600, -600, 30, -30, 3600, -3600, 2, -2, 86_400, 0, -7, 7]) {
      const before = scene.clock.purge.nowMs()
      scene.setSystem(jump * SECOND)
      await scene.run(20 * SECOND)
      const [now, purge] = [scene.clock.nowMs(), scene.clock.purge.nowMs()]
      assert.ok(purge >= lastPurge && purge <= now, `${jump} s`)
      assert.ok(purge - before <= 40 * SECOND, 'no jump takes it ahead')
      if (now < lastNow) assert.ok(now >= lastPurge, 'a time that was ahead is given up')
      ;[lastNow, lastPurge] = [now, purge]
    }
  })

  it('does not follow a read that has waited for a connection', async () => {
    const scene = createScene({ hasOwnClock: true })
    await scene.start()
    scene.setWait(MINUTE)
    await scene.run(10 * SECOND)
    assert.deepEqual(scene.off(), { now: 0, purge: 0 })
  })

  it('is a whole number of milliseconds', async () => {
    const scene = createScene({ hasOwnClock: true })
    await scene.start()
    scene.pass(0.7)
    assert.ok(Number.isInteger(scene.clock.nowMs()))
    scene.setServer(-DAY)
    await scene.run(5 * SECOND)
    scene.pass(0.7)
    assert.ok(Number.isInteger(scene.clock.nowMs()))
    await scene.clock.compare(true)
    assert.ok(Number.isInteger(scene.clock.purge.nowMs()))
  })

  it('lets a node be used as soon as the clock of PostgreSQL is right again', async () => {
    const scene = createScene({ hasOwnClock: true })
    scene.setServer(5 * MINUTE)
    await scene.start()
    await scene.run(HOUR)
    assert.match(scene.clock.findProblem(30 * SECOND)?.reason ?? '', /behind the time of the store \(PostgreSQL's\)/)
    scene.setServer(0)
    await scene.run(10 * SECOND)
    assert.ok(scene.clock.nowMs() - scene.trueMs() > 4 * MINUTE, 'what was issued meanwhile stays in the past')
    assert.equal(scene.clock.findProblem(30 * SECOND), undefined)
  })

  it('says once that nothing is deleted, why and until when', async () => {
    const scene = createScene(known(START_MS - 8 * HOUR))
    await scene.start()
    await scene.run(HOUR)
    assert.equal(scene.warnings.length, 1)
    assert.match(
      scene.warnings[0] ?? '',
      /nothing is deleted for now: the clock of this machine is 8 hours ahead of .* from 2027-01-15T16:00:1\dZ on/,
    )
  })

  it('says how far the clock of the machine is off, and which clock counts', async () => {
    const scene = createScene({ hasOwnClock: true })
    scene.setSystem(-10 * MINUTE)
    await scene.start()
    assert.match(
      scene.clock.findProblem(30 * SECOND)?.reason ?? '',
      /^the clock of this machine is 10 minutes behind the time of the store \(PostgreSQL's\)/,
    )
    assert.equal(scene.clock.findProblem(20 * MINUTE), undefined)
    scene.setSystem(-30 * SECOND)
    assert.equal(scene.clock.findProblem(30 * SECOND), undefined)
  })
})
