// Shapes of access tokens and ID tokens, made up after the documentation of each provider.
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { ALGORITHMS, type Algorithm } from '../../../src/keys/algorithms.ts'
import { readClaimPath } from '../../../src/keys/document-claims.ts'
import {
  claimsFactor,
  isFreshSignIn,
  type ProviderClaimRules,
  readProviderClaims,
} from '../../../src/modules/providers/claims.ts'

const NOW = 1_800_000_000
const TIMES = { iat: NOW - 10, exp: NOW + 300 }
const algorithm = ALGORITHMS.get('RS256') as Algorithm

const toRules = (given: Partial<ProviderClaimRules>): ProviderClaimRules => ({
  audience: ['cardea'],
  clients: [],
  scopes: [],
  clientId: 'web',
  name: readClaimPath('preferred_username'),
  roles: undefined,
  factors: [],
  trustsEmail: false,
  skewSeconds: 30,
  nowSeconds: NOW,
  ...given,
})

interface Shape {
  readonly name: string
  readonly typ?: string
  readonly claims: object
  readonly rules?: Partial<ProviderClaimRules>
  /** Name and roles, or why it is refused. */
  readonly expect: readonly [string, readonly string[]] | RegExp
}

const keycloak = {
  jti: 'onrtac:1',
  iss: 'https://id.example.com/realms/shop',
  sub: '6e8f1a2b-0000-4000-8000-000000000001',
  typ: 'Bearer',
  azp: 'app',
  sid: 's1',
  acr: '1',
  realm_access: { roles: ['editor', 'offline_access'] },
  scope: 'openid profile',
  preferred_username: 'ada',
}
const entra = {
  iss: 'https://login.microsoftonline.com/11111111-0000-4000-8000-000000000001/v2.0',
  sub: 'AAAAAAAAAAAAAAAAAAAAAIkzqFVrSaSaFHy782bbtaQ',
  oid: 'o1',
  tid: '11111111-0000-4000-8000-000000000001',
  azp: 'app',
  scp: 'access_as_user',
  roles: ['Editor'],
  ver: '2.0',
  preferred_username: 'ada@example.com',
}
const auth0 = {
  iss: 'https://shop.eu.auth0.com/',
  sub: 'auth0|507f1f77bcf86cd799439020',
  azp: 'app',
  scope: 'openid profile',
  'https://shop.example.com/roles': ['editor'],
}
const zitadel = {
  iss: 'https://shop.zitadel.cloud',
  sub: '163840776835432705',
  client_id: '1@shop',
  jti: '2',
  'urn:zitadel:iam:org:project:roles': { editor: { '1': 'shop.example.com' } },
}

