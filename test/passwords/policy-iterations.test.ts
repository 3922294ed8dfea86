import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { readDocumentPassword, readSimpleAuthData } from '../../src/passwords/password.ts'
import { checkIterations, isWorthComputing } from '../../src/passwords/policy-iterations.ts'

const limits = { min: 100, max: 1000 }
const pbkdf2 = (iterations: unknown, scheme = 'pbkdf2') =>
  readDocumentPassword({ password_scheme: scheme, iterations, derived_key: '00', salt: 'aa' })

describe('iterations of a user', () => {
  const rows: [string, ReturnType<typeof pbkdf2>, string | undefined][] = [
    ['fewest', pbkdf2(100), undefined],
    ['most', pbkdf2(1000), undefined],
    ['too few', pbkdf2(99), 'iterations_too_low'],
    ['too many', pbkdf2(1001), 'iterations_too_high'],
    ['too few of simple+pbkdf2', pbkdf2(99, 'simple+pbkdf2'), 'iterations_too_low'],
    ['none left out are 10000', pbkdf2(undefined), 'iterations_too_high'],
    ['zero, which never verifies', pbkdf2(0), undefined],
    ['more than can be counted, which never verifies', pbkdf2(1e300), undefined],
    ['no number, which never verifies', pbkdf2('1'), undefined],
    ['simple has none', readDocumentPassword({ password_sha: '00' }), undefined],
    ['salted has none', readSimpleAuthData({ method: 'md5', salt: '', hash: '00' }), undefined],
  ]
  for (const [name, password, code] of rows) {
    it(name, () => assert.equal(checkIterations(password, limits)?.code, code))
  }
})

describe('a password is computed', () => {
  const rows: [string, ReturnType<typeof pbkdf2>, boolean][] = [
    ['within the limit', pbkdf2(1000), true],
    ['up to ten times the limit', pbkdf2(10_000), true],
    ['not beyond that', pbkdf2(10_001), false],
    ['without iterations', readDocumentPassword({ password_sha: '00' }), true],
  ]
  for (const [name, password, expected] of rows) {
    it(name, () => assert.equal(isWorthComputing(password, limits), expected))
  }
})
