import assert from 'node:assert/strict'
import type { Store } from '../../src/directory/store-port/store.ts'
import type { Bound, UserRange } from '../../src/directory/store-port/users.ts'
import type { StoreTests } from './store.ts'
import { create, deleteIn, listChanges } from './store-values.ts'

/** In the order of their bytes, which is neither that of UTF-16 (last two) nor that of any language. */
const NAMES = ['B', 'a', 'a!', 'ab', 'b', 'z', 'é', '｡', '🦊']

const at = (name: string): Bound => ({ name, isInclusive: true })
const beyond = (name: string): Bound => ({ name, isInclusive: false })

const RANGES: readonly [row: string, range: Omit<UserRange, 'limit'> & { limit?: number }, expected: string[]][] = [
  ['all', {}, NAMES],
  ['all, descending', { descending: true }, NAMES.toReversed()],
  ['limit', { limit: 2 }, ['B', 'a']],
  ['limit, descending', { limit: 2, descending: true }, ['🦊', '｡']],
  ['from', { from: at('b') }, ['b', 'z', 'é', '｡', '🦊']],
  ['beyond', { from: beyond('b') }, ['z', 'é', '｡', '🦊']],
  ['from an unknown name', { from: at('aa') }, ['ab', 'b', 'z', 'é', '｡', '🦊']],
  ['to', { to: at('ab') }, ['B', 'a', 'a!', 'ab']],
  ['to, exclusive', { to: beyond('ab') }, ['B', 'a', 'a!']],
  ['from and to', { from: at('a'), to: at('b') }, ['a', 'a!', 'ab', 'b']],
  ['between', { from: beyond('a'), to: beyond('b') }, ['a!', 'ab']],
  ['one', { from: at('b'), to: at('b') }, ['b']],
  ['none', { from: at('b'), to: beyond('b') }, []],
  ['from after to', { from: at('b'), to: at('a') }, []],
  ['descending from and to', { from: at('b'), to: at('a'), descending: true }, ['b', 'ab', 'a!', 'a']],
  ['descending between', { from: beyond('b'), to: beyond('a'), descending: true }, ['ab', 'a!']],
  ['from U+0000 within', { from: at('a\0zzz') }, ['a!', 'ab', 'b', 'z', 'é', '｡', '🦊']],
  ['to U+0000 within', { to: beyond('a\0') }, ['B', 'a']],
  ['descending from U+0000 within', { from: beyond('a\0x'), descending: true }, ['a', 'B']],
  ['from the highest code point', { from: at('\u{10ffff}') }, []],
  ['to the highest code point', { from: at('é'), to: at('\u{10ffff}') }, ['é', '｡', '🦊']],
  ['from a lone surrogate', { from: at('\ud800') }, ['🦊']],
]

const listed = async (store: Store, range: UserRange): Promise<string[]> =>
  (await store.listUsers(range)).map(({ record }) => record.name)

export const LISTING_TESTS: StoreTests = {
  async 'lists the users of a range in byte order'({ store }) {
    await store.importUsers(NAMES.toReversed().map(create))
    for (const [row, range, expected] of RANGES) {
      assert.deepEqual(await listed(store, { limit: 100, ...range }), expected, row)
    }
  },

  async 'skips tombstones'({ store }) {
    await store.importUsers(['a', 'b', 'c', 'd'].map(create))
    await deleteIn(store, 'b')
    await deleteIn(store, 'c')
    assert.deepEqual(await listed(store, { limit: 2 }), ['a', 'd'])
  },

  async 'paging returns each user once'({ store }) {
    const names = Array.from({ length: 25 }, (_, i) => `user-${String(i).padStart(2, '0')}`)
    await store.importUsers(names.map(create))
    const seen: string[] = []
    for (let page = await listed(store, { limit: 10 }); page.length > 0; ) {
      seen.push(...page)
      page = await listed(store, { limit: 10, from: beyond(page.at(-1) ?? '') })
    }
    assert.deepEqual(seen, names)
  },

  async 'returns each user with record and version'({ store }) {
    await store.importUsers(['a', 'b'].map(create))
    assert.deepEqual(await store.listUsers({ limit: 10 }), [await store.findUser('a'), await store.findUser('b')])
  },

  async 'accepts a limit from 1 to 10000'({ store }) {
    for (const limit of [0, -1, 1.5, Number.NaN, Number.POSITIVE_INFINITY, 10_001]) {
      await assert.rejects(store.listUsers({ limit }), RangeError, String(limit))
      await assert.rejects(listChanges(store, 0, limit), RangeError, String(limit))
      await assert.rejects(store.listEndedSessions(0, limit), RangeError, String(limit))
    }
  },
}
