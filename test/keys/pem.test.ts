import assert from 'node:assert/strict'
import { generateKeyPairSync } from 'node:crypto'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { type PublicKind, readPublicPem } from '../../src/keys/key.ts'
import { PAIRS, toOneLine, toPem, toPrivatePem } from './signing.ts'

const rsa = toPem(PAIRS.rsa.publicKey)
const ec = toPem(PAIRS.p256.publicKey)
const ed = toPem(PAIRS.ed25519.publicKey)
const small = generateKeyPairSync('rsa', { modulusLength: 1024 }).publicKey
const CERTIFICATE = `-----BEGIN CERTIFICATE-----\n${Buffer.alloc(60, 1).toString('base64')}\n-----END CERTIFICATE-----`

describe('public keys in PEM', () => {
  const accepted: [string, PublicKind, string][] = [
    ['RSA', 'rsa', rsa],
    ['RSA on one line', 'rsa', toOneLine(rsa)],
    ['RSA in PKCS#1', 'rsa', PAIRS.rsa.publicKey.export({ format: 'pem', type: 'pkcs1' }).toString()],
    ['EC', 'ec', ec],
    ['EC on one line with \\n at the end', 'ec', ec.replaceAll('\n', '\\n')],
    ['EC with CR LF', 'ec', ec.replaceAll('\n', '\r\n')],
    ['EC with surrounding white space', 'ec', `  ${ec}  `],
    ['EdDSA', 'eddsa', ed],
    ['EdDSA, the larger', 'eddsa', toOneLine(toPem(PAIRS.ed448.publicKey))],
  ]
  for (const [name, kind, text] of accepted) {
    it(`reads ${name}`, () => assert.equal(readPublicPem(text, kind).kind, kind))
  }
  it('is the same key on one line or several', () => {
    const [several, one] = [readPublicPem(rsa, 'rsa'), readPublicPem(toOneLine(rsa), 'rsa')]
    assert.equal('version' in several && several.version, 'version' in one && one.version)
  })

  const refused: [string, PublicKind, string, string][] = [
    ['nothing', 'rsa', '', 'Not a valid key'],
    ['not PEM', 'ec', 'hello', 'Not a valid key'],
    ['base64 without BEGIN and END', 'ec', ec.split('\n')[1] ?? '', 'Not a valid key'],
    ['EC instead of RSA', 'rsa', ec, 'not an RSA public key'],
    ['RSA instead of EC', 'ec', rsa, 'not an EC public key'],
    ['EC instead of EdDSA', 'eddsa', ec, 'not an EdDSA public key'],
    ['a private RSA key', 'rsa', toPrivatePem(PAIRS.rsa.privateKey), 'not an RSA public key'],
    ['a private EC key', 'ec', toPrivatePem(PAIRS.p256.privateKey), 'not an EC public key'],
    ['a certificate', 'rsa', CERTIFICATE, 'not an RSA public key'],
    ['two keys', 'ec', ec + ec, 'Not a valid key'],
    ['a short RSA key', 'rsa', toPem(small), 'an RSA key needs at least 2048 bits'],
    [
      'invalid content between BEGIN and END',
      'ec',
      '-----BEGIN PUBLIC KEY-----\nAAAA\n-----END PUBLIC KEY-----',
      'Not a valid key',
    ],
    ['END with another label than BEGIN', 'ec', ec.replace('END PUBLIC', 'END EC'), 'Not a valid key'],
  ]
  for (const [name, kind, text, reason] of refused) {
    it(`refuses ${name}`, () => {
      const made = readPublicPem(text, kind)
      assert.equal(made.kind === 'problem' && made.reason, reason)
    })
  }

  it('never throws', () => {
    const cut = fc
      .tuple(fc.nat(ec.length), fc.nat(ec.length), fc.string())
      .map(([a, b, mid]) => ec.slice(0, a) + mid + ec.slice(b))
    fc.assert(fc.property(fc.oneof(fc.string(), cut), (text) => void readPublicPem(text, 'ec')))
  })
})
