import assert from 'node:assert/strict'
import { generateKeyPairSync } from 'node:crypto'
import { describe, it } from 'node:test'
import { createHmacKey, isPemLike, isRocaModulus, toVerificationKey } from '../../src/keys/key.ts'
import { PAIRS, toPem, toPrivatePem } from './signing.ts'

const codeOf = (made: { kind: string; code?: string }) => (made.kind === 'problem' ? made.code : made.kind)

describe('HMAC keys', () => {
  const spki = PAIRS.ed25519.publicKey.export({ format: 'der', type: 'spki' })
  const rows: [string, Buffer, string][] = [
    ['one byte', Buffer.from('x'), 'hmac'],
    ['bytes that are not text', Buffer.from([0, 255, 254]), 'hmac'],
    ['nothing', Buffer.alloc(0), 'empty_secret'],
    ['a public key in PEM', Buffer.from(toPem(PAIRS.rsa.publicKey)), 'public_secret'],
    ['a public key in PEM after a space', Buffer.from(` ${toPem(PAIRS.rsa.publicKey)}`), 'public_secret'],
    ['a private key in PEM', Buffer.from(toPrivatePem(PAIRS.p256.privateKey)), 'public_secret'],
    ['a PEM text without its last line', Buffer.from('-----BEGIN PUBLIC KEY-----\nMFkw'), 'public_secret'],
    ['a public key in DER', spki, 'public_secret'],
    ['an RSA public key in PKCS#1 DER', PAIRS.rsa.publicKey.export({ format: 'der', type: 'pkcs1' }), 'public_secret'],
  ]
  for (const [name, secret, expected] of rows) {
    it(`${name}: ${expected}`, () => assert.equal(codeOf(createHmacKey(secret)), expected))
  }
  it('has another version for other material, algorithm or name', () => {
    const versions = [
      createHmacKey(Buffer.from('a')),
      createHmacKey(Buffer.from('b')),
      createHmacKey(Buffer.from('a'), { alg: 'HS256' }),
      createHmacKey(Buffer.from('a'), { kid: 'HS256' }),
    ].map((key) => 'version' in key && key.version)
    assert.equal(new Set(versions).size, versions.length)
    const again = createHmacKey(Buffer.from('a'))
    assert.equal('version' in again && again.version, versions[0])
  })
  it('recognises PEM in the middle of a larger buffer', () => {
    assert.equal(isPemLike(Buffer.from('xx-----BEGINyy').subarray(2, 6)), false)
    assert.equal(isPemLike(Buffer.from('xx-----BEGINyy').subarray(1)), true)
  })
})

describe('public keys', () => {
  const made = Object.entries(PAIRS).map(([name, pair]) => [name, toVerificationKey(pair.publicKey)] as const)
  it('are classified by kind, curve and size', () => {
    const shapes = made.map(([name, key]) => [name, key.kind, 'curve' in key ? key.curve : 'bits' in key && key.bits])
    assert.deepEqual(shapes, [
      ['rsa', 'rsa', 2048],
      ['p256', 'ec', 'P-256'],
      ['p384', 'ec', 'P-384'],
      ['p521', 'ec', 'P-521'],
      ['ed25519', 'eddsa', 'Ed25519'],
      ['ed448', 'eddsa', 'Ed448'],
    ])
  })
  const refused: [string, () => { publicKey: Parameters<typeof toVerificationKey>[0] }, string][] = [
    ['RSA of 1024 bits', () => generateKeyPairSync('rsa', { modulusLength: 1024 }), 'short_rsa'],
    ['RSA bound to PSS', () => generateKeyPairSync('rsa-pss', { modulusLength: 2048 }), 'invalid'],
    ['the curve secp256k1', () => generateKeyPairSync('ec', { namedCurve: 'secp256k1' }), 'unknown_curve'],
    ['a key for key agreement', () => generateKeyPairSync('x25519'), 'invalid'],
  ]
  for (const [name, generate, expected] of refused) {
    it(`${name}: ${expected}`, () => assert.equal(codeOf(toVerificationKey(generate().publicKey)), expected))
  }
})

describe('weak moduli', () => {
  it('recognises products of powers of 65537 by their remainders', () => {
    assert.equal(isRocaModulus(65_537n ** 9n), true)
    assert.equal(isRocaModulus(65_537n ** 9n + 1n), false)
  })
})
