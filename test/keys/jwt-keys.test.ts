import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { DOCUMENT_TYPES } from '../../src/keys/document-claims.ts'
import { type JwtKeyEntry, readJwtKeys } from '../../src/keys/jwt-keys.ts'
import { verify } from '../../src/keys/verify.ts'
import { makeToken, PAIRS, signerFor, toOneLine, toPem, toPrivatePem } from './signing.ts'

const base64 = (text: string) => Buffer.from(text).toString('base64')
const ec = { ...PAIRS.p256.publicKey.export({ format: 'jwk' }), kid: 'from-set' }
const secretJwk = { kty: 'oct', alg: 'HS256', kid: 'shared', k: Buffer.alloc(32, 9).toString('base64url') }
const ENTRIES: readonly JwtKeyEntry[] = [
  { key: 'hmac:_default', text: 'aGVsbG8=' },
  { key: 'hmac:a:b=c', text: base64('kid with signs') },
  { key: 'hmac:pem', text: base64(toPem(PAIRS.rsa.publicKey)) },
  { key: 'hmac:broken', text: '***' },
  { key: 'rsa:r', text: toOneLine(toPem(PAIRS.rsa.publicKey)) },
  { key: 'rsa:not', text: toPem(PAIRS.p256.publicKey) },
  { key: 'rsa:private', text: toPrivatePem(PAIRS.rsa.privateKey) },
  { key: 'ec:e', text: toPem(PAIRS.p256.publicKey) },
  { key: 'ec:not', text: toPem(PAIRS.rsa.publicKey) },
  { key: 'eddsa:d', text: toPem(PAIRS.ed25519.publicKey) },
  { key: 'jwks:provider', text: JSON.stringify({ keys: [ec] }) },
  { key: 'jwks:shared', text: JSON.stringify({ keys: [secretJwk] }) },
]
const keys = readJwtKeys(ENTRIES)

function outcome(text: string): string {
  const result = verify(text, { types: DOCUMENT_TYPES, findKeys: keys.find })
  return result.kind === 'verified' ? 'verified' : (result.problem?.reason ?? result.reason)
}

const make = (alg: string, key: Parameters<typeof signerFor>[1], kid?: unknown) =>
  makeToken({ alg, kid }, { sub: 'jan' }, signerFor(alg, key))

