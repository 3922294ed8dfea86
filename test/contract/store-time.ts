import assert from 'node:assert/strict'
import type { StoreTests } from './store.ts'

const EARLIER = { livedMs: 1_800_000_000_000, agreedMs: 1_700_000_000_000 }
const LATER = { livedMs: 1_900_000_000_000, agreedMs: 1_850_000_000_000 }

export const TIME_TESTS: StoreTests = {
  async 'is not known in a new store'({ store }) {
    const { livedMs, agreedMs } = await store.readTime()
    assert.deepEqual([livedMs, agreedMs], [0, 0])
  },

  async 'is kept, and never goes back'({ store, openAnother }) {
    const other = await openAnother()
    for (const [time, kept] of [
      [EARLIER, EARLIER],
      [LATER, LATER],
      [EARLIER, LATER],
      [
        { ...EARLIER, livedMs: LATER.livedMs + 1 },
        { ...LATER, livedMs: LATER.livedMs + 1 },
      ],
    ] as const) {
      const { clockMs: _clock, ...returned } = await store.keepTime(time)
      const { clockMs: _other, ...read } = await other.readTime()
      assert.deepEqual([returned, read], [kept, kept])
    }
  },

  async 'what an earlier version wrote last counts until a time is kept'({ store, place }) {
    await place.execute('UPDATE cardea_time SET lived_ms = 1900000000000')
    assert.equal((await store.readTime()).livedMs, 1_900_000_000_000)
    assert.equal((await store.keepTime(EARLIER)).livedMs, EARLIER.livedMs)
  },

  async 'has the clock of the database server, if it has one'({ store }) {
    const { clockMs } = await store.readTime()
    if (store.engine === 'sqlite') return assert.equal(clockMs, undefined)
    // the server of the tests runs on this machine
    assert.ok(Math.abs((clockMs ?? 0) - Date.now()) < 5000)
    assert.ok(((await store.keepTime(EARLIER)).clockMs ?? 0) >= (clockMs ?? 0))
  },
}
