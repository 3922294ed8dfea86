import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { createLruCache } from '../../src/base/caches.ts'

describe('least recently used cache', () => {
  it('keeps no more than the given number of entries', () => {
    const cache = createLruCache<number>(100)
    for (let key = 0; key < 1000; key += 1) cache.set(String(key), key)
    assert.deepEqual([cache.size, cache.get('899'), cache.get('900')], [100, undefined, 900])
  })

  it('replaces an entry without removing another', () => {
    const cache = createLruCache<number>(2)
    for (const key of ['a', 'b', 'b', 'b']) cache.set(key, 1)
    assert.deepEqual([cache.get('a'), cache.get('b')], [1, 1])
  })

  it('forgets an entry at the end of its life', () => {
    const cache = createLruCache<true>(2, { ttl: 1, ttlResolution: 0 })
    cache.set('a', true)
    const until = performance.now() + 5
    while (performance.now() < until);
    assert.equal(cache.get('a'), undefined)
  })
})
