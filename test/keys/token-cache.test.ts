import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { createTokenCache } from '../../src/keys/token-cache.ts'

const TOKEN = { token: 'a.b.c', version: 'v1' }

describe('remembered tokens', () => {
  it('are found with the same keys', () => {
    const cache = createTokenCache<string>()
    cache.remember(TOKEN, 'claims', 100)
    assert.equal(cache.find(TOKEN, 99), 'claims')
    assert.equal(cache.find({ ...TOKEN, token: 'a.b.d' }, 99), undefined)
    assert.equal(cache.find({ ...TOKEN, version: 'v2' }, 99), undefined)
    assert.equal(cache.find(TOKEN, 99), undefined, 'and are forgotten when the keys change')
  })
  it('are not found after they expire', () => {
    const cache = createTokenCache<string>()
    cache.remember(TOKEN, 'claims', 100)
    assert.equal(cache.find(TOKEN, 100), undefined)
    assert.equal(cache.find(TOKEN, 50), undefined, 'and are forgotten then')
  })
  it('are kept if they do not expire', () => {
    const cache = createTokenCache<string>()
    cache.remember(TOKEN, 'claims', undefined)
    assert.equal(cache.find(TOKEN, Number.MAX_SAFE_INTEGER), 'claims')
  })
  it('are removed on request', () => {
    const cache = createTokenCache<string>()
    cache.remember(TOKEN, 'claims', 100)
    cache.clear()
    assert.equal(cache.find(TOKEN, 0), undefined)
  })
  it('are limited in number, least recently used first', () => {
    const cache = createTokenCache<number>({ entries: 2, characters: 1000 })
    const withText = (token: string) => ({ ...TOKEN, token })
    cache.remember(withText('1'), 1, undefined)
    cache.remember(withText('2'), 2, undefined)
    cache.find(withText('1'), 0)
    cache.remember(withText('3'), 3, undefined)
    assert.deepEqual(
      ['1', '2', '3'].map((token) => cache.find(withText(token), 0)),
      [1, undefined, 3],
    )
  })
  it('are limited in size', () => {
    const cache = createTokenCache<number>({ entries: 100, characters: 30 })
    const withText = (token: string) => ({ ...TOKEN, token: token.repeat(12) })
    for (const token of ['1', '2', '3']) cache.remember(withText(token), Number(token), undefined)
    assert.deepEqual(
      ['1', '2', '3'].map((token) => cache.find(withText(token), 0)),
      [undefined, 2, 3],
    )
  })
})
