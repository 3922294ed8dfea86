import assert from 'node:assert/strict'
import { afterEach, beforeEach, describe, it } from 'node:test'
import { SYSTEM_CLOCK } from '../../src/base/clock.ts'
import { SILENT_LOG } from '../../src/base/log.ts'
import type { Change, ChangeFeed, Position } from '../../src/directory/store-port/changes.ts'
import type { Store } from '../../src/directory/store-port/store.ts'
import { openStore } from '../../src/store/create-store.ts'
import { FeedFollower, type FeedOptions } from '../../src/store/feed.ts'
import type { StorePlace } from '../contract/store.ts'
import { create, createIn, isRefusal } from '../contract/store-values.ts'
import { loseWrites } from '../support/lose-writes.ts'
import { createSqlitePlace } from './places.ts'

/** Longer than any test: a test that waits for the poll fails. */
const NEVER_MS = 3_600_000

let store: Store
let place: StorePlace
/** The latest change when the test began. */
let start: Position
let followers: FeedFollower[]
beforeEach(async () => {
  place = await createSqlitePlace()
  store = await openStore(place.url, { log: SILENT_LOG })
  start = await store.head()
  followers = []
})
afterEach(async () => {
  for (const follower of followers) await follower.stop()
  await store.close()
  await place.remove()
})

interface Followed {
  readonly follower: FeedFollower
  /** The keys of the delivered changes. */
  readonly delivered: string[]
  readonly failures: Parameters<FeedOptions['onStale']>[0][]
  readonly resets: number[]
  /** Resolves when the condition holds; checked after each delivery and each failure. */
  until(isReached: () => boolean): Promise<void>
}

function follow(feed: ChangeFeed, options: Partial<FeedOptions> = {}): Followed {
  const delivered: string[] = []
  const failures: Parameters<FeedOptions['onStale']>[0][] = []
  const resets: number[] = []
  let { promise, resolve } = Promise.withResolvers<void>()
  const happened = () => {
    resolve()
    ;({ promise, resolve } = Promise.withResolvers<void>())
  }
  const follower = new FeedFollower(feed, {
    from: { sequence: 0, mark: start.mark },
    alsoRead: () => start,
    pollMs: NEVER_MS,
    clock: SYSTEM_CLOCK,
    onChange: (changes: readonly Change[]) => {
      delivered.push(...changes.map(({ key }) => key))
      happened()
    },
    onReset: () => {
      resets.push(1)
    },
    onRecovered: () => {},
    onStale: (failure) => {
      failures.push(failure)
      happened()
    },
    ...options,
  })
  followers.push(follower)
  const until = async (isReached: () => boolean) => {
    while (!isReached()) await promise
  }
  return { follower, delivered, failures, resets, until }
}

/** A feed that records from which sequence changes were requested. */
function withRequests(feed: ChangeFeed): { readonly feed: ChangeFeed; readonly requested: number[] } {
  const requested: number[] = []
  const changesSince: ChangeFeed['changesSince'] = (position, ...others) => {
    requested.push(position.sequence)
    return feed.changesSince(position, ...others)
  }
  return { feed: { ...withoutWake(feed), changesSince }, requested }
}

/** The feed without its wake call: only the poll finds what another process writes. */
const withoutWake = (feed: ChangeFeed): ChangeFeed => ({
  head: () => feed.head(),
  changesSince: (...args) => feed.changesSince(...args),
  onWake: () => () => {},
})

/** A feed whose connection can be cut. */
function withLine(feed: ChangeFeed): { readonly feed: ChangeFeed; cut(error?: Error): void } {
  let failure: Error | undefined
  const check = () => {
    if (failure) throw failure
  }
  return {
    feed: {
      ...withoutWake(feed),
      async changesSince(...args) {
        check()
        return feed.changesSince(...args)
      },
    },
    cut: (error) => {
      failure = error
    },
  }
}

