import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { createTokenCache, toCacheKey } from '../../src/keys/token-cache.ts'

const PLACE = { door: 'document', version: 'v1', token: 'a.b.c' }

describe('remembered tokens', () => {
  it('are found at the same door, with the same keys', () => {
    const cache = createTokenCache<string>()
    cache.remember(PLACE, 'claims', 100)
    assert.equal(cache.find(PLACE, 99), 'claims')
    assert.equal(cache.find({ ...PLACE, door: 'multi-model' }, 99), undefined)
    assert.equal(cache.find({ ...PLACE, version: 'v2' }, 99), undefined)
    assert.equal(cache.find({ ...PLACE, token: 'a.b.d' }, 99), undefined)
  })
  it('are not found after they expire', () => {
    const cache = createTokenCache<string>()
    cache.remember(PLACE, 'claims', 100)
    assert.equal(cache.find(PLACE, 100), undefined)
    assert.equal(cache.find(PLACE, 50), undefined, 'and are forgotten then')
  })
  it('are kept if they do not expire', () => {
    const cache = createTokenCache<string>()
    cache.remember(PLACE, 'claims', undefined)
    assert.equal(cache.find(PLACE, Number.MAX_SAFE_INTEGER), 'claims')
  })
  it('are removed on request', () => {
    const cache = createTokenCache<string>()
    cache.remember(PLACE, 'claims', 100)
    cache.clear()
    assert.equal(cache.find(PLACE, 0), undefined)
  })
  it('are limited in number, least recently used first', () => {
    const cache = createTokenCache<number>({ entries: 2, characters: 1000 })
    const place = (token: string) => ({ ...PLACE, token })
    cache.remember(place('1'), 1, undefined)
    cache.remember(place('2'), 2, undefined)
    cache.find(place('1'), 0)
    cache.remember(place('3'), 3, undefined)
    assert.deepEqual(
      ['1', '2', '3'].map((token) => cache.find(place(token), 0)),
      [1, undefined, 3],
    )
  })
  it('are limited in size', () => {
    const cache = createTokenCache<number>({ entries: 100, characters: 30 })
    const place = (token: string) => ({ ...PLACE, token: token.repeat(12) })
    for (const token of ['1', '2', '3']) cache.remember(place(token), Number(token), undefined)
    assert.deepEqual(
      ['1', '2', '3'].map((token) => cache.find(place(token), 0)),
      [undefined, 2, 3],
    )
  })
  it('never share an entry', () => {
    const text = fc.string({ unit: fc.constantFrom('1', ':', 'a', '.', '2', '\u{d800}', '\u{fffd}'), maxLength: 6 })
    const remembered = fc.record({
      door: text,
      version: text,
      token: fc.string({ unit: 'binary-ascii', maxLength: 6 }),
    })
    const given = fc.record({ door: text, version: text, token: text })
    fc.assert(
      fc.property(remembered, fc.oneof(remembered, given), (a, b) => {
        const isSame = a.door === b.door && a.version === b.version && a.token === b.token
        assert.equal(toCacheKey(a) === toCacheKey(b), isSame)
      }),
      { numRuns: 5000 },
    )
  })
  it('never share an entry if characters move from one part to the next', () => {
    fc.assert(
      fc.property(fc.string({ maxLength: 12 }), fc.nat(12), fc.nat(12), fc.nat(12), fc.nat(12), (all, ...cuts) => {
        const cut = (i: number, j: number) => {
          const [from = 0, to = 0] = [cuts[i] ?? 0, cuts[j] ?? 0].sort((a, b) => a - b)
          return { door: all.slice(0, from), version: all.slice(from, to), token: all.slice(to) }
        }
        const [a, b] = [cut(0, 1), cut(2, 3)]
        assert.equal(toCacheKey(a) === toCacheKey(b), a.door === b.door && a.version === b.version)
      }),
      { numRuns: 2000 },
    )
  })
  it('are stored without the token', () =>
    assert.equal(toCacheKey({ ...PLACE, token: 'x.secret.z' }).includes('secret'), false))
})
