import assert from 'node:assert/strict'
import { describe, it, type TestContext } from 'node:test'
import { createLimits, type LimitSettings } from '../../../src/auth/limits/limits.ts'
import { openLimits, shareFailures } from '../../../src/auth/limits/share.ts'
import { type Clock, SYSTEM_CLOCK } from '../../../src/base/clock.ts'
import { Refusal } from '../../../src/base/errors.ts'
import { SILENT_LOG } from '../../../src/base/log.ts'
import { createAlone, type Siblings } from '../../../src/base/siblings.ts'
import type { FailureStore } from '../../../src/directory/store-port/sign-ins.ts'
import type { SecurityEvents } from '../../../src/observe/security-events.ts'
import { openStore } from '../../../src/store/create-store.ts'
import { createSqlitePlace } from '../../store/places.ts'
import { toShared } from '../../support/directory.ts'

const BOB = { peer: '192.0.2.1', name: 'bob' }
const SETTINGS: LimitSettings = {
  lock: { mode: 'enforce', threshold: 3, lifetimeMs: 60_000 },
  account: { burst: 20, refillPerMinute: 1 },
  peer: { burst: 100, refillPerMinute: 10 },
  signUps: { perPeer: 10, total: 1000 },
  maxCounters: 100,
}

async function openShared(t: TestContext) {
  const store = await openStore('sqlite::memory:', { log: SILENT_LOG })
  t.after(() => store.close())
  return store
}

/** A node that shares only when the test asks for it. */
function startNode(
  t: TestContext,
  store: FailureStore,
  {
    clock = SYSTEM_CLOCK,
    time = clock,
    siblings = createAlone(),
  }: Partial<{ clock: Clock; time: Clock; siblings: Pick<Siblings, 'instance' | 'isFirst'> }> = {},
) {
  const limits = createLimits({ settings: () => SETTINGS, clock })
  const sharing = shareFailures({
    counters: limits,
    store,
    settings: () => SETTINGS,
    clock: toShared(time),
    siblings,
    everyMs: 1_000_000,
  })
  t.after(() => sharing.stop())
  const isLocked = () => {
    try {
      limits.requireAllowed(BOB)
      return false
    } catch {
      return true
    }
  }
  return { ...limits, shareNow: sharing.shareNow, isLocked }
}

describe('failures shared by workers of a node', () => {
  it('are sent by the first one, and read by one that starts later, each once', async (t) => {
    const store = await openShared(t)
    const { instance } = createAlone()
    const start = (isFirst: boolean) => startNode(t, store, { siblings: { instance, isFirst: () => isFirst } })
    const [first, second, node] = [start(true), start(false), startNode(t, store)]
    // both have counted it
    for (const worker of [first, second]) for (let turn = 0; turn < 2; turn += 1) worker.countFailure(BOB)
    for (const each of [second, first, second, node]) await each.shareNow()
    const later = start(false)
    await later.shareNow()
    const all = [first, second, node, later]
    assert.deepEqual(
      all.map(({ isLocked }) => isLocked()),
      [false, false, false, false],
    )
    for (const worker of [first, second, later]) worker.countFailure(BOB)
    for (const each of [later, second, first, node, later]) await each.shareNow()
    assert.deepEqual(
      all.map(({ isLocked }) => isLocked()),
      [true, true, true, true],
    )
  })
})

