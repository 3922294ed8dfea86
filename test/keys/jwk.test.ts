import assert from 'node:assert/strict'
import type { KeyObject } from 'node:crypto'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { readJwk, readJwkSet } from '../../src/keys/jwk.ts'
import { PAIRS, toPem } from './signing.ts'

const jwk = (key: KeyObject) => key.export({ format: 'jwk' }) as Record<string, string> // public keys have texts only
const OURS = { secrets: true }
const k = Buffer.alloc(64, 7).toString('base64url')
const ec = jwk(PAIRS.p256.publicKey)
const rsa = jwk(PAIRS.rsa.publicKey)
const ed = jwk(PAIRS.ed25519.publicKey)

describe('JSON Web Keys', () => {
  const rows: [string, unknown, string][] = [
    ['RSA', rsa, 'rsa'],
    ['RSA with its algorithm', { ...rsa, alg: 'PS384' }, 'rsa'],
    ['EC', { ...ec, use: 'sig', key_ops: ['verify'], kid: 'a', x5u: 'http://example.com' }, 'ec'],
    ['EC of every curve', jwk(PAIRS.p521.publicKey), 'ec'],
    ['EdDSA', { ...ed, alg: 'EdDSA' }, 'eddsa'],
    ['EdDSA, the larger', jwk(PAIRS.ed448.publicKey), 'eddsa'],
    ['an HMAC secret', { kty: 'oct', k, alg: 'HS512' }, 'hmac'],
    ['a secret without algorithm', { kty: 'oct', k }, 'wrong_algorithm'],
    ['a secret with the algorithm of another kind', { kty: 'oct', k, alg: 'RS256' }, 'wrong_algorithm'],
    ['a secret shorter than its digest', { kty: 'oct', k: k.slice(0, 40), alg: 'HS256' }, 'short_secret'],
    [
      'a secret that is a PEM text',
      { kty: 'oct', k: Buffer.from(toPem(PAIRS.p256.publicKey)).toString('base64url'), alg: 'HS256' },
      'public_secret',
    ],
    ['a secret that is not base64url', { kty: 'oct', k: `${k.slice(0, -2)}==`, alg: 'HS256' }, 'invalid'],
    ['a private key', jwk(PAIRS.p256.privateKey), 'private_key'],
    ['a key for encryption', { ...rsa, use: 'enc' }, 'foreign_use'],
    ['a key that only signs', { ...rsa, key_ops: ['sign'] }, 'foreign_use'],
    ['key_ops that is not a list', { ...rsa, key_ops: 'verify' }, 'foreign_use'],
    ['an algorithm of another kind', { ...rsa, alg: 'ES256' }, 'wrong_algorithm'],
    ['an algorithm of another curve', { ...ec, alg: 'ES384' }, 'wrong_algorithm'],
    ['an unknown algorithm', { ...ec, alg: 'none' }, 'wrong_algorithm'],
    ['an algorithm that is not a string', { ...ec, alg: 256 }, 'invalid'],
    ['a kid that is not a string', { ...ec, kid: {} }, 'invalid'],
    ['an unknown kty', { ...ec, kty: 'constructor' }, 'invalid'],
    ['an unknown curve', { ...ec, crv: '__proto__' }, 'unknown_curve'],
    ['a curve that cannot be converted to a string', { ...ec, crv: { toString: 1, valueOf: 1 } }, 'unknown_curve'],
    ['a curve of another kind', { ...ec, crv: 'Ed25519' }, 'unknown_curve'],
    ['another curve', { ...ec, crv: 'P-384' }, 'invalid'],
    ['a point that is not on the curve', { ...ec, y: ec['x'] }, 'invalid'],
    ['a point without y', { ...ec, y: undefined }, 'invalid'],
    ['coordinates with padding', { ...ec, x: `${ec['x']}=` }, 'invalid'],
    ['an exponent of one', { ...rsa, e: 'AQ' }, 'invalid'],
    ['an array', [ec], 'invalid'],
    ['null', null, 'invalid'],
    ['a string', 'x', 'invalid'],
  ]
  for (const [name, value, expected] of rows) {
    it(`${name}: ${expected}`, () => {
      const made = readJwk(value, OURS)
      assert.equal(made.kind === 'problem' ? made.code : made.kind, expected)
    })
  }
  it('accepts a secret only if allowed', () => {
    const made = readJwk({ kty: 'oct', k, alg: 'HS256' })
    assert.equal(made.kind === 'problem' && made.code, 'secret_not_allowed')
  })
  it('never throws', () => {
    const member = fc.constantFrom('kty', 'crv', 'x', 'y', 'n', 'e', 'k', 'alg', 'use', 'key_ops', 'kid')
    const value = fc.oneof(
      fc.jsonValue(),
      fc.constantFrom('EC', 'RSA', 'OKP', 'oct', 'P-256', 'Ed25519', 'sig', 'HS256', k),
    )
    fc.assert(fc.property(fc.dictionary(member, value), (object) => void readJwk(object, OURS)))
  })
})

describe('JSON Web Key Sets', () => {
  const set = (...keys: unknown[]) => JSON.stringify({ keys })
  const read = (text: string) => {
    const made = readJwkSet(text, OURS)
    return made.kind === 'set' ? [made.keys.length, made.ignored.map(({ problem }) => problem.code)] : made.reason
  }
  const secret = { kty: 'oct', k, alg: 'HS256', kid: 's' }
  const rows: [string, string, unknown][] = [
    ['public keys', set({ ...ec, kid: 'a' }, { ...rsa, kid: 'b' }, ed), [3, []]],
    ['secrets', set(secret, { ...secret, kid: 't' }), [2, []]],
    [
      'a set with a key for encryption',
      set({ ...ec, kid: 'a' }, { ...rsa, kid: 'a', use: 'enc' }),
      [1, ['foreign_use']],
    ],
    ['a set with a key of an unknown kind', set({ kty: 'AKP', kid: 'pq' }, { ...ec, kid: 'a' }), [1, ['invalid']]],
    ['keys that are not objects', set(null, 3, ec), [1, ['invalid', 'invalid']]],
    ['a repeated kid', set({ ...ec, kid: 'a' }, { ...rsa, kid: 'a' }), 'two keys of the set have the same kid'],
    ['two keys without kid', set(ec, rsa), 'two keys of the set have the same kid'],
    ['secrets and public keys', set(secret, ec), 'the set mixes secrets and public keys'],
    ['a private key', set({ ...jwk(PAIRS.ed25519.privateKey), kid: 'p' }, ec), 'the set holds a private key'],
    ['no key', set(), 'the set has no key to verify with'],
    ['too many keys', set(...Array.from({ length: 101 }, () => ec)), 'more than 100 keys'],
    ['not a list', '{"keys":{}}', 'not a JSON Web Key Set'],
    ['a key instead of a set', JSON.stringify(ec), 'not a JSON Web Key Set'],
    ['a repeated member', '{"keys":[],"keys":[]}', 'not a JSON Web Key Set'],
    ['not JSON', 'keys', 'not a JSON Web Key Set'],
    ['too large', `${set(ec)}${' '.repeat(1_048_576)}`, 'not a JSON Web Key Set'],
  ]
  for (const [name, text, expected] of rows) it(name, () => assert.deepEqual(read(text), expected))
})
