import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { ALGORITHMS } from '../../src/keys/algorithms.ts'
import {
  type ClaimProblem,
  type DocumentClaimRules,
  readClaimPath,
  readDocumentClaims,
} from '../../src/keys/document-claims.ts'
import type { Claims, TokenHeader } from '../../src/keys/verify.ts'

const algorithm = ALGORITHMS.get('HS256')
assert.ok(algorithm)
const HEADER: TokenHeader = { algorithm, typ: 'JWT', kid: undefined }
const NOW = 1_800_000_000
const isWord = (word: string) => /^[^\s,:]+$/.test(word)
const RULES: DocumentClaimRules = {
  required: [{ name: 'exp' }],
  roles: { kind: 'claim', name: '_couchdb.roles' },
  nowSeconds: NOW,
  isName: isWord,
  isRole: isWord,
}
const GOOD = { sub: 'jan', exp: NOW + 60 }

const read = (claims: Claims, rules: Partial<DocumentClaimRules> = {}, header = HEADER) =>
  readDocumentClaims(claims, header, { ...RULES, ...rules })

/** From text, as claims arrive: own members named like those of the prototype included. */
const parse = (text: string): Claims => JSON.parse(text)

type Row = [name: string, claims: Claims, expected: ClaimProblem | 'accepted', rules?: Partial<DocumentClaimRules>]

function runs(rows: readonly Row[]): void {
  for (const [name, claims, expected, rules] of rows) {
    it(name, () => {
      const result = read(claims, rules)
      assert.deepEqual(result.kind === 'refused' ? result.problem : result.kind, expected)
    })
  }
}

const missing = (name: string): ClaimProblem => ({ code: 'missing', name, place: 'claim' })
const invalid = (name: string): ClaimProblem => ({ code: 'invalid', name, place: 'claim' })
const required = (...claims: { name: string; value?: string }[]) => ({ required: claims })
const AUD = required({ name: 'aud', value: 'us' })
const ISS = required({ name: 'iss', value: 'me' })

describe('required claims', () => {
  runs([
    ['present', GOOD, 'accepted'],
    ['missing', { sub: 'jan' }, missing('exp')],
    ['none required', { sub: 'jan' }, 'accepted', required()],
    ['present with any value', { ...GOOD, iss: null }, 'accepted', required({ name: 'iss' })],
    ['a property of Object.prototype is not present', GOOD, missing('constructor'), required({ name: 'constructor' })],
    [
      'a claim with the name of a property of Object.prototype',
      parse('{"sub":"jan","__proto__":1}'),
      'accepted',
      required({ name: '__proto__' }),
    ],
    ['the error names the first missing claim', {}, missing('a'), required({ name: 'a' }, { name: 'b' })],
    ['equal', { ...GOOD, iss: 'me' }, 'accepted', ISS],
    ['different', { ...GOOD, iss: 'you' }, invalid('iss'), ISS],
    ['missing, but required with a value', GOOD, missing('iss'), ISS],
    ['equal only as a string', { ...GOOD, n: 3 }, invalid('n'), required({ name: 'n', value: '3' })],
    ['in a list', { ...GOOD, iss: ['me'] }, invalid('iss'), ISS],
    ['audience equal', { ...GOOD, aud: 'us' }, 'accepted', AUD],
    ['a list of audiences that contains the required one', { ...GOOD, aud: ['them', 'us'] }, 'accepted', AUD],
    ['a list of other audiences', { ...GOOD, aud: ['them'] }, invalid('aud'), AUD],
    ['an empty list of audiences', { ...GOOD, aud: [] }, invalid('aud'), AUD],
    ['an audience that contains the required one as a substring', { ...GOOD, aud: 'us too' }, invalid('aud'), AUD],
    ['sig is always checked', GOOD, 'accepted', required({ name: 'sig' })],
    ['typ and alg are in the header', GOOD, 'accepted', required({ name: 'typ' }, { name: 'alg' })],
    [
      'kid missing in the header',
      { ...GOOD, kid: 'x' },
      { code: 'missing', name: 'kid', place: 'header' },
      required({ name: 'kid' }),
    ],
    [
      'typ different',
      GOOD,
      { code: 'invalid', name: 'typ', place: 'header' },
      required({ name: 'typ', value: 'at+jwt' }),
    ],
  ])
})

describe('times', () => {
  const none = required()
  runs([
    ['exp now', { ...GOOD, exp: NOW }, { code: 'expired' }],
    ['exp just after now', { ...GOOD, exp: NOW + 0.5 }, 'accepted'],
    ['exp in the past, although not required', { sub: 'jan', exp: 1 }, { code: 'expired' }, none],
    ['exp negative', { ...GOOD, exp: -1 }, { code: 'expired' }],
    ['exp as a string', { ...GOOD, exp: String(NOW + 60) }, invalid('exp')],
    ['exp null', { ...GOOD, exp: null }, invalid('exp')],
    ['exp too large for a number', parse('{"sub":"jan","exp":1e999}'), invalid('exp')],
    ['nbf past', { ...GOOD, nbf: NOW - 1 }, 'accepted'],
    ['nbf now', { ...GOOD, nbf: NOW }, 'accepted'],
    ['nbf in the future', { ...GOOD, nbf: NOW + 1 }, { code: 'not_yet_valid' }],
    ['nbf as a string', { ...GOOD, nbf: '0' }, invalid('nbf')],
    ['iat in the future', { ...GOOD, iat: NOW + 99 }, 'accepted'],
    ['iat in a list', { ...GOOD, iat: [1] }, invalid('iat')],
  ])
  it('are returned', () => {
    const result = read({ ...GOOD, iat: 5 })
    assert.deepEqual(result.kind === 'accepted' && [result.exp, result.iat], [NOW + 60, 5])
  })
})

