import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createSessionServer, mintJwt, nowSeconds } from './session-server.ts'

const SECRET = 'a-shared-secret-of-enough-bytes-for-hs256'
const jwt_keys = { 'hmac:_default': Buffer.from(SECRET).toString('base64') }

type Row = readonly [what: string, claims: Record<string, unknown>, expected: readonly string[] | string]

/** Rows with the same options. Roles: the token is accepted. A string: it is rejected with that status and reason. */
function testRows(jwt_auth: Record<string, string>, rows: readonly Row[]): void {
  const { ask } = createSessionServer({ jwt_keys, jwt_auth })
  for (const [what, more, expected] of rows) {
    test(`${JSON.stringify(jwt_auth)}: ${what}`, async () => {
      const token = mintJwt({ sub: 'jo', exp: nowSeconds() + 60, ...more }, SECRET)
      const { status, json } = await ask('GET', '/_session', { as: '', headers: { Authorization: `Bearer ${token}` } })
      if (typeof expected === 'string') assert.equal(`${status} ${json.error}: ${json.reason}`, expected)
      else assert.deepEqual([status, json.userCtx], [200, { name: 'jo', roles: expected }])
    })
  }
}

testRows({ required_claims: 'exp, iss, {aud, "cardea"}' }, [
  ['all claims are present', { iss: 'me', aud: 'cardea' }, []],
  ['a list of audiences that contains the required one', { iss: 'me', aud: ['x', 'cardea'] }, []],
  ['a claim that is required without a value may have any value', { iss: null, aud: 'cardea' }, []],
  ['a missing claim gives 404 Not Found', { aud: 'cardea' }, '404 not_found: Missing iss claim'],
  ['a missing claim that is required with a value', { iss: 'me' }, '404 not_found: Missing aud claim'],
  ['another audience', { iss: 'me', aud: 'other' }, '400 bad_request: Invalid aud claim'],
  ['a list of audiences without the required one', { iss: 'me', aud: ['x'] }, '400 bad_request: Invalid aud claim'],
])

testRows({ required_claims: '{iss, "https://issuer.example"}' }, [
  ['equal', { iss: 'https://issuer.example' }, []],
  ['different', { iss: 'https://other.example' }, '400 bad_request: Invalid iss claim'],
  ['a list for a claim that is not aud', { iss: ['https://issuer.example'] }, '400 bad_request: Invalid iss claim'],
  [
    'exp is not required, but checked if present',
    { iss: 'https://issuer.example', exp: 1 },
    '401 unauthorized: exp not in future',
  ],
  ['exp is not required', { iss: 'https://issuer.example', exp: undefined }, []],
])

testRows({ roles_claim_name: 'groups' }, [
  ['roles in the configured claim', { groups: ['g'], '_couchdb.roles': ['no'] }, ['g']],
  ['a missing claim means no roles', { '_couchdb.roles': ['no'] }, []],
  ['a property of Object.prototype is not a claim', { toString: undefined }, []],
])

testRows({ roles_claim_path: 'resource_access.security\\.settings.account.roles', roles_claim_name: 'groups' }, [
  [
    '. separates levels and \\. is a dot; roles_claim_name is ignored',
    { groups: ['no'], resource_access: { 'security.settings': { account: { roles: ['deep'] } } } },
    ['deep'],
  ],
  ['a string', { resource_access: { 'security.settings': { account: { roles: 'a,b' } } } }, ['a', 'b']],
  ['a missing level', { resource_access: {} }, '404 not_found: missing json key: security.settings'],
  ['a level that is not an object', { resource_access: { 'security.settings': 7 } }, '404 not_found: json_mismatch'],
  [
    'invalid roles',
    { resource_access: { 'security.settings': { account: { roles: 7 } } } },
    '400 bad_request: Malformed token',
  ],
])

testRows({ roles_claim_path: 'my\\.roles' }, [
  ['a top-level claim with a dot in its key', { 'my.roles': ['x'], my: { roles: ['no'] } }, ['x']],
])

testRows({ roles_claim_path: 'constructor.name' }, [
  ['properties of Object.prototype are not found', {}, '404 not_found: missing json key: constructor'],
])
