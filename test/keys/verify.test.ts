import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import fc from 'fast-check'
import { createHmacKey, type VerificationKey } from '../../src/keys/key.ts'
import { readSecret } from '../../src/keys/secret.ts'
import { signToken } from '../../src/keys/sign.ts'
import { MAX_TOKEN_CHARACTERS, type TokenRules, verify } from '../../src/keys/verify.ts'
import { encode, makeToken, PAIRS, signerFor, toPrivatePem } from './signing.ts'

const SECRET = Buffer.from('a secret of thirty-two bytes, ok')
const key = createHmacKey(SECRET) as VerificationKey // a good secret makes a key
const rules: TokenRules = { types: [undefined, 'JWT'], findKeys: () => ({ kind: 'keys', keys: [key] }) }
const sign = signerFor('HS256', SECRET)
const make = (header: unknown, payload: unknown = { sub: 'jan' }) => makeToken(header, payload, sign)
const HEAD = { alg: 'HS256' }

const collectGarbage = (): void => {
  setFlagsFromString('--expose-gc')
  runInNewContext('gc')()
}

/** A valid token of exactly so many characters. The header fills the rest that a payload cannot. */
function makeLong(characters: number): string {
  for (const typ of ['JWT', undefined]) {
    const fill = (bytes: number) => make({ ...HEAD, ...(typ === undefined ? {} : { typ }) }, { sub: 'x'.repeat(bytes) })
    const about = Math.floor(((characters - fill(0).length) * 3) / 4)
    const text = [about - 1, about, about + 1].map(fill).find(({ length }) => length === characters)
    if (text !== undefined) return text
  }
  throw new Error('there is none of that length')
}

function outcome(text: string, by: TokenRules = rules): string {
  const result = verify(text, by)
  return result.kind === 'refused' ? result.reason : result.kind
}

describe('reading a token', () => {
  const good = make(HEAD)
  const [head = '', body = '', mac = ''] = good.split('.')
  const rows: [string, string, string][] = [
    ['a signed object', good, 'verified'],
    ['an empty object', make(HEAD, {}), 'verified'],
    ['white space in the header', make('{ "alg" :\n"HS256" }'), 'verified'],
    ['nothing', '', 'malformed'],
    ['one part', 'notajwt', 'malformed'],
    ['two parts', `${head}.${body}`, 'malformed'],
    ['four parts', `${good}.`, 'malformed'],
    ['five parts, as if encrypted', `${good}.a.b`, 'malformed'],
    ['padding', `${head}.${body}.${mac}=`, 'malformed'],
    ['a leading space', ` ${good}`, 'malformed'],
    ['a newline at the end', `${good}\n`, 'malformed'],
    ['JSON serialization', JSON.stringify({ protected: head, payload: body, signature: mac }), 'malformed'],
    ['a header that is not JSON', make('{'), 'malformed'],
    [
      'a header that is not UTF-8',
      makeToken('', {}, sign).replace('.', `${Buffer.from([0xff]).toString('base64url')}.`),
      'malformed',
    ],
    ['a header with a byte order mark', make(`\ufeff${JSON.stringify(HEAD)}`), 'malformed'],
    ['a header with a repeated alg', make('{"alg":"HS256","alg":"none"}'), 'malformed'],
    ['a header that is an array', make([]), 'not_an_object'],
    ['a header that is null', make(null), 'not_an_object'],
    ['no alg', make({ typ: 'JWT' }), 'missing_alg'],
    ['alg none', make({ alg: 'none' }), 'invalid_alg'],
    ['alg NoNe', make({ alg: 'NoNe' }), 'invalid_alg'],
    ['alg null', make({ alg: null }), 'invalid_alg'],
    ['alg in a list', make({ alg: ['HS256'] }), 'invalid_alg'],
    ['alg in lower case', make({ alg: 'hs256' }), 'invalid_alg'],
    ['a property of Object.prototype as alg', make({ alg: 'constructor' }), 'invalid_alg'],
    ['alg only in Object.prototype', make('{"__proto__":{"alg":"HS256"}}'), 'missing_alg'],
    ['alg none without signature', `${encode({ alg: 'none' })}.${body}.`, 'invalid_alg'],
    ['crit', make({ ...HEAD, crit: ['exp'] }), 'crit'],
    ['crit that is empty', make({ ...HEAD, crit: [] }), 'crit'],
    ['crit that is null', make({ ...HEAD, crit: null }), 'crit'],
    ['another typ', make({ ...HEAD, typ: 'potato' }), 'invalid_typ'],
    ['typ in lower case', make({ ...HEAD, typ: 'jwt' }), 'invalid_typ'],
    ['typ that is null', make({ ...HEAD, typ: null }), 'invalid_typ'],
    ['a payload that is not JSON', make(HEAD, 'foo'), 'malformed'],
    ['an empty payload', make(HEAD, ''), 'malformed'],
    ['a payload with a repeated sub', make(HEAD, '{"sub":"a","\\u0073ub":"b"}'), 'malformed'],
    ['a repeated member in a nested object', make(HEAD, '{"a":[{"b":1,"b":2}]}'), 'malformed'],
    ['a payload that is an array', make(HEAD, []), 'not_an_object'],
    ['a payload that is a string', make(HEAD, '"sub"'), 'not_an_object'],
    ['a payload that is a number', make(HEAD, 1), 'not_an_object'],
    ['a payload that is null', make(HEAD, null), 'not_an_object'],
    ['another signature', `${head}.${body}.${encode(Buffer.alloc(32).toString())}`, 'bad_mac'],
    ['no signature', `${head}.${body}.`, 'bad_mac'],
    [
      'a truncated signature',
      `${head}.${body}.${Buffer.from(mac, 'base64url').subarray(0, 16).toString('base64url')}`,
      'bad_mac',
    ],
    ['another payload', `${head}.${encode({ sub: 'root' })}.${mac}`, 'bad_mac'],
    ['a token of the maximum length', makeLong(MAX_TOKEN_CHARACTERS), 'verified'],
    ['a longer token', makeLong(MAX_TOKEN_CHARACTERS + 1), 'malformed'],
  ]
  for (const [name, text, expected] of rows) it(`${name}: ${expected}`, () => assert.equal(outcome(text), expected))

  it('returns claims, header and key of a valid token', () => {
    const result = verify(make({ ...HEAD, kid: 'k' }, { sub: 'jan', x: [1] }), rules)
    assert.ok(result.kind === 'verified')
    assert.deepEqual(result.claims, { sub: 'jan', x: [1] })
    assert.deepEqual([result.header.algorithm.name, result.header.kid, result.key], ['HS256', 'k', key])
  })

  it('returns no claim of a token with a wrong signature', () => {
    const other = createHmacKey(Buffer.from('another')) as VerificationKey
    const findKeys = () => ({ kind: 'keys', keys: [other] }) as const
    const result = verify(make(HEAD, { sub: 'hidden-name' }), { ...rules, findKeys })
    assert.deepEqual(result, { kind: 'refused', reason: 'bad_mac' })
  })

  it('never uses a key or an address from the header', () => {
    const { privateKey, publicKey } = PAIRS.p256
    const header = {
      alg: 'ES256',
      jwk: publicKey.export({ format: 'jwk' }),
      jku: 'http://127.0.0.1/',
      x5u: 'x',
      x5c: ['y'],
    }
    assert.equal(outcome(makeToken(header, { sub: 'jan' }, signerFor('ES256', privateKey))), 'bad_signature')
  })

  it('returns the problem of the key lookup', () => {
    const findKeys = () => ({ kind: 'refused', reason: 'unknown_kid' }) as const
    assert.equal(outcome(make(HEAD), { ...rules, findKeys }), 'unknown_kid')
    assert.equal(outcome(make(HEAD), { ...rules, findKeys: () => ({ kind: 'keys', keys: [] }) }), 'bad_mac')
  })

  it('never throws, and accepts nothing that was not signed', () => {
    const cut = fc.tuple(fc.nat(good.length), fc.nat(good.length), fc.string())
    const near = cut.map(([from, to, middle]) => good.slice(0, from) + middle + good.slice(to))
    const parts = fc
      .array(fc.oneof(fc.string(), fc.jsonValue()).map(encode), { maxLength: 5 })
      .map((all) => all.join('.'))
    fc.assert(
      fc.property(fc.oneof(fc.string(), near, parts), (text) => {
        assert.equal(outcome(text) === 'verified', text === good)
      }),
      { numRuns: 500 },
    )
  })
})

