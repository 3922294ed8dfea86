import assert from 'node:assert/strict'
import { describe, it, type TestContext } from 'node:test'
import { createLimits, type LimitSettings } from '../../../src/auth/limits/limits.ts'
import { shareFailures } from '../../../src/auth/limits/share.ts'
import { SYSTEM_CLOCK } from '../../../src/base/clock.ts'
import { Refusal } from '../../../src/base/errors.ts'
import { SILENT_LOG } from '../../../src/base/log.ts'
import type { FailureStore } from '../../../src/directory/store-port/sign-ins.ts'
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
function startNode(t: TestContext, store: FailureStore, clock = SYSTEM_CLOCK) {
  const limits = createLimits({ settings: () => SETTINGS, clock })
  const sharing = shareFailures({
    counters: limits,
    store,
    settings: () => SETTINGS,
    clock: toShared(clock),
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
    const node = startNode(t, store, { nowMs: () => now })
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
