import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { readDocumentPassword, readSimpleAuthData } from '../../../src/identity/password/password.ts'
import { checkIterations } from '../../../src/identity/password/policy-iterations.ts'

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
    ['zero', pbkdf2(0), 'iterations_too_low'],
    ['beyond counting', pbkdf2(1e300), 'iterations_too_high'],
    ['no number: no iterations to judge, and it never verifies', pbkdf2('1'), undefined],
    [
      'a pseudo-random function nobody knows',
      readDocumentPassword({ password_scheme: 'pbkdf2', pbkdf2_prf: 'md5', iterations: 100, derived_key: '00' }),
      'prf_unknown',
    ],
    ['simple has none', readDocumentPassword({ password_sha: '00' }), undefined],
    ['salted has none', readSimpleAuthData({ method: 'md5', salt: '', hash: '00' }), undefined],
  ]
  for (const [name, password, code] of rows) {
    it(name, () => assert.equal(checkIterations(password, limits)?.code, code))
  }
})