describe('roles', () => {
  const roles = (value: unknown) => ({ ...GOOD, '_couchdb.roles': value })
  const cases: [string, Claims, readonly string[], string?][] = [
    ['none', GOOD, []],
    ['a list', roles(['a', '_admin']), ['a', '_admin']],
    ['an empty list', roles([]), []],
    ['a string', roles('a, b ,c'), ['a', 'b', 'c']],
    ['a string with trailing commas', roles('a,, ,'), ['a']],
    ['an empty string', roles(''), []],
    ['a path', { ...GOOD, app: { roles: ['deep'] } }, ['deep'], 'app.roles'],
    ['a path with dots in its names', { ...GOOD, 'my.app': { 'r.s': ['dotted'] } }, ['dotted'], 'my\\.app.r\\.s'],
    ['a path of one name', { ...GOOD, groups: 'x' }, ['x'], 'groups'],
    ['a path with an empty name', { ...GOOD, a: { '': { b: ['x'] } } }, ['x'], 'a..b'],
    ['the path wins over the name', { ...roles(['no']), p: ['yes'] }, ['yes'], 'p'],
  ]
  for (const [name, claims, expected, path] of cases) {
    it(name, () => {
      const result = read(claims, path === undefined ? {} : { roles: readClaimPath(path) })
      assert.deepEqual(result.kind === 'accepted' ? result.roles : result.problem, expected)
    })
  }
  const malformed: ClaimProblem = { code: 'malformed_roles' }
  const path = { roles: readClaimPath('a.b') }
  runs([
    ['a list with a number', roles(['a', 1]), malformed],
    ['a list with a list', roles([['a']]), malformed],
    ['a number', roles(1), malformed],
    ['a boolean', roles(true), malformed],
    ['null', roles(null), malformed],
    ['an object', roles({ 0: 'a', length: 1 }), malformed],
    ['an invalid role', roles(['a b']), malformed],
    ['an empty role in a list', roles(['']), malformed],
    ['an empty role in a string', roles('a,,b'), malformed],
    ['a missing path', { ...GOOD, a: {} }, { code: 'missing_roles', segment: 'b' }, path],
    ['a path with a missing first level', GOOD, { code: 'missing_roles', segment: 'a' }, path],
    ['a path into a string', { ...GOOD, a: 'b' }, { code: 'roles_mismatch' }, path],
    ['a path into a list', { ...GOOD, a: [{ b: [] }] }, { code: 'roles_mismatch' }, path],
    ['a path into null', { ...GOOD, a: null }, { code: 'roles_mismatch' }, path],
    [
      'a path into Object.prototype',
      GOOD,
      { code: 'missing_roles', segment: '__proto__' },
      { roles: readClaimPath('__proto__.x') },
    ],
  ])
  it('a path is split at dots that are not escaped', () => {
    assert.deepEqual(readClaimPath('resource_access.security\\.settings.account.roles'), {
      kind: 'path',
      segments: ['resource_access', 'security.settings', 'account', 'roles'],
    })
    // quirk: reference document 6.2: a backslash cannot be escaped
    assert.deepEqual(readClaimPath('a\\\\.b'), { kind: 'path', segments: ['a\\.b'] })
  })
})

describe('the subject', () => {
  runs([
    ['missing', { exp: NOW + 1 }, { code: 'missing_sub' }],
    ['empty', { ...GOOD, sub: '' }, { code: 'missing_sub' }],
    ['a number', { ...GOOD, sub: 1 }, invalid('sub')],
    ['null', { ...GOOD, sub: null }, invalid('sub')],
    ['an invalid name', { ...GOOD, sub: 'a:b' }, invalid('sub')],
  ])
  it('is the name', () => {
    const result = read(GOOD)
    assert.equal(result.kind === 'accepted' && result.name, 'jan')
  })
})

it('document claims: never throws, and accepts no token without a name', () => {
  const name = fc.constantFrom('sub', 'exp', 'nbf', 'iat', 'iss', 'aud', '_couchdb.roles', '__proto__')
  const value = fc.oneof(fc.jsonValue(), fc.constantFrom('jan', NOW + 5, NOW - 5))
  const rules = [RULES, { ...RULES, ...AUD }, { ...RULES, roles: readClaimPath('aud.iss') }]
  fc.assert(
    fc.property(fc.dictionary(name, value), fc.constantFrom(...rules), (claims, rule) => {
      const result = readDocumentClaims(claims, HEADER, rule)
      if (result.kind === 'accepted') assert.ok(isWord(result.name) && result.roles.every(isWord))
    }),
  )
})
