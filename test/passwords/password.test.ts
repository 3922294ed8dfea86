import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import {
  readDocumentPassword,
  readSimpleAuthData,
  toDocumentMembers,
  toSimpleAuthData,
} from '../../src/passwords/schemes.ts'

const SALT = '1112283cf988a34f124200a050d308a1'
const SHA1 = 'd4b5d8403f6c1d1c7975fb19cbbacf260cebecdf'
const SHA256 = '292f36dc55501b0c004039b69d0b49035257093c22e1dcf8d4b39fdb7e59c1e2'
const PBKDF2 = {
  password_scheme: 'pbkdf2',
  pbkdf2_prf: 'sha256',
  salt: SALT,
  iterations: 600000,
  derived_key: SHA256,
}
const without = (name: string) => Object.fromEntries(Object.entries(PBKDF2).filter(([key]) => key !== name))

describe('password of a user document, as written', () => {
  const rows: [string, Record<string, unknown>][] = [
    ['pbkdf2', PBKDF2],
    ['simple+pbkdf2', { ...PBKDF2, password_scheme: 'simple+pbkdf2' }],
    ['simple', { password_scheme: 'simple', salt: SALT, password_sha: SHA1 }],
    ['salted', { password_scheme: 'salted', salted_method: 'sha256', salt: '1a2b3c4d', salted_hash: SHA256 }],
  ]
  for (const [name, members] of rows) {
    it(`${name} reads back to the same members in the same order`, () => {
      const password = readDocumentPassword({ _id: 'x', ...members, roles: [], password: 'never looked at' })
      assert.equal(password.scheme, members['password_scheme'])
      assert.deepEqual(Object.entries(toDocumentMembers(password)), Object.entries(members))
    })
  }
})

describe('password of a user document, defaults of missing members', () => {
  const rows: [string, Record<string, unknown>, Record<string, unknown>][] = [
    ['no scheme is simple', { salt: SALT, password_sha: SHA1 }, { scheme: 'simple', salt: SALT, hash: SHA1 }],
    ['no salt is the empty one', { password_sha: SHA1 }, { scheme: 'simple', salt: '', hash: SHA1 }],
    [
      'no PRF is sha, no iterations are 10000, no salt is the empty one',
      { password_scheme: 'pbkdf2', derived_key: SHA1 },
      { scheme: 'pbkdf2', prf: 'sha', iterations: 10000, salt: '', hash: SHA1 },
    ],
  ]
  for (const [name, members, expected] of rows) {
    it(`${name}, and the document still shows what was sent`, () => {
      const password = readDocumentPassword({ ...members, name: 'bob' })
      assert.deepEqual(password, { ...expected, members })
      assert.deepEqual(toDocumentMembers(password), members)
    })
  }
})

it('members of another scheme are shown, but not used', () => {
  const members = { ...PBKDF2, password_sha: SHA1 }
  const password = readDocumentPassword(members)
  assert.equal(password.scheme === 'pbkdf2' && password.hash, SHA256)
  assert.deepEqual(toDocumentMembers(password), members)
})

describe('password of a user document that can never verify', () => {
  const rows: [string, Record<string, unknown>, string][] = [
    ['no members', { name: 'bob', roles: [] }, 'absent'],
    ['a salt alone', { salt: SALT }, 'absent'],
    ['unknown scheme', { ...PBKDF2, password_scheme: 'md5crypt' }, 'scheme'],
    ['scheme in upper case', { ...PBKDF2, password_scheme: 'PBKDF2' }, 'scheme'],
    ['scheme null', { ...PBKDF2, password_scheme: null }, 'scheme'],
    ['scheme of another type', { ...PBKDF2, password_scheme: ['pbkdf2'] }, 'scheme'],
    ['a property of Object.prototype as scheme', { ...PBKDF2, password_scheme: 'constructor' }, 'scheme'],
    ['unknown PRF', { ...PBKDF2, pbkdf2_prf: 'md5' }, 'prf'],
    ['a property of Object.prototype as PRF', { ...PBKDF2, pbkdf2_prf: 'toString' }, 'prf'],
    ['PRF of another type', { ...PBKDF2, pbkdf2_prf: 256 }, 'prf'],
    ['PRF null', { ...PBKDF2, pbkdf2_prf: null }, 'prf'],
    ['salt of another type', { ...PBKDF2, salt: 12 }, 'salt'],
    ['simple with a salt of another type', { password_sha: SHA1, salt: {} }, 'salt'],
    ['iterations as a string', { ...PBKDF2, iterations: '600000' }, 'iterations'],
    ['iterations with a fraction', { ...PBKDF2, iterations: 10.5 }, 'iterations'],
    ['iterations not a number', { ...PBKDF2, iterations: Number.NaN }, 'iterations'],
    ['iterations null', { ...PBKDF2, iterations: null }, 'iterations'],
    ['iterations 0', { ...PBKDF2, iterations: 0 }, 'iterations_too_low'],
    ['iterations negative', { ...PBKDF2, iterations: -1 }, 'iterations_too_low'],
    ['iterations too large for a number', { ...PBKDF2, iterations: 2 ** 31 }, 'iterations_too_high'],
    ['iterations above the maximum', { ...PBKDF2, iterations: 1e300 }, 'iterations_too_high'],
    ['hash missing', without('derived_key'), 'hash'],
    ['hash of another type', { ...PBKDF2, derived_key: { length: 64 } }, 'hash'],
    ['simple named, hash missing', { password_scheme: 'simple', salt: SALT }, 'hash'],
    ['salted by an unknown method', { password_scheme: 'salted', salted_method: 'x', salt: '' }, 'method'],
  ]
  for (const [name, members, reason] of rows) {
    it(name, () => {
      const password = readDocumentPassword({ ...members, color: 'red' })
      assert.equal(password.scheme === 'unusable' ? password.reason : password, reason)
    })
  }

  it('keeps its members for writing, and nothing else', () => {
    const members = { password_scheme: 'md5crypt', salt: [1], iterations: '5' }
    assert.deepEqual(toDocumentMembers(readDocumentPassword({ name: 'bob', ...members })), members)
  })
})

describe('authData.simple of a multi-model user', () => {
  const simple = { method: 'sha256', salt: '1a2b3c4d', hash: SHA256 }

  it('reads back to the same members', () => {
    const password = readSimpleAuthData(simple)
    assert.deepEqual(password, { scheme: 'salted', ...simple })
    assert.deepEqual(Object.entries(toSimpleAuthData(password) ?? {}), Object.entries(simple))
  })

  it('has no form for another scheme', () => assert.equal(toSimpleAuthData(readDocumentPassword(PBKDF2)), undefined))

  const rows: [string, unknown, string][] = [
    ['nothing', undefined, 'absent'],
    ['null', null, 'absent'],
    ['text', 'sha256', 'absent'],
    ['a list', [simple], 'absent'],
    ['an unknown method', { ...simple, method: 'sha3' }, 'method'],
    ['a method in upper case', { ...simple, method: 'SHA256' }, 'method'],
    ['a property of Object.prototype as method', { ...simple, method: '__proto__' }, 'method'],
    ['no method', { salt: '', hash: SHA256 }, 'method'],
    ['no salt', { method: 'sha256', hash: SHA256 }, 'salt'],
    ['a hash of another type', { ...simple, hash: 1 }, 'hash'],
  ]
  for (const [name, value, reason] of rows) {
    it(`${name} never verifies`, () => {
      const password = readSimpleAuthData(value)
      assert.equal(password.scheme === 'unusable' ? password.reason : password, reason)
    })
  }
})