const SHAPES: readonly Shape[] = [
  {
    name: 'an access token of Keycloak with an audience mapper',
    claims: { ...keycloak, aud: ['cardea', 'account'] },
    rules: { roles: readClaimPath('realm_access.roles') },
    expect: ['ada', ['editor', 'offline_access']],
  },
  {
    name: 'a stock access token of Keycloak',
    claims: { ...keycloak, aud: 'account' },
    expect: /mapper of type Audience/,
  },
  { name: 'an ID token of Keycloak', claims: { ...keycloak, typ: 'ID', aud: 'cardea' }, expect: /type "ID"/ },
  { name: 'a refresh token of Keycloak', claims: { ...keycloak, typ: 'Refresh', aud: 'cardea' }, expect: /"Refresh"/ },
  {
    name: 'an access token of Keycloak 24, which has a nonce',
    claims: { ...keycloak, aud: 'cardea', nonce: 'n' },
    expect: ['ada', []],
  },
  {
    name: 'an access token of Entra ID',
    claims: { ...entra, aud: 'api://cardea' },
    rules: { audience: ['api://cardea'], roles: readClaimPath('roles') },
    expect: ['ada@example.com', ['Editor']],
  },
  {
    name: 'an ID token of Entra ID for the client of Cardea',
    claims: { ...entra, aud: 'web', scp: undefined, nonce: 'n' },
    rules: { audience: ['web'] },
    expect: /ID token/,
  },
  {
    name: 'an access token of Auth0',
    claims: { ...auth0, aud: ['cardea', 'https://shop.eu.auth0.com/userinfo'] },
    rules: { roles: readClaimPath('https://shop\\.example\\.com/roles') },
    expect: ['auth0|507f1f77bcf86cd799439020', ['editor']],
  },
  {
    name: 'an access token of Zitadel, whose roles are the keys of an object',
    claims: { ...zitadel, aud: ['1@shop', 'cardea'] },
    rules: { roles: readClaimPath('urn:zitadel:iam:org:project:roles') },
    expect: ['163840776835432705', ['editor']],
  },
  {
    name: 'an ID token of Google, which has no other JWT',
    claims: { iss: 'https://accounts.google.com', sub: '1', azp: 'web', aud: 'web', at_hash: 'h' },
    rules: { audience: ['web'] },
    expect: /ID token/,
  },
  {
    name: 'an ID token of Google without a hash or a nonce, and no client-id',
    claims: { iss: 'https://accounts.google.com', sub: '1', azp: 'app', aud: 'app', email: 'ada@example.com' },
    rules: { audience: ['app'], clientId: '' },
    expect: /may be an ID token.*send the access token/,
  },
  {
    name: 'an ID token of Google for an Android app, whose audience is the server of the app',
    claims: { iss: 'https://accounts.google.com', sub: '1', azp: 'android', aud: 'cardea', email: 'ada@example.com' },
    expect: /may be an ID token/,
  },
  {
    name: 'an ID token of Entra ID without a nonce, and no client-id',
    claims: { ...entra, azp: undefined, scp: undefined, aud: 'app' },
    rules: { audience: ['app'], clientId: '' },
    expect: /may be an ID token/,
  },
  {
    name: 'an access token of a program at Entra ID, which has no scp',
    claims: { ...entra, scp: undefined, aud: 'api://cardea', preferred_username: undefined },
    rules: { audience: ['api://cardea'], clientId: '', roles: readClaimPath('roles') },
    expect: [entra.sub, ['Editor']],
  },
  {
    name: 'an ID token of Auth0 without a nonce, and no client-id',
    claims: { ...auth0, azp: undefined, scope: undefined, aud: 'app' },
    rules: { audience: ['app'], clientId: '' },
    expect: /may be an ID token/,
  },
  {
    name: 'an ID token of Zitadel, which has client_id',
    claims: { ...zitadel, aud: ['1@shop', 'cardea'], azp: '1@shop', at_hash: 'h' },
    expect: /ID token/,
  },
  {
    name: 'an access token as in RFC 9068, with everything an ID token has',
    typ: 'at+jwt',
    claims: { iss: 'https://id.example.com', sub: '1', aud: 'cardea', nonce: 'n', client_id: 'app' },
    expect: ['1', []],
  },
  {
    name: 'a logout token',
    claims: { iss: 'https://id.example.com', sub: '1', aud: 'cardea', events: {} },
    expect: /ID token/,
  },
  {
    name: 'a token for another client',
    claims: { ...keycloak, aud: 'cardea' },
    rules: { clients: ['mobile'] },
    expect: /another client/,
  },
  {
    name: 'a token with the scopes, in one text',
    claims: { ...keycloak, aud: 'cardea', scope: 'openid shop.read shop.write' },
    rules: { scopes: ['shop.read', 'shop.write'] },
    expect: ['ada', []],
  },
  {
    name: 'a token with the scopes in a list',
    claims: { ...keycloak, aud: 'cardea', scope: undefined, scp: ['shop.read'] },
    rules: { scopes: ['shop.read'] },
    expect: ['ada', []],
  },
  {
    name: 'a token that lacks one of the scopes',
    claims: { ...keycloak, aud: 'cardea', scope: 'shop.reader' },
    rules: { scopes: ['shop.read'] },
    expect: /lacks the scope shop\.read/,
  },
  {
    name: 'a token without any scope',
    claims: { ...keycloak, aud: 'cardea', scope: undefined },
    rules: { scopes: ['shop.read'] },
    expect: /lacks the scope/,
  },
  { name: 'a token without a subject', claims: { ...keycloak, aud: 'cardea', sub: undefined }, expect: /sub/ },
  { name: 'a token without times', claims: { ...keycloak, aud: 'cardea', iat: undefined }, expect: /iat or exp/ },
  {
    name: 'a token with a time that is text',
    claims: { ...keycloak, aud: 'cardea', nbf: 'x' },
    expect: /not valid yet/,
  },
  { name: 'a token within the clock skew', claims: { ...keycloak, aud: 'cardea', exp: NOW - 20 }, expect: ['ada', []] },
]

describe('claims of an identity provider', () => {
  for (const { name, typ = 'JWT', claims, rules = {}, expect } of SHAPES)
    it(`${expect instanceof RegExp ? 'refuses' : 'accepts'} ${name}`, () => {
      const given = JSON.parse(
        JSON.stringify({ ...TIMES, ...claims, ...(Object.hasOwn(claims, 'iat') && { iat: undefined }) }),
      )
      const read = readProviderClaims(given, { algorithm, typ, kid: '1' }, toRules(rules))
      if (expect instanceof RegExp) assert.match(read.kind === 'refused' ? read.reason : 'accepted', expect)
      else assert.deepEqual(read.kind === 'read' && [read.name, read.roles], expect)
    })
})

const FACTORS: readonly [name: string, claims: object, factors: readonly string[], expected: boolean][] = [
  ['a method of amr', { amr: ['pwd', 'mfa'] }, ['mfa'], true],
  ['other methods', { amr: ['pwd'] }, ['mfa'], false],
  ['the level in acr', { acr: 'silver' }, ['mfa', 'silver'], true],
  ['another level', { acr: 'silver2' }, ['silver'], false],
  ['neither claim', {}, ['mfa'], false],
  ['claims of another type', { amr: { mfa: true }, acr: 1 }, ['mfa', '1'], false],
  ['* for every token', {}, ['*'], true],
  ['* in the token', { amr: ['*'] }, ['mfa'], false],
  ['no configured value', { amr: ['mfa'] }, [], false],
]
describe('the second factor of a provider', () => {
  for (const [name, claims, factors, expected] of FACTORS)
    it(`${expected ? 'is' : 'is not'} proved by ${name}`, () =>
      assert.equal(claimsFactor(claims as Parameters<typeof claimsFactor>[0], factors), expected))
})

it('a sign-in at the provider is fresh for five minutes, and no further in the future than clocks differ', () => {
  const isFresh = (age: number) => isFreshSignIn(NOW - age, { skewSeconds: 30, nowSeconds: NOW })
  assert.deepEqual([0, 330, -30].map(isFresh), [true, true, true])
  assert.deepEqual([331, -31, -300].map(isFresh), [false, false, false])
  assert.equal(isFreshSignIn(undefined, { skewSeconds: 30, nowSeconds: NOW }), false)
})
