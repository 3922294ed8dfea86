import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { readMultiModelClaims } from '../../src/keys/multi-model-claims.ts'
import type { Claims } from '../../src/keys/verify.ts'

const NOW = 1_800_000_000
const RULES = { issuer: 'arangodb', nowSeconds: NOW }
const iss = 'arangodb'
const USER = { iss, preferred_username: 'root' }
const parse = (text: string): Claims => JSON.parse(text)

describe('claims at the multi-model door', () => {
  const refused: [string, Claims, string][] = [
    ['no issuer', { preferred_username: 'root' }, 'iss'],
    ['another issuer', { ...USER, iss: 'arangodbaaa' }, 'iss'],
    ['the issuer in upper case', { ...USER, iss: 'ArangoDB' }, 'iss'],
    ['the issuer in a list', { ...USER, iss: ['arangodb'] }, 'iss'],
    ['neither name nor server', { iss }, 'no_identity'],
    ['an empty name', { iss, preferred_username: '' }, 'preferred_username'],
    ['a name that is null', { iss, preferred_username: null }, 'preferred_username'],
    ['a null name and a server', { iss, preferred_username: null, server_id: 'x' }, 'preferred_username'],
    ['an empty name and a server', { iss, preferred_username: '', server_id: 'x' }, 'preferred_username'],
    ['a server that is null', { iss, server_id: null }, 'server_id'],
    ['a server that is a number', { iss, server_id: 1 }, 'server_id'],
    [
      'a property of Object.prototype as server',
      parse('{"iss":"arangodb","__proto__":{"server_id":"x"}}'),
      'no_identity',
    ],
    ['exp as a string', { ...USER, exp: '4102444800' }, 'exp'],
    ['exp null', { ...USER, exp: null }, 'exp'],
    ['exp too large for a number', parse('{"iss":"arangodb","server_id":"x","exp":1e999}'), 'exp'],
    ['exp zero', { ...USER, exp: 0 }, 'expired'],
    ['exp now', { ...USER, exp: NOW }, 'expired'],
    ['exp in the past', { ...USER, exp: NOW - 1 }, 'expired'],
    ['exp negative', { ...USER, exp: -5 }, 'expired'],
    ['no allowed path', { ...USER, allowed_paths: [] }, 'allowed_paths'],
    ['an allowed path that is a number', { ...USER, allowed_paths: ['/a', 1] }, 'allowed_paths'],
    ['allowed paths as a string', { ...USER, allowed_paths: '/a' }, 'allowed_paths'],
    ['allowed paths null', { ...USER, allowed_paths: null }, 'allowed_paths'],
  ]
  for (const [name, claims, reason] of refused) {
    it(`refuses ${name}`, () => assert.deepEqual(readMultiModelClaims(claims, RULES), { kind: 'refused', reason }))
  }

  const none = { exp: undefined, allowedPaths: undefined }
  const accepted: [string, Claims, object][] = [
    ['a user without exp', USER, { kind: 'user', name: 'root', iat: undefined, jti: undefined, ...none }],
    [
      'a user with all claims',
      { ...USER, exp: NOW + 0.5, iat: NOW, jti: 'id', allowed_paths: ['/_api/version'], nbf: NOW + 9, roles: 1 },
      { kind: 'user', name: 'root', exp: NOW + 0.5, iat: NOW, jti: 'id', allowedPaths: ['/_api/version'] },
    ],
    [
      'iat and jti of other types are ignored',
      { ...USER, iat: 'x', jti: 1 },
      { kind: 'user', name: 'root', iat: undefined, jti: undefined, ...none },
    ],
    [
      'a name and a server: a user',
      { ...USER, server_id: 'x' },
      { kind: 'user', name: 'root', iat: undefined, jti: undefined, ...none },
    ],
    [
      'a superuser',
      { iss, server_id: 'ABCD', exp: NOW + 1 },
      { kind: 'superuser', serverId: 'ABCD', ...none, exp: NOW + 1 },
    ],
    ['a superuser with an empty server id', { iss, server_id: '' }, { kind: 'superuser', serverId: '', ...none }],
  ]
  for (const [name, claims, expected] of accepted) {
    it(`accepts ${name}`, () => assert.deepEqual(readMultiModelClaims(claims, RULES), expected))
  }

  it('never throws, and accepts a superuser only for a string without a name', () => {
    const name = fc.constantFrom('iss', 'preferred_username', 'server_id', 'exp', 'iat', 'jti', 'allowed_paths')
    const value = fc.oneof(fc.jsonValue(), fc.constantFrom('arangodb', 'root', NOW + 5, NOW - 5))
    fc.assert(
      fc.property(fc.dictionary(name, value), (claims) => {
        const result = readMultiModelClaims({ ...claims, iss }, RULES)
        if (result.kind !== 'superuser') return
        assert.equal(typeof claims['server_id'], 'string')
        assert.equal('preferred_username' in claims, false)
      }),
    )
  })
})
