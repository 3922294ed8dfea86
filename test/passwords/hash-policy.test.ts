import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { checkIterations, isAffordable, isOutdated, isWorthComputing } from '../../src/passwords/hash-policy.ts'
import type { HashParameters } from '../../src/passwords/schemes/scheme.ts'
import { readDocumentPassword, readSimpleAuthData, type StoredPassword } from '../../src/passwords/schemes.ts'

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
    ['the default of 10000', pbkdf2(undefined), 'iterations_too_high'],
    ['zero, which never verifies', pbkdf2(0), undefined],
    ['too large for a number, which never verifies', pbkdf2(1e300), undefined],
    ['not a number, which never verifies', pbkdf2('1'), undefined],
    ['simple has no iterations', readDocumentPassword({ password_sha: '00' }), undefined],
    ['salted has no iterations', readSimpleAuthData({ method: 'md5', salt: '', hash: '00' }), undefined],
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

const TARGET: HashParameters = { scheme: 'pbkdf2', prf: 'sha256', iterations: 600_000 }
const STORED: StoredPassword = { ...TARGET, scheme: 'pbkdf2', salt: 'salt', hash: 'hash' }
const SIMPLE: StoredPassword = { scheme: 'simple', salt: 'salt', hash: 'hash' }
const SALTED: StoredPassword = { scheme: 'salted', method: 'sha512', salt: 'salt', hash: 'hash' }

const ROWS: readonly (readonly [string, StoredPassword, Partial<HashParameters>, boolean])[] = [
  ['the configured form', STORED, {}, false],
  ['fewer iterations than configured', STORED, { iterations: 600_001 }, true],
  ['more iterations than configured', STORED, { iterations: 1 }, false],
  ['fewer iterations than the most that is verified', STORED, { iterations: 6_000_000 }, true],
  ['a form that would not be verified', STORED, { iterations: 6_000_001 }, false],
  ['SHA-1 with as many iterations', { ...STORED, prf: 'sha' }, {}, true],
  ['SHA-1 with iterations of a higher cost', { ...STORED, prf: 'sha', iterations: 2_000_000 }, {}, false],
  ['SHA-512 with as many iterations', { ...STORED, prf: 'sha512' }, {}, false],
  ['SHA-512 with iterations of a lower cost', { ...STORED, prf: 'sha512', iterations: 100_000 }, {}, true],
  ['SHA-224, which costs the same', { ...STORED, prf: 'sha224' }, {}, true],
  ['a simple hash', SIMPLE, { iterations: 1 }, true],
  ['a simple hash if that is configured', SIMPLE, { scheme: 'simple' }, false],
  ['PBKDF2 if a simple hash is configured', STORED, { scheme: 'simple' }, false],
  ['a digest of ArangoDB', SALTED, { iterations: 1 }, true],
  ['a digest of ArangoDB if a simple hash is configured', SALTED, { scheme: 'simple' }, false],
  ['a simple hash inside PBKDF2', { ...STORED, scheme: 'simple+pbkdf2' }, {}, true],
  ['a simple hash inside more iterations', { ...STORED, scheme: 'simple+pbkdf2' }, { iterations: 1 }, false],
  ['no password at all', { scheme: 'unusable', reason: 'absent', members: {} }, {}, false],
]

for (const [what, stored, target, expected] of ROWS) {
  it(`${what} ${expected ? 'is' : 'is not'} hashed again`, () =>
    assert.equal(isOutdated(stored, { ...TARGET, ...target }), expected))
}

describe('the highest cost of a check', () => {
  const stored = (prf: 'sha' | 'sha256' | 'sha512', iterations: number): StoredPassword => ({
    ...STORED,
    prf,
    iterations,
  })
  const rows: readonly (readonly [string, StoredPassword, boolean])[] = [
    ['6 000 000 iterations of SHA-256', stored('sha256', 6_000_000), true],
    ['one more', stored('sha256', 6_000_001), false],
    ['2 100 000 of SHA-512', stored('sha512', 2_100_000), true],
    ['one more of SHA-512', stored('sha512', 2_100_001), false],
    ['13 000 000 of SHA-1', stored('sha', 13_000_000), true],
    ['a single digest', SALTED, true],
  ]
  for (const [name, password, expected] of rows) {
    it(`${name}: ${expected ? 'computed' : 'not computed'}`, () => assert.equal(isAffordable(password), expected))
  }
})