describe('following changes', () => {
  it('delivers existing and new changes in order, each once', async () => {
    await createIn(store, 'a')
    const { delivered, until } = follow(store)
    await createIn(store, 'b')
    await until(() => delivered.length === 2)
    await createIn(store, 'c')
    await until(() => delivered.length === 3)
    assert.deepEqual(delivered, ['a', 'b', 'c'])
  })

  it('starts after the given position', async () => {
    for (const name of ['a', 'b']) await createIn(store, name)
    const { feed, requested } = withRequests(store)
    const { mark } = await store.head()
    const { follower, delivered } = follow(feed, { from: { sequence: 1, mark } })
    await follower.catchUp()
    await follower.catchUp()
    assert.equal(follower.sequence(), 2)
    assert.deepEqual([delivered, requested.slice(0, 2)], [['b'], [1, 2]])
  })

  it('the poll finds changes without a wake call', async () => {
    const { delivered, until } = follow(withoutWake(store), { pollMs: 5 })
    await createIn(store, 'a')
    await until(() => delivered.length === 1)
  })

  it('catchUp resolves when all earlier changes are delivered', async () => {
    const { follower, delivered } = follow(withoutWake(store))
    await follower.catchUp()
    for (const name of ['a', 'b', 'c']) {
      await createIn(store, name)
      await follower.catchUp()
      assert.equal(delivered.at(-1), name)
    }
    await Promise.all([follower.catchUp(), follower.catchUp()])
    assert.deepEqual(delivered, ['a', 'b', 'c'])
  })

  it('delivers more than one page', async () => {
    const names = Array.from({ length: 2500 }, (_, i) => `user-${i}`)
    await store.importUsers(names.map(create))
    const { follower, delivered } = follow(store)
    await follower.catchUp()
    assert.deepEqual(delivered, names)
  })

  it('skips the sequence of a purged session', async () => {
    await createIn(store, 'a')
    await store.endSession({ id: 'x', name: 'a', expiresAt: 1 })
    await store.purgeEnded(2)
    const { feed, requested } = withRequests(store)
    const { follower, delivered } = follow(feed)
    await follower.catchUp()
    await follower.catchUp()
    assert.deepEqual([delivered, requested.slice(0, 2)], [['a'], [0, 2]])
  })

  for (const [what, written] of [
    ['is lower than before', []],
    ['has reached the same sequence again', ['x']],
    ['is beyond the sequence again', ['x', 'y', 'z']],
  ] as const)
    it(`resets when the store has another history, which ${what}`, async () => {
      for (const name of ['kept', 'lost']) await createIn(store, name)
      const { follower, delivered, resets } = follow(withoutWake(store))
      await follower.catchUp()
      await loseWrites(place.execute, 1)
      for (const name of written) await createIn(store, name)
      await follower.catchUp()
      assert.deepEqual([delivered, resets.length], [['kept', 'lost'], 1])
      await createIn(store, 'later')
      await follower.catchUp()
      assert.deepEqual([delivered, resets.length], [['kept', 'lost', 'later'], 1])
    })

  it('resets when the history lacks something else that was read', async () => {
    let alsoRead = start
    const { follower, resets } = follow(withoutWake(store), { alsoRead: () => alsoRead })
    await follower.catchUp()
    await createIn(store, 'lost')
    alsoRead = await store.head()
    await loseWrites(place.execute, 0)
    await createIn(store, 'a')
    await follower.catchUp()
    assert.equal(resets.length, 1)
    // it is not read again here, but by the main thread
    for (let turn = 0; turn < 3; turn += 1) await follower.catchUp()
    assert.equal(resets.length, 1)
  })

  it('goes on when what else was read is older than the marks of the store', async () => {
    const { follower, resets } = follow(withoutWake(store))
    await follower.catchUp()
    await createIn(store, 'a')
    await follower.catchUp()
    await place.execute(`DELETE FROM cardea_marks WHERE mark = '${start.mark}'`)
    await follower.catchUp()
    assert.equal(resets.length, 0)
  })

  it('resets again after a failed reset, and knows nothing until then', async () => {
    let isFailing = true
    const known: number[] = []
    const { follower } = follow(withoutWake(store), {
      from: { sequence: 7, mark: 'of another history' },
      onReset: () => {
        known.push(follower.sequence())
        if (isFailing) throw new Error('not now')
      },
    })
    await createIn(store, 'a')
    await assert.rejects(follower.catchUp(), /not now/)
    await assert.rejects(follower.catchUp(), /not now/)
    isFailing = false
    await follower.catchUp()
    assert.equal(follower.sequence(), 1)
    assert.ok(known.length >= 3 && known.every((sequence) => sequence === 0))
  })

  it('delivers changes again after onChange failed', async () => {
    const taken: string[][] = []
    const { follower, failures } = follow(withoutWake(store), {
      onChange: (changes) => {
        taken.push(changes.map(({ key }) => key))
        if (taken.length === 1) throw new Error('not now')
      },
    })
    await createIn(store, 'a')
    await assert.rejects(follower.catchUp(), /not now/)
    await createIn(store, 'b')
    await follower.catchUp()
    assert.deepEqual(taken, [['a'], ['a', 'b']])
    assert.equal(failures.length, 1)
  })
})

describe('when the store cannot be reached', () => {
  it('staleness grows until the next successful poll', async () => {
    let nowMs = 1000
    const line = withLine(store)
    const { follower, failures } = follow(line.feed, { clock: { nowMs: () => nowMs } })
    await follower.catchUp()
    assert.equal(follower.stalenessMs(), 0)
    line.cut(new Error('cut'))
    nowMs += 700
    await assert.rejects(follower.catchUp(), /cut/)
    assert.equal(follower.stalenessMs(), 700)
    assert.deepEqual(
      failures.map(({ ageMs }) => ageMs),
      [700],
    )
    line.cut()
    await follower.catchUp()
    assert.equal(follower.stalenessMs(), 0)
  })

  it('staleness is never negative, even if the clock goes back', async () => {
    let nowMs = 1000
    const { follower } = follow(store, { clock: { nowMs: () => nowMs } })
    await follower.catchUp()
    nowMs = 0
    assert.equal(follower.stalenessMs(), 0)
  })

  it('polls again without being asked, and loses no change', async () => {
    const line = withLine(store)
    line.cut(new Error('cut'))
    const { delivered, failures, until } = follow(line.feed, { pollMs: 2 })
    await createIn(store, 'a')
    await until(() => failures.length >= 3)
    line.cut()
    await until(() => delivered.length === 1)
    assert.deepEqual(delivered, ['a'])
  })
})

describe('a stopped follower', () => {
  it('delivers nothing, and catchUp rejects', async () => {
    const { follower, delivered } = follow(store)
    await follower.catchUp()
    await follower.stop()
    await follower.stop()
    await createIn(store, 'a')
    assert.deepEqual(delivered, [])
    await assert.rejects(follower.catchUp(), isRefusal('store_unavailable'))
  })

  it('rejects the callers that wait for the next poll', async () => {
    const { follower } = follow(store)
    const waiting = [follower.catchUp(), follower.catchUp()]
    await follower.stop()
    for (const each of await Promise.allSettled(waiting)) assert.equal(each.status, 'rejected')
  })
})
