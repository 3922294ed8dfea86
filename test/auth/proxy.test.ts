import assert from 'node:assert/strict'
import { createHmac } from 'node:crypto'
import { describe, it } from 'node:test'
import { isProxyToken, mintProxyToken } from '../../src/auth/proxy.ts'

describe('the proxy token', () => {
  const secret = Buffer.from('the_secret')
  const sha256 = '3f0786e96b20b0102b77f1a49c041be6977cfb3bf78c41a12adc121cd9b4e68a'
  const sha1 = '22047ebd7c4ec67dfbcbad7213a693249dbfbf86'
  const rules = { secrets: [secret], algorithms: ['sha256', 'sha1'] }
  const rows: [string, string, boolean, object?][] = [
    ['the vector with SHA-256', sha256, true],
    ['the vector with SHA-1', sha1, true],
    ['capitals', sha256.toUpperCase(), true],
    ['an old secret', sha256, true, { secrets: [Buffer.from('new'), secret] }],
    ['an algorithm that is not listed', sha1, false, { algorithms: ['sha256'] }],
    ['another secret', sha256, false, { secrets: [Buffer.from('x')] }],
    ['no secret', sha256, false, { secrets: [] }],
    ['an empty secret', createHmac('sha256', '').update('foo').digest('hex'), false, { secrets: [Buffer.alloc(0)] }],
    ['nothing', '', false],
    ['not hexadecimal', 'z'.repeat(64), false],
    ['an odd number of digits', sha256.slice(1), false],
    ['well formed but wrong', 'deadbeef', false],
    ['a newline at the end', `${sha256}\n`, false],
    ['far too long', sha256.repeat(100), false],
  ]
  for (const [name, token, expected, other] of rows) {
    it(name, () => assert.equal(isProxyToken(token, 'foo', { ...rules, ...other }), expected))
  }
  it('is for one name', () => assert.equal(isProxyToken(sha256, 'fooo', rules), false))
  it('is made as it is read', () => assert.equal(mintProxyToken('foo', { secret, algorithm: 'sha256' }), sha256))
})