describe('[jwt_keys]', () => {
  it('verifies the example of CouchDB', () => {
    const vector =
      'eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9.eyJzdWIiOiJqYW4iLCJleHAiOjQxMDI0NDQ4MDAsIl9jb3VjaGRiLnJvbGVzIjpbImEiLCJiIl19.f5NrsEpKOJQBLIf4nnsfKiEok_RstIfzXyXcc8MSMRE'
    const result = verify(vector, { types: DOCUMENT_TYPES, findKeys: keys.find })
    assert.deepEqual(result.kind === 'verified' && result.claims, {
      sub: 'jan',
      exp: 4102444800,
      '_couchdb.roles': ['a', 'b'],
    })
  })

  const rows: [string, string, string][] = [
    ['without a kid, _default is used', make('HS256', 'hello'), 'verified'],
    ['_default by its kid', make('HS512', 'hello', '_default'), 'verified'],
    ['a kid is taken literally', make('HS384', 'kid with signs', 'a:b=c'), 'verified'],
    ['RSA', make('RS256', PAIRS.rsa.privateKey, 'r'), 'verified'],
    ['RSA with PSS', make('PS512', PAIRS.rsa.privateKey, 'r'), 'verified'],
    ['EC', make('ES256', PAIRS.p256.privateKey, 'e'), 'verified'],
    ['EdDSA', make('EdDSA', PAIRS.ed25519.privateKey, 'd'), 'verified'],
    ['a key of a set', make('ES256', PAIRS.p256.privateKey, 'from-set'), 'verified'],
    ['a secret of a set', make('HS256', Buffer.alloc(32, 9), 'shared'), 'verified'],
    [
      'that secret with another algorithm',
      make('HS512', Buffer.alloc(32, 9), 'shared'),
      'the key is not for this algorithm',
    ],
    ['the wrong secret', make('HS256', 'hullo'), 'bad_mac'],
    [
      'the wrong private key',
      make('ES256', PAIRS.p256.privateKey, 'from-set').replace(/.{8}$/, 'AAAAAAAA'),
      'bad_signature',
    ],
    ['an unknown kid', make('HS256', 'hello', 'nope'), 'unknown_kid'],
    ['a kid of another kind', make('HS256', 'hello', 'r'), 'unknown_kid'],
    ['a property of Object.prototype as kid', make('HS256', 'hello', 'constructor'), 'unknown_kid'],
    ['a kid that is a number', make('HS256', 'hello', 1), 'invalid_kid'],
    ['a kid that is null', make('HS256', 'hello', null), 'invalid_kid'],
    ['a secret that is not base64', make('HS256', 'hello', 'broken'), 'Not a valid key'],
    [
      'a secret that is a PEM text',
      make('HS256', toPem(PAIRS.rsa.publicKey), 'pem'),
      'a public key or PEM text is not a secret',
    ],
    ['an EC key under rsa:', make('RS256', PAIRS.rsa.privateKey, 'not'), 'not an RSA public key'],
    ['an RSA key under ec:', make('ES256', PAIRS.p256.privateKey, 'not'), 'not an EC public key'],
    ['a private key', make('RS256', PAIRS.rsa.privateKey, 'private'), 'not an RSA public key'],
    ['an algorithm for another curve', make('ES384', PAIRS.p384.privateKey, 'e'), 'the key is not for this algorithm'],
  ]
  for (const [name, text, expected] of rows) it(`${name}: ${expected}`, () => assert.equal(outcome(text), expected))

  it('names every line that is not a key, and shows nothing of it', () => {
    const names = keys.problems.map(({ name }) => name)
    assert.deepEqual(names, ['hmac:pem', 'hmac:broken', 'rsa:not', 'rsa:private', 'ec:not'])
  })

  const problems: [string, JwtKeyEntry[], string][] = [
    ['an unknown kind', [{ key: 'aes:x', text: '' }], 'expected hmac:, rsa:, ec:, eddsa: or jwks: before the name'],
    ['no kind', [{ key: 'x', text: '' }], 'expected hmac:, rsa:, ec:, eddsa: or jwks: before the name'],
    [
      'a property of Object.prototype as kind',
      [{ key: 'constructor:x', text: '' }],
      'expected hmac:, rsa:, ec:, eddsa: or jwks: before the name',
    ],
    ['an invalid set', [{ key: 'jwks:x', text: '{}' }], 'not a JSON Web Key Set'],
    ['an empty secret', [{ key: 'hmac:x', text: '' }], 'the secret is empty'],
    [
      'a name that another line has',
      [
        { key: 'jwks:x', text: JSON.stringify({ keys: [{ ...ec, kid: 'e' }] }) },
        { key: 'ec:e', text: toPem(PAIRS.p256.publicKey) },
      ],
      'another key is already named ec:e',
    ],
    [
      'a key of a set that is ignored',
      [{ key: 'jwks:x', text: JSON.stringify({ keys: [{ kty: 'AKP' }, ec] }) }],
      'key 0: Not a valid key',
    ],
  ]
  for (const [name, entries, reason] of problems) {
    it(`explains the problem: ${name}`, () =>
      assert.deepEqual(
        readJwtKeys(entries).problems.map((problem) => problem.reason),
        [reason],
      ))
  }

  it('the version changes when a key is changed, added, removed or renamed, not with the order', () => {
    const [first, ...others] = ENTRIES
    assert.ok(first)
    const swapped = [
      { key: 'hmac:x', text: base64('one') },
      { key: 'hmac:y', text: base64('two') },
    ]
    const versions = [
      ENTRIES,
      others,
      [{ ...first, key: 'hmac:other' }, ...others],
      [{ ...first, text: 'aGVsbG9v' }, ...others],
      swapped,
      [
        { key: 'hmac:x', text: base64('two') },
        { key: 'hmac:y', text: base64('one') },
      ],
    ].map((entries) => readJwtKeys(entries).version)
    assert.equal(new Set(versions).size, versions.length)
    assert.equal(readJwtKeys(ENTRIES.toReversed()).version, versions[0])
  })

  it('never throws', () => {
    const kind = fc.constantFrom('hmac:', 'rsa:', 'ec:', 'eddsa:', 'jwks:', '')
    const entry = fc.record({
      key: fc.tuple(kind, fc.string()).map((parts) => parts.join('')),
      text: fc.oneof(fc.string(), fc.json()),
    })
    fc.assert(fc.property(fc.array(entry, { maxLength: 4 }), (entries) => void readJwtKeys(entries)))
  })
})
