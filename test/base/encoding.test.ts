import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { decodePercent, readBase64 } from '../../src/base/encoding.ts'
import { ANY_CHARACTER } from '../support/any-character.ts'

test('percent-decoding reverses encodeURIComponent', () => {
  fc.assert(fc.property(fc.string({ unit: ANY_CHARACTER }), (text) => decodePercent(encodeURIComponent(text)) === text))
})

test('percent-decoding never throws', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'binary-ascii' }), (text) =>
      ['string', 'undefined'].includes(typeof decodePercent(text)),
    ),
  )
})

test('decodes the base64 of Buffer, with padding and, if lax, without', () => {
  fc.assert(
    fc.property(fc.uint8Array(), (bytes) => {
      const text = Buffer.from(bytes).toString('base64')
      assert.deepEqual(readBase64(text), Buffer.from(bytes))
      assert.deepEqual(readBase64(text.replaceAll('=', ''), 'lax'), Buffer.from(bytes))
    }),
  )
})

for (const [name, text] of [
  ['URL-safe alphabet', 'a-_b'],
  ['padding missing', 'YQ'],
  ['padding too long', 'YQ==='],
  ['padding inside', 'YQ==YQ=='],
  ['one digit', 'YWJjZ'],
  ['foreign character', 'YW!j'],
] as const) {
  test(`rejects as base64: ${name}`, () => assert.equal(readBase64(text), undefined))
}
