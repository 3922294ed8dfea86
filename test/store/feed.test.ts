import assert from 'node:assert/strict'
import { afterEach, beforeEach, describe, it } from 'node:test'
import { SYSTEM_CLOCK } from '../../src/base/clock.ts'
import { SILENT_LOG } from '../../src/base/log.ts'
import type { Change, ChangeFeed } from '../../src/directory/store-port/changes.ts'
import type { Store } from '../../src/directory/store-port/store.ts'
import { openStore } from '../../src/store/create-store.ts'
import { FeedFollower, type FeedOptions } from '../../src/store/feed.ts'
import { create, createIn, isRefusal } from '../contract/store-values.ts'

/** Longer than any test: a test that waits for the poll fails. */
const NEVER_MS = 3_600_000

let store: Store
let followers: FeedFollower[]
beforeEach(async () => {
  store = await openStore('sqlite::memory:', { log: SILENT_LOG })
  followers = []
})
afterEach(async () => {
  for (const follower of followers) await follower.stop()
  await store.close()
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
    from: 0,
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
  const changesSince: ChangeFeed['changesSince'] = (sequence, limit) => {
    requested.push(sequence)
    return feed.changesSince(sequence, limit)
  }
  return { feed: { ...withoutWake(feed), changesSince }, requested }
}

/** The feed without its wake call: only the poll finds what another process writes. */
const withoutWake = (feed: ChangeFeed): ChangeFeed => ({
  sequence: () => feed.sequence(),
  changesSince: (sequence, limit) => feed.changesSince(sequence, limit),
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
      async sequence() {
        check()
        return feed.sequence()
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

  it('starts after the given sequence', async () => {
    for (const name of ['a', 'b']) await createIn(store, name)
    const { feed, requested } = withRequests(store)
    const { follower, delivered } = follow(feed, { from: 1 })
    await follower.catchUp()
    await follower.catchUp()
    assert.deepEqual([delivered, requested], [['b'], [1]])
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
    assert.deepEqual([delivered, requested], [['a'], [0]])
  })

  it('resets when the sequence of the store is lower than before', async () => {
    await createIn(store, 'a')
    const { follower, delivered, resets } = follow(store, { from: 7 })
    await follower.catchUp()
    assert.deepEqual([delivered, resets.length], [[], 1])
    await createIn(store, 'b')
    await follower.catchUp()
    assert.deepEqual([delivered, resets.length], [['b'], 1])
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
