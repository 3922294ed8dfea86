import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import {
  createRing,
  describeRing,
  type KeyRing,
  type RingSigner,
  signWithRing,
  verifyWithRing,
} from '../../src/keys/ring.ts'
import { readSecret } from '../../src/keys/secret.ts'
import { makeSigned, PAIRS, toPem, toPrivatePem } from './signing.ts'

function signer(text: string): RingSigner {
  const secret = readSecret(Buffer.from(text))
  assert.ok(secret.kind === 'signer')
  return secret.signer
}
const ONE = signer('jwtsecret-1')
const TWO = signer('jwtsecret-2')
const EC = signer(toPrivatePem(PAIRS.p256.privateKey))
const passive = ({ key, sha256 }: RingSigner) => ({ key: key.verifying, sha256 })

const outcome = (text: string, ring: KeyRing) => {
  const result = verifyWithRing(text, ring)
  return result.kind === 'verified' ? 'verified' : result.reason
}

describe('a key ring', () => {
  it('signs with one key and verifies with all', () => {
    const ring = createRing(ONE, [passive(TWO)])
    assert.equal(outcome(signWithRing(ring, {}), createRing(ONE)), 'verified')
    assert.equal(outcome(signWithRing(createRing(TWO), {}), ring), 'verified')
    assert.equal(outcome(signWithRing(createRing(TWO), {}), createRing(ONE)), 'bad_mac')
  })
  it('verifies the examples of ArangoDB', () => {
    const superuser =
      'eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9.eyJzZXJ2ZXJfaWQiOiJBQkNEIiwiaXNzIjoiYXJhbmdvZGIiLCJleHAiOjQxMDI0NDQ4MDB9.TrB7wwLMAsUoaCtfA9vweZwwIj77tFzcid0q-C-04nY'
    assert.equal(outcome(superuser, createRing(ONE)), 'verified')
    assert.equal(outcome(superuser, createRing(TWO)), 'bad_mac')
  })
  it('never uses a key with an algorithm of another kind', () => {
    const mixed = createRing(ONE, [passive(EC)])
    assert.equal(outcome(makeSigned('ES256', PAIRS.p256.privateKey), mixed), 'verified')
    assert.equal(outcome(makeSigned('ES256', PAIRS.p256.privateKey), createRing(ONE)), 'invalid_alg')
    assert.equal(outcome(makeSigned('HS256', toPem(PAIRS.p256.publicKey)), createRing(EC)), 'invalid_alg')
    assert.equal(outcome(makeSigned('HS256', toPem(PAIRS.p256.publicKey)), mixed), 'bad_mac')
  })
  it('accepts only HS256 and ES256', () => {
    for (const alg of ['HS384', 'HS512'])
      assert.equal(outcome(makeSigned(alg, 'jwtsecret-1'), createRing(ONE)), 'invalid_alg')
  })
  it('requires typ JWT', () => {
    const other = makeSigned('HS256', 'jwtsecret-1').split('.').slice(1).join('.')
    const header = Buffer.from('{"alg":"HS256"}').toString('base64url')
    assert.equal(outcome(`${header}.${other}`, createRing(ONE)), 'invalid_typ')
  })
  it('has another version when a key or the order differs', () => {
    const rings = [createRing(ONE), createRing(TWO), createRing(ONE, [passive(TWO)]), createRing(TWO, [passive(ONE)])]
    assert.equal(new Set(rings.map(({ version }) => version)).size, rings.length)
    assert.equal(createRing(ONE, [passive(TWO)]).version, rings[2]?.version)
  })
  it('cannot be changed', () => {
    const ring = createRing(ONE, [passive(TWO)])
    assert.throws(() => Object.assign(ring, { version: 'x' }), TypeError)
    assert.throws(() => Object.assign(ring.verifying, { 0: passive(TWO) }), TypeError)
  })
  it('is described by digests', () => {
    assert.deepEqual(describeRing(createRing(ONE, [passive(TWO)])), {
      active: { sha256: 'cc8d58f77e7b0e0976f57f346c9d13997af8088c409d630e867de798f8d8515d' },
      passive: [{ sha256: '448a28491967ea4f7599f454af261a685153c27a7d5748456022565947820fb9' }],
    })
  })
})
