import assert from 'node:assert/strict'
import { it } from 'node:test'
import type { HashParameters } from '../../src/passwords/hasher.ts'
import type { StoredPassword } from '../../src/passwords/password.ts'
import { isOutdated } from '../../src/passwords/password-strength.ts'

const TARGET: HashParameters = { scheme: 'pbkdf2', prf: 'sha256', iterations: 600_000 }
const STORED: StoredPassword = { ...TARGET, scheme: 'pbkdf2', salt: 'salt', hash: 'hash' }
const SIMPLE: StoredPassword = { scheme: 'simple', salt: 'salt', hash: 'hash' }
const SALTED: StoredPassword = { scheme: 'salted', method: 'sha512', salt: 'salt', hash: 'hash' }

const ROWS: readonly (readonly [string, StoredPassword, Partial<HashParameters>, boolean])[] = [
  ['the configured form', STORED, {}, false],
  ['fewer iterations than configured', STORED, { iterations: 600_001 }, true],
  ['more iterations than configured', STORED, { iterations: 1 }, false],
  ['SHA-1 with as many iterations', { ...STORED, prf: 'sha' }, {}, true],
  ['SHA-1 with iterations that cost more', { ...STORED, prf: 'sha', iterations: 2_000_000 }, {}, false],
  ['SHA-512 with as many iterations', { ...STORED, prf: 'sha512' }, {}, false],
  ['SHA-512 with iterations that cost less', { ...STORED, prf: 'sha512', iterations: 100_000 }, {}, true],
  ['SHA-224, which costs the same', { ...STORED, prf: 'sha224' }, {}, true],
  ['a simple hash', SIMPLE, { iterations: 1 }, true],
  ['a simple hash where that is configured', SIMPLE, { scheme: 'simple' }, false],
  ['PBKDF2 where a simple hash is configured', STORED, { scheme: 'simple' }, false],
  ['a digest of the other database', SALTED, { iterations: 1 }, true],
  ['a digest of the other database where a simple hash is configured', SALTED, { scheme: 'simple' }, false],
  ['a simple hash inside PBKDF2', { ...STORED, scheme: 'simple+pbkdf2' }, {}, true],
  ['a simple hash inside more iterations', { ...STORED, scheme: 'simple+pbkdf2' }, { iterations: 1 }, false],
  ['no password at all', { scheme: 'unusable', reason: 'absent', members: {} }, {}, false],
]

for (const [what, stored, target, expected] of ROWS) {
  it(`${what} ${expected ? 'is' : 'is not'} hashed again`, () =>
    assert.equal(isOutdated(stored, { ...TARGET, ...target }), expected))
}
