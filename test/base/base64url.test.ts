import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { readBase64Url, toBase64Url } from '../../src/base/encoding.ts'

describe('canonical base64url', () => {
  const refused: [string, string][] = [
    ['padding', 'Zm8='],
    ['the standard alphabet', 'a+/b'],
    ['a blank inside', 'Zm 9v'],
    ['a newline at the end', 'Zm9v\n'],
    ['a length that no bytes have', 'Zm9vY'],
    ['stray bits after one byte', 'Zh'],
    ['stray bits after two bytes', 'Zm9'],
    ['a character beyond ASCII', 'Zm9vé'],
    ['a look-alike beyond Latin-1', 'Zm9\u0176'],
    ['a zero character', 'Zm9v\0'],
    ['a dot', 'Zm.v'],
  ]
  for (const [name, text] of refused) it(`refuses ${name}`, () => assert.equal(readBase64Url(text), undefined))

  it('reads nothing as nothing', () => assert.equal(readBase64Url('')?.length, 0))
  it('reads what it writes', () => {
    fc.assert(
      fc.property(fc.uint8Array(), (bytes) => assert.deepEqual(readBase64Url(toBase64Url(bytes)), Buffer.from(bytes))),
    )
  })
  it('has one spelling for any bytes', () => {
    const text = fc.string({ unit: fc.constantFrom(...'AQgwZ_-+/= .é') })
    fc.assert(
      fc.property(text, (spelling) => {
        const bytes = readBase64Url(spelling)
        if (bytes) assert.equal(toBase64Url(bytes), spelling)
      }),
    )
  })
})
