import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { createLiveCache } from '../../src/base/caches.ts'

const fill = (size: () => number, keys: readonly string[]) => {
  const cache = createLiveCache<{ key: string }>(size)
  for (const key of keys) cache.set(key, { key })
  const held = (all: readonly string[]) => all.filter((key) => cache.get(key))
  return { cache, held }
}

describe('cache whose size may change', () => {
  it('removes the least recently used entry', () => {
    const { cache, held } = fill(() => 2, ['a', 'b'])
    cache.get('a')
    cache.set('c', { key: 'c' })
    assert.deepEqual(held(['a', 'b', 'c']), ['a', 'c'])
  })

  it('keeps the most recently used entries when it shrinks, and all when it grows', () => {
    let size = 4
    const { cache, held } = fill(() => size, ['a', 'b', 'c', 'd'])
    cache.get('b')
    size = 2
    assert.deepEqual(held(['a', 'b', 'c', 'd']), ['b', 'd'])
    size = 3
    cache.set('e', { key: 'e' })
    assert.deepEqual(held(['b', 'd', 'e']), ['b', 'd', 'e'])
  })

  it('deletes one entry, clears all', () => {
    const { cache, held } = fill(() => 4, ['a', 'b', 'c'])
    cache.delete('b')
    assert.deepEqual(held(['a', 'b', 'c']), ['a', 'c'])
    cache.clear()
    assert.deepEqual(held(['a', 'b', 'c']), [])
  })

  for (const size of [0, -5, Number.NaN, 0.5]) {
    it(`of size ${size} holds nothing`, () => assert.deepEqual(fill(() => size, ['a']).held(['a']), []))
  }

  it('allocates at most a million entries', () => {
    assert.deepEqual(fill(() => Number.POSITIVE_INFINITY, ['a', '__proto__']).held(['a', '__proto__']), [
      'a',
      '__proto__',
    ])
  })
})
