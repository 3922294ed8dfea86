import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import {
  createAccessToken,
  findActiveToken,
  findTokenUser,
  toFingerprint,
  toTokenDigest,
} from '../../src/identity/access-token.ts'

const make = (user = 'ann', validUntil = 200) => createAccessToken({ user, name: 'x', createdAt: 100, validUntil })

describe('access tokens', () => {
  it('say whose they are, and are kept as a digest', () => {
    const { text, token } = make()
    assert.equal(findTokenUser(text), 'ann')
    assert.equal(token.digest, toTokenDigest(text))
    assert.ok(!JSON.stringify(token).includes(text))
  })
  it('are never the same twice', () => {
    assert.equal(new Set(Array.from({ length: 1000 }, () => make().text)).size, 1000)
  })
  it('carry any name', () => {
    fc.assert(
      fc.property(
        fc.string({ unit: 'binary', maxLength: 60 }).filter((text) => text.isWellFormed()),
        (name) => assert.equal(findTokenUser(make(name).text), name),
      ),
    )
  })
  it('are good until their end, to the second', () => {
    const { text, token } = make()
    const tokens = [
      { id: 1, ...make().token },
      { id: 2, ...token },
    ]
    assert.equal(findActiveToken(tokens, text, 199)?.id, 2)
    assert.equal(findActiveToken(tokens, text, 200), undefined)
    assert.equal(findActiveToken(tokens, make().text, 100), undefined)
  })
  it('have a fingerprint of the first three and the last six characters', () => {
    assert.equal(toFingerprint('v1.7b2256227d'), 'v1...56227d')
  })
  it('any other text is none, and throws nothing', () => {
    fc.assert(fc.property(fc.string(), (text) => void findTokenUser(text)))
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 200 }), (bytes) => {
        findTokenUser(`v1.${Buffer.from(bytes).toString('hex')}`)
      }),
    )
    for (const text of ['', 'v1.', 'v2.7b7d', 'v1.7B7D', 'v1.7b7', ' v1.7b7d', `v1.${'00'.repeat(5000)}`]) {
      assert.equal(findTokenUser(text), undefined, text)
    }
  })
})