describe('signing a token', () => {
  const es256 = readSecret(Buffer.from(toPrivatePem(PAIRS.p256.privateKey)))
  const hs256 = readSecret(SECRET)
  for (const [name, secret] of [
    ['HS256', hs256],
    ['ES256', es256],
  ] as const) {
    it(`${name}: what is signed verifies, with alg first in the header`, () => {
      assert.ok(secret.kind === 'signer')
      const { key: signing } = secret.signer
      const text = signToken({ typ: 'JWT' }, { preferred_username: 'root', iss: 'x' }, signing)
      assert.equal(Buffer.from(text.split('.')[0] ?? '', 'base64url').toString(), `{"alg":"${name}","typ":"JWT"}`)
      const findKeys = () => ({ kind: 'keys', keys: [signing.verifying] }) as const
      assert.equal(outcome(text, { types: ['JWT'], findKeys }), 'verified')
    })
  }
  it('writes the example of ArangoDB', () => {
    const secret = readSecret(Buffer.from('jwtsecret-1'))
    assert.ok(secret.kind === 'signer')
    const claims = { preferred_username: 'root', iss: 'arangodb', iat: 1_700_000_000, exp: 4_102_444_800 }
    assert.equal(
      signToken({ typ: 'JWT' }, claims, secret.signer.key),
      'eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9.eyJwcmVmZXJyZWRfdXNlcm5hbWUiOiJyb290IiwiaXNzIjoiYXJhbmdvZGIiLCJpYXQiOjE3MDAwMDAwMDAsImV4cCI6NDEwMjQ0NDgwMH0.VQ6XUT02_uzmPSTu-RTrXSoHGnSwPj0TscNJItJkI1g',
    )
  })
})

it('long headers of tokens are not kept', () => {
  collectGarbage()
  const before = process.memoryUsage().heapUsed
  for (let index = 0; index < 100; index += 1) outcome(make({ ...HEAD, kid: String(index), typ: Array(4000).fill({}) }))
  collectGarbage()
  assert.ok(process.memoryUsage().heapUsed - before < 10_000_000)
})