describe('failures shared by nodes', () => {
  it('of two nodes count together, each once', async (t) => {
    const store = await openShared(t)
    const [here, there] = [startNode(t, store), startNode(t, store)]
    for (let turn = 0; turn < 3; turn += 1) {
      assert.equal(here.isLocked() || there.isLocked(), false)
      ;(turn === 1 ? there : here).countFailure(BOB)
      for (const node of [here, there, here]) await node.shareNow()
    }
    assert.deepEqual([here.isLocked(), there.isLocked()], [true, true])
  })

  it('are known to a node that starts later', async (t) => {
    const store = await openShared(t)
    const before = startNode(t, store)
    for (let turn = 0; turn < 3; turn += 1) before.countFailure(BOB)
    await before.shareNow()
    const later = startNode(t, store)
    await later.shareNow()
    assert.equal(later.isLocked(), true)
  })

  it('wait while the store is unreachable, and count on this node meanwhile', async (t) => {
    const store = await openShared(t)
    let isAway = true
    const failing: FailureStore = {
      ...store,
      addFailures: (batch) => (isAway ? Promise.reject(new Refusal('store_unavailable')) : store.addFailures(batch)),
    }
    const [here, there] = [startNode(t, failing), startNode(t, store)]
    for (let turn = 0; turn < 3; turn += 1) here.countFailure(BOB)
    await assert.rejects(here.shareNow())
    assert.equal(here.isLocked(), true)
    isAway = false
    await here.shareNow()
    await there.shareNow()
    assert.equal(there.isLocked(), true)
  })

  it('are removed from the store when they no longer count', async (t) => {
    const store = await openShared(t)
    let now = 1_000_000_000
    const node = startNode(t, store, { clock: { nowMs: () => now } })
    node.countFailure(BOB)
    await node.shareNow()
    assert.equal((await store.listFailures(0, 10)).length, 1)
    // 20 failures of an account at one a minute
    now += 20 * 60_000
    await node.shareNow()
    assert.equal((await store.listFailures(0, 10)).length, 0)
  })

  it('are read again, and counted once, after a failover that lost some', async (t) => {
    const place = await createSqlitePlace()
    t.after(place.remove)
    const store = await openStore(place.url, { log: SILENT_LOG })
    t.after(() => store.close())
    const [here, there] = [startNode(t, store), startNode(t, store)]
    const fail = async (peer: string, name: string) => {
      here.countFailure({ peer, name })
      await here.shareNow()
    }
    await fail(BOB.peer, BOB.name)
    for (let turn = 0; turn < 3; turn += 1) await fail('192.0.2.9', 'eve')
    await there.shareNow()
    await place.execute('DELETE FROM cardea_failures WHERE sequence > 1')
    await place.execute('UPDATE cardea_failure_state SET sequence = 1')
    await fail(BOB.peer, BOB.name)
    for (let turn = 0; turn < 4; turn += 1) await fail('192.0.2.9', 'eve')
    await there.shareNow()
    await there.shareNow()
    assert.equal(there.isLocked(), false)
    await fail(BOB.peer, BOB.name)
    await there.shareNow()
    assert.equal(there.isLocked(), true)
  })

  it('are read on after the store was restored from a copy', async (t) => {
    const store = await openShared(t)
    const [here, there] = [startNode(t, store), startNode(t, store)]
    here.countFailure(BOB)
    await here.shareNow()
    await there.shareNow()
    let isRestored = true
    const listFailures: FailureStore['listFailures'] = (...asked) =>
      isRestored ? Promise.resolve([]) : store.listFailures(...asked)
    const follower = startNode(t, { ...store, listFailures })
    await follower.shareNow()
    isRestored = false
    for (let turn = 0; turn < 2; turn += 1) here.countFailure(BOB)
    await here.shareNow()
    await follower.shareNow()
    assert.equal(follower.isLocked(), true)
  })
})

/** Limits with a store's clock and a monotonic one that the test sets. */
async function openWithClocks(t: TestContext) {
  const [clock, elapsed] = [{ nowMs: 1_000_000_000 }, { ms: 1000 }]
  const store = await openShared(t)
  const limits = await openLimits({
    settings: () => SETTINGS,
    store,
    clock: toShared({ nowMs: () => clock.nowMs }),
    events: { record: () => {} } as unknown as SecurityEvents,
    log: SILENT_LOG,
    siblings: createAlone(),
    monotonic: { nowMs: () => elapsed.ms },
  })
  t.after(() => limits.close())
  return { clock, elapsed, store, limits }
}

const fail = async ({ guesses }: Awaited<ReturnType<typeof openLimits>>, times: number) => {
  for (let turn = 0; turn < times; turn += 1) await guesses.countFailure(BOB)
}

describe('a lock', () => {
  it('lasts no longer because it began while the clock was ahead', async (t) => {
    const { clock, elapsed, limits } = await openWithClocks(t)
    clock.nowMs += 3_600_000
    await fail(limits, 3)
    assert.equal(limits.guesses.isAllowed(BOB), false)
    clock.nowMs -= 3_600_000
    elapsed.ms += SETTINGS.lock.lifetimeMs
    assert.equal(limits.guesses.isAllowed(BOB), true)
  })

  it('does not end because the clock jumps ahead', async (t) => {
    const { clock, limits } = await openWithClocks(t)
    await fail(limits, 3)
    clock.nowMs += 3_600_000
    assert.equal(limits.guesses.isAllowed(BOB), false)
  })

  it('has its end shown by the time of the store', async (t) => {
    const { clock, elapsed, limits } = await openWithClocks(t)
    await fail(limits, 3)
    elapsed.ms += 10_000
    const found = await limits.accounts.find({ name: BOB.name, salt: '' })
    assert.equal(found?.untilMs, clock.nowMs + SETTINGS.lock.lifetimeMs - 10_000)
  })

  it('of failures before this process began counts from when they were made', async (t) => {
    const { clock, elapsed, store, limits } = await openWithClocks(t)
    await fail(limits, 3)
    await limits.accounts.find({ name: BOB.name, salt: '' })
    clock.nowMs += 59_000
    elapsed.ms = 500
    const later = startNode(t, store, { clock: { nowMs: () => elapsed.ms }, time: { nowMs: () => clock.nowMs } })
    await later.shareNow()
    assert.equal(later.isLocked(), true)
    elapsed.ms += 2000
    assert.equal(later.isLocked(), false)
  })
})
