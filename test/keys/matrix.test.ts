// RFC 8725: an algorithm is bound to the kind, curve and size of its key, not to the token.
import assert from 'node:assert/strict'
import type { KeyObject } from 'node:crypto'
import { describe, it } from 'node:test'
import { ALGORITHMS } from '../../src/keys/algorithms.ts'
import { readJwk } from '../../src/keys/jwk.ts'
import { readJwtKeys } from '../../src/keys/jwt-keys.ts'
import { createHmacKey, isKeyFor, toVerificationKey, type VerificationKey } from '../../src/keys/key.ts'
import { isSignedBy, readSignedText, verify } from '../../src/keys/verify.ts'
import { makeSigned, makeToken, PAIRS, signerFor, toOneLine, toPem } from './signing.ts'

const SECRET = Buffer.alloc(64, 1)

/** Which algorithms each key may be used with. */
const FITS: ReadonlyMap<string, readonly string[]> = new Map([
  ['hmac', ['HS256', 'HS384', 'HS512']],
  ['rsa', ['RS256', 'RS384', 'RS512', 'PS256', 'PS384', 'PS512']],
  ['p256', ['ES256']],
  ['p384', ['ES384']],
  ['p521', ['ES512']],
  ['ed25519', ['EdDSA']],
  ['ed448', ['EdDSA']],
])

const asKey = (made: ReturnType<typeof toVerificationKey>): VerificationKey => {
  assert.ok(made.kind !== 'problem')
  return made
}
const pairs = Object.entries(PAIRS)
const KEYS: [string, VerificationKey][] = [
  ['hmac', asKey(createHmacKey(SECRET))],
  ...pairs.map(([name, { publicKey }]): [string, VerificationKey] => [name, asKey(toVerificationKey(publicKey))]),
]
const WITHOUT_ALG: [string, VerificationKey][] = pairs.map(([name, { publicKey }]) => [
  name,
  asKey(readJwk(publicKey.export({ format: 'jwk' }))),
])

/** A token with this `alg`, really signed by the key where the two go together, else by a key that does go with it. */
function signedFor(alg: string, keyName: string): string {
  const own = FITS.get(keyName)?.includes(alg) ? keyName : [...FITS].find(([, algs]) => algs.includes(alg))?.[0]
  const key = own === 'hmac' ? SECRET : pairs.find(([name]) => name === own)?.[1].privateKey
  assert.ok(key)
  return makeSigned(alg, key)
}

describe('every algorithm with every key', () => {
  for (const [source, keys] of [
    ['as configured', KEYS],
    ['as JWK without alg', WITHOUT_ALG],
  ] as const) {
    for (const alg of ALGORITHMS.keys()) {
      it(`${alg}, ${source}`, () => {
        for (const [name, key] of keys) {
          const signed = readSignedText(signedFor(alg, name))
          assert.ok(signed.kind === 'signed')
          const fits = FITS.get(name)?.includes(alg) === true
          assert.equal(isKeyFor(key, signed.header.algorithm), fits, name)
          assert.equal(isSignedBy(signed, key, signed.header.algorithm), fits, name)
        }
      })
    }
  }

  it('a key with an alg is used with that algorithm only', () => {
    const key = asKey(readJwk({ ...PAIRS.rsa.publicKey.export({ format: 'jwk' }), alg: 'RS256' }))
    const accepted = [...ALGORITHMS.keys()].filter((alg) => {
      const signed = readSignedText(signedFor(alg, 'rsa'))
      return signed.kind === 'signed' && isSignedBy(signed, key, signed.header.algorithm)
    })
    assert.deepEqual(accepted, ['RS256'])
  })

  it('a token is verified only with the algorithm in its header', () => {
    const signed = readSignedText(makeSigned('HS256', SECRET))
    const [hs256, hs512] = [ALGORITHMS.get('HS256'), ALGORITHMS.get('HS512')]
    const [, key] = KEYS[0] ?? []
    assert.ok(signed.kind === 'signed' && key && hs256 && hs512)
    assert.deepEqual([isSignedBy(signed, key, hs256), isSignedBy(signed, key, hs512)], [true, false])
  })
})

describe('a public key is not accepted as a secret', () => {
  const formsOf = (key: KeyObject): [string, Buffer | string][] => {
    const pem = toPem(key)
    const der = key.export({ format: 'der', type: 'spki' })
    return [
      ['PEM', pem],
      ['PEM without the last newline', pem.trimEnd()],
      ['PEM with a leading space', ` ${pem}`],
      ['PEM with a leading newline', `\n${pem}`],
      ['PEM with CR LF', pem.replaceAll('\n', '\r\n')],
      ['PEM on one line as configured', toOneLine(pem)],
      ['PEM on one line, as configured, with its last newline', pem.replaceAll('\n', '\\n')],
      ['PEM without newlines', pem.replaceAll('\n', '')],
      ['body of the PEM', pem.split('\n').slice(1, -2).join('\n')],
      ['DER', der],
      ['DER in base64', der.toString('base64')],
      ['DER in base64url', der.toString('base64url')],
      ['DER in hexadecimal', der.toString('hex')],
      ['JWK', JSON.stringify(key.export({ format: 'jwk' }))],
      ...(key.asymmetricKeyType === 'rsa'
        ? [['older PEM', key.export({ format: 'pem', type: 'pkcs1' }).toString()] as [string, string]]
        : []),
    ]
  }
  const entries = pairs.map(([name, { publicKey }]) => {
    const kind = name.startsWith('p') ? 'ec' : name.startsWith('ed') ? 'eddsa' : 'rsa'
    return { name, publicKey, entry: { key: `${kind}:${name}`, text: toOneLine(toPem(publicKey)) } }
  })
  const keys = readJwtKeys(entries.map(({ entry }) => entry))

  it('all keys of the test are configured', () => assert.deepEqual(keys.problems, []))
  for (const { name, publicKey } of entries) {
    for (const alg of ['HS256', 'HS384', 'HS512']) {
      it(`${alg} signed with the texts of ${name}`, () => {
        for (const [form, secret] of formsOf(publicKey)) {
          const text = makeToken({ alg, kid: name }, { sub: 'jan' }, signerFor(alg, secret))
          const result = verify(text, { types: [undefined], findKeys: keys.find })
          assert.equal(result.kind === 'refused' && result.reason, 'unknown_kid', form)
          const key = asKey(toVerificationKey(publicKey))
          const forced = verify(text, { types: [undefined], findKeys: () => ({ kind: 'keys', keys: [key] }) })
          assert.equal(forced.kind === 'refused' && forced.reason, 'bad_mac', form)
        }
      })
    }
  }
})
