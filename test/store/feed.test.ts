import assert from 'node:assert/strict'
import { afterEach, beforeEach, describe, it } from 'node:test'
import { SYSTEM_CLOCK } from '../../src/base/clock.ts'
import { SILENT_LOG } from '../../src/base/log.ts'
import type { Change, ChangeFeed, Store } from '../../src/directory/store-port.ts'
import { type Follower, type FollowOptions, followChanges, type StaleFailure } from '../../src/store/feed.ts'
import { openStore } from '../../src/store/open.ts'
import { create, createIn, isRefusal } from '../contract/store-values.ts'

/** Longer than any test: whoever waits for the poll waits for ever. */
const NEVER_MS = 3_600_000

let store: Store
let followers: Follower[]
beforeEach(async () => {
  store = await openStore('sqlite::memory:', { log: SILENT_LOG })
  followers = []
})
afterEach(async () => {
  for (const follower of followers) await follower.stop()
  await store.close()
})

interface Followed {
  readonly follower: Follower
  readonly told: string[]
  readonly failures: StaleFailure[]
  readonly resets: number[]
  /** Answers when so many have been told, or have failed. */
  until(isReached: () => boolean): Promise<void>
}

function follow(feed: ChangeFeed, options: Partial<FollowOptions> = {}): Followed {
  const told: string[] = []
  const failures: StaleFailure[] = []
  const resets: number[] = []
  let { promise, resolve } = Promise.withResolvers<void>()
  const happened = () => {
    resolve()
    ;({ promise, resolve } = Promise.withResolvers<void>())
  }
  const follower = followChanges(feed, {
    from: 0,
    pollMs: NEVER_MS,
    clock: SYSTEM_CLOCK,
    onChange: (changes: readonly Change[]) => {
      told.push(...changes.map(({ key }) => key))
      happened()
    },
    onReset: () => {
      resets.push(1)
    },
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
  return { follower, told, failures, resets, until }
}

/** The store without its call to wake: what another process writes is found by the poll alone. */
const withoutWake = (feed: ChangeFeed): ChangeFeed => ({
  sequence: () => feed.sequence(),
  changesSince: (sequence, limit) => feed.changesSince(sequence, limit),
  onWake: () => () => {},
})

/** The store behind a line that can be cut. */
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
  it('tells what is there and what comes, in order, each once', async () => {
    await createIn(store, 'a')
    const { told, until } = follow(store)
    await createIn(store, 'b')
    await until(() => told.length === 2)
    await createIn(store, 'c')
    await until(() => told.length === 3)
    assert.deepEqual(told, ['a', 'b', 'c'])
  })

  it('begins after what is known', async () => {
    for (const name of ['a', 'b']) await createIn(store, name)
    const { follower, told } = follow(store, { from: 1 })
    await follower.catchUp()
    assert.deepEqual([told, follower.position()], [['b'], 2])
  })

  it('the poll finds what nobody told of', async () => {
    const { told, until } = follow(withoutWake(store), { pollMs: 5 })
    await createIn(store, 'a')
    await until(() => told.length === 1)
  })

  it('catching up ends when all written before has been told', async () => {
    const { follower, told } = follow(withoutWake(store))
    await follower.catchUp()
    for (const name of ['a', 'b', 'c']) {
      await createIn(store, name)
      await follower.catchUp()
      assert.equal(told.at(-1), name)
    }
    await Promise.all([follower.catchUp(), follower.catchUp()])
    assert.deepEqual(told, ['a', 'b', 'c'])
  })

  it('more than one page at once', async () => {
    const names = Array.from({ length: 2500 }, (_, i) => `user-${i}`)
    await store.importUsers(names.map(create))
    const { follower, told } = follow(store)
    await follower.catchUp()
    assert.deepEqual(told, names)
  })

  it('the sequence of what was purged is passed', async () => {
    await createIn(store, 'a')
    await store.endSession({ id: 'x', name: 'a', expiresAt: 1 })
    await store.purgeEnded(2)
    const { follower, told } = follow(store)
    await follower.catchUp()
    assert.deepEqual([told, follower.position()], [['a'], 2])
  })

  it('a store that has gone back resets', async () => {
    await createIn(store, 'a')
    const { follower, told, resets } = follow(store, { from: 7 })
    await follower.catchUp()
    assert.deepEqual([told, resets.length, follower.position()], [[], 1, 1])
    await createIn(store, 'b')
    await follower.catchUp()
    assert.deepEqual(told, ['b'])
  })

  it('what was not taken is told again', async () => {
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

describe('a store that cannot be followed', () => {
  it('knowledge grows old, and is new again after a good poll', async () => {
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

  it('a clock that goes back makes nothing younger than new', async () => {
    let nowMs = 1000
    const { follower } = follow(store, { clock: { nowMs: () => nowMs } })
    await follower.catchUp()
    nowMs = 0
    assert.equal(follower.stalenessMs(), 0)
  })

  it('is tried again by itself, and nothing is lost', async () => {
    const line = withLine(store)
    line.cut(new Error('cut'))
    const { told, failures, until } = follow(line.feed, { pollMs: 2 })
    await createIn(store, 'a')
    await until(() => failures.length >= 3)
    line.cut()
    await until(() => told.length === 1)
    assert.deepEqual(told, ['a'])
  })
})

describe('the end of following', () => {
  it('nothing is told afterwards, and nobody waits', async () => {
    const { follower, told } = follow(store)
    await follower.catchUp()
    await follower.stop()
    await follower.stop()
    await createIn(store, 'a')
    assert.deepEqual(told, [])
    await assert.rejects(follower.catchUp(), isRefusal('store_unavailable'))
  })

  it('whoever waits for the next poll is told that there is none', async () => {
    const { follower } = follow(store)
    const waiting = [follower.catchUp(), follower.catchUp()]
    await follower.stop()
    for (const each of await Promise.allSettled(waiting)) assert.equal(each.status, 'rejected')
  })
})
