import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { mintCookie, readCookie, type SignatureRules } from '../../../src/auth/session/cookie-value.ts'
import { createSignatureMemory } from '../../../src/auth/session/signature-memory.ts'

const SECRET = Buffer.from('a secret of this test')
const RULES: SignatureRules = { secrets: [SECRET], salt: 'salt:1:600', algorithms: ['sha256', 'sha1'] }

function read(name: string) {
  const value = mintCookie(
    { name, issuedAt: 0x66000000, id: Buffer.alloc(16, 7) },
    { secret: SECRET, salt: RULES.salt, algorithm: 'sha256' },
  )
  const cookie = readCookie(value)
  assert.ok(cookie)
  return cookie
}

describe('a remembered signature', () => {
  const rows: [string, Partial<SignatureRules>, boolean][] = [
    ['is found again', {}, true],
    ['is found with its secret among others', { secrets: [Buffer.from('newer'), SECRET] }, true],
    ['is not found after its secret is removed', { secrets: [Buffer.from('newer')] }, false],
    ['is not found without any secret', { secrets: [] }, false],
    ['is not found after its algorithm is removed', { algorithms: ['sha1'] }, false],
    ['is not found after the password, the session epoch or the timeout changed', { salt: 'salt:2:600' }, false],
  ]
  for (const [title, change, isFound] of rows)
    it(title, () => {
      const findSignature = createSignatureMemory()
      const cookie = read('ann')
      assert.ok(findSignature(cookie, RULES))
      assert.equal(findSignature(cookie, { ...RULES, ...change }) !== undefined, isFound)
    })

  it('is not found for another cookie', () => {
    const findSignature = createSignatureMemory()
    const cookie = read('ann')
    assert.ok(findSignature(cookie, RULES))
    const tail = Buffer.from(cookie.tail)
    tail[tail.length - 1] = (tail.at(-1) ?? 0) ^ 1
    const forged = readCookie(Buffer.concat([cookie.head, Buffer.from(':'), tail]).toString('base64url'))
    assert.ok(forged)
    assert.equal(findSignature(forged, RULES), undefined)
  })
})
