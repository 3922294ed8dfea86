import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import {
  createAccessToken,
  findActiveToken,
  findTokenUser,
  toFingerprint,
  toTokenDigest,
} from '../../src/directory/access-token.ts'
import { ANY_CHARACTER } from '../support/any-character.ts'

const make = (user = 'ann', validUntil = 200) => createAccessToken({ user, name: 'x', createdAt: 100, validUntil })

describe('access tokens', () => {
  it('contain the name of the owner, and are stored as a digest', () => {
    const { text, token } = make()
    assert.equal(findTokenUser(text), 'ann')
    assert.equal(token.digest, toTokenDigest(text))
    assert.ok(!JSON.stringify(token).includes(text))
  })
  it('are never the same twice', () => {
    assert.equal(new Set(Array.from({ length: 1000 }, () => make().text)).size, 1000)
  })
  it('can contain any name', () => {
    fc.assert(
      fc.property(fc.string({ unit: ANY_CHARACTER, maxLength: 60 }), (name) =>
        assert.equal(findTokenUser(make(name).text), name),
      ),
    )
  })
  it('are valid until they expire, to the second', () => {
    const { text, token } = make()
    const tokens = [
      { id: 1, ...make().token },
      { id: 2, ...token },
    ]
    const owner = { tokens, sessionEpoch: { generation: 0, seconds: 0 } }
    assert.equal(findActiveToken(owner, text, 199)?.id, 2)
    assert.equal(findActiveToken(owner, text, 200), undefined)
    assert.equal(findActiveToken(owner, make().text, 100), undefined)
  })
  it('are valid only in their own generation', () => {
    const { text, token } = make()
    const inGeneration = (generation: number) => ({
      tokens: [{ id: 1, ...token, generation: 2 }],
      sessionEpoch: { generation, seconds: 0 },
    })
    for (const [generation, id] of [
      [1, undefined],
      [2, 1],
      [3, undefined],
    ] as const) {
      assert.equal(findActiveToken(inGeneration(generation), text, 100)?.id, id, `generation ${generation}`)
    }
  })
  it('have a fingerprint of the first three and the last six characters', () => {
    assert.equal(toFingerprint('v1.7b2256227d'), 'v1...56227d')
  })
  it('any other text is not an access token, and does not throw', () => {
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
