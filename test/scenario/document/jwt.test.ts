import assert from 'node:assert/strict'
import { generateKeyPairSync, type KeyObject, sign } from 'node:crypto'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, type TestContext, test } from 'node:test'
import { createSessionServer, mintJwt, nowSeconds, type Who } from './session-server.ts'
import { ADMIN, pathOf } from './users-server.ts'

const SECRET = 'a-shared-secret-of-enough-bytes-for-hs512-a-shared-secret-of-enough-bytes'
const OTHER = 'another-shared-secret-another-shared-secret'
const toBase64 = (text: string): string => Buffer.from(text).toString('base64')

const KEYS = {
  rsa: generateKeyPairSync('rsa', { modulusLength: 2048 }),
  small: generateKeyPairSync('rsa', { modulusLength: 1024 }),
  p256: generateKeyPairSync('ec', { namedCurve: 'P-256' }),
  p384: generateKeyPairSync('ec', { namedCurve: 'P-384' }),
  p521: generateKeyPairSync('ec', { namedCurve: 'P-521' }),
  ed: generateKeyPairSync('ed25519'),
}
const toLine = ({ publicKey }: { publicKey: KeyObject }): string =>
  publicKey.export({ type: 'spki', format: 'pem' }).toString().trim().replaceAll('\n', '\\n')

const folder = mkdtempSync(join(tmpdir(), 'cardea-jwks-'))
after(() => rmSync(folder, { recursive: true }))
const jwks = join(folder, 'keys.json')
writeFileSync(
  jwks,
  JSON.stringify({
    keys: [{ ...KEYS.ed.publicKey.export({ format: 'jwk' }), kid: 'from-set', alg: 'EdDSA', use: 'sig' }],
  }),
)

const jwt_keys = {
  'hmac:_default': toBase64(SECRET),
  'hmac:other': toBase64(OTHER),
  'rsa:_default': toLine(KEYS.rsa),
  'rsa:small': toLine(KEYS.small),
  'rsa:wrong': toLine(KEYS.p256),
  'ec:_default': toLine(KEYS.p256),
  'ec:p384': toLine(KEYS.p384),
  'ec:p521': toLine(KEYS.p521),
  'eddsa:_default': toLine(KEYS.ed),
  'jwks:set': jwks,
}
const server = createSessionServer({ jwt_keys })
const { ask, add } = server

before(() => add('ada', { roles: ['math'] }))

const claims = (more: Record<string, unknown> = {}) => ({ sub: 'jo', exp: nowSeconds() + 3600, ...more })
const bearer = (token: string) => ({ headers: { Authorization: `Bearer ${token}` } })
const askToken = (token: string) => ask('GET', '/_session', { as: '', ...bearer(token) })
const hs = (more: Record<string, unknown> = {}, header: Record<string, unknown> = {}) =>
  mintJwt(claims(more), SECRET, header)

const toPart = (value: unknown): string => Buffer.from(JSON.stringify(value)).toString('base64url')
const DIGESTS = { '256': 'sha256', '384': 'sha384', '512': 'sha512' } as const

function signed(alg: string, key: KeyObject, header: Record<string, unknown> = {}): string {
  const text = `${toPart({ alg, ...header })}.${toPart(claims())}`
  const digest = DIGESTS[alg.slice(2) as keyof typeof DIGESTS] ?? null
  const padding = alg.startsWith('PS') ? { padding: 6, saltLength: Number(alg.slice(2)) / 8 } : {}
  return `${text}.${sign(digest, Buffer.from(text), { key, dsaEncoding: 'ieee-p1363', ...padding }).toString('base64url')}`
}

async function assertAccepted(token: string, expected: Partial<Who> = {}): Promise<void> {
  const { status, json, body } = await askToken(token)
  assert.equal(status, 200, body)
  assert.deepEqual({ ...json.userCtx, by: json.info.authenticated }, { name: 'jo', roles: [], by: 'jwt', ...expected })
}

async function assertRefused(token: string, status: number, reason: string): Promise<void> {
  const answer = await askToken(token)
  const error = { 400: 'bad_request', 401: 'unauthorized', 404: 'not_found' }[status]
  assert.deepEqual([answer.status, answer.json], [status, { error, reason }])
}

const ACCEPTED: readonly (readonly [string, () => string])[] = [
  ['HS256', () => hs()],
  ['a key by its kid', () => mintJwt(claims(), OTHER, { kid: 'other' })],
  ...['RS256', 'RS384', 'RS512', 'PS256', 'PS384', 'PS512'].map(
    (alg) => [alg, () => signed(alg, KEYS.rsa.privateKey)] as const,
  ),
  ['ES256', () => signed('ES256', KEYS.p256.privateKey)],
  ['ES384', () => signed('ES384', KEYS.p384.privateKey, { kid: 'p384' })],
  ['ES512', () => signed('ES512', KEYS.p521.privateKey, { kid: 'p521' })],
  ['EdDSA', () => signed('EdDSA', KEYS.ed.privateKey)],
  ['a key of a key set in a file', () => signed('EdDSA', KEYS.ed.privateKey, { kid: 'from-set' })],
  ['no typ', () => hs({}, { typ: null })],
  ['typ at+jwt', () => hs({}, { typ: 'at+jwt' })],
  ['nbf is now', () => hs({ nbf: nowSeconds() })],
]

for (const [what, token] of ACCEPTED) test(`accepted: ${what}`, () => assertAccepted(token()))

const REFUSED: readonly (readonly [string, () => string, number, string])[] = [
  ['one part', () => 'notajwt', 400, 'Malformed token'],
  ['parts that cannot be decoded', () => 'a.b.c', 400, 'Malformed token'],
  ['four parts', () => `${hs()}.x`, 400, 'Malformed token'],
  ['padding', () => `${hs()}=`, 400, 'Malformed token'],
  ['a payload that is a list', () => mintJwt([], SECRET), 400, 'Not an object'],
  ['alg none', () => hs({}, { alg: 'none' }), 400, 'Invalid alg header parameter'],
  ['alg None', () => hs({}, { alg: 'None' }), 400, 'Invalid alg header parameter'],
  ['no alg', () => hs({}, { alg: null }), 400, 'Missing alg header parameter'],
  ['a property of Object.prototype as alg', () => hs({}, { alg: 'constructor' }), 400, 'Invalid alg header parameter'],
  ['crit', () => hs({}, { crit: ['exp'] }), 400, 'Invalid crit header parameter'],
  ['another typ', () => hs({}, { typ: 'potato' }), 400, 'Invalid typ header parameter'],
  ['an unknown kid', () => hs({}, { kid: 'nope' }), 400, 'Unknown kid'],
  ['a kid that is not a string', () => hs({}, { kid: 7 }), 400, 'Invalid kid header parameter'],
  ['another secret', () => mintJwt(claims(), 'another-secret-for-tokens'), 400, 'Bad HMAC'],
  ['another private key', () => signed('RS256', KEYS.small.privateKey), 400, 'Bad signature'],
  [
    'a key that is too small',
    () => signed('RS256', KEYS.small.privateKey, { kid: 'small' }),
    400,
    'an RSA key needs at least 2048 bits',
  ],
  ['a key of another kind', () => signed('RS256', KEYS.rsa.privateKey, { kid: 'wrong' }), 400, 'not an RSA public key'],
  [
    'a key with the curve of another algorithm',
    () => signed('ES256', KEYS.p384.privateKey, { kid: 'p384' }),
    400,
    'the key is not for this algorithm',
  ],
  [
    'a public key used as an HMAC secret',
    () => mintJwt(claims(), KEYS.rsa.publicKey.export({ type: 'spki', format: 'pem' }).toString()),
    400,
    'Bad HMAC',
  ],
  ['exp in the past', () => hs({ exp: nowSeconds() - 10 }), 401, 'exp not in future'],
  ['exp is now', () => hs({ exp: nowSeconds() }), 401, 'exp not in future'],
  ['exp as a string', () => hs({ exp: 'never' }), 400, 'Invalid exp claim'],
  ['exp null', () => hs({ exp: null }), 400, 'Invalid exp claim'],
  ['nbf in the future', () => hs({ nbf: nowSeconds() + 600 }), 401, 'nbf not in past'],
  ['nbf as a string', () => hs({ nbf: 'x' }), 400, 'Invalid nbf claim'],
  ['iat as a string', () => hs({ iat: 'x' }), 400, 'Invalid iat claim'],
  ['no exp: a missing claim gives 404 Not Found', () => hs({ exp: undefined }), 404, 'Missing exp claim'],
  ['no sub', () => hs({ sub: undefined }), 401, 'Token missing sub claim.'],
  ['an empty sub', () => hs({ sub: '' }), 401, 'Token missing sub claim.'],
  ['a sub that is a number', () => hs({ sub: 7 }), 400, 'Invalid sub claim'],
  ['a sub that is not a valid name', () => hs({ sub: 'a:b' }), 400, 'Invalid sub claim'],
  [
    'a forged and expired token: the signature is checked first',
    () => mintJwt(claims({ exp: 1 }), 'forged'),
    400,
    'Bad HMAC',
  ],
]

for (const [what, token, status, reason] of REFUSED) {
  test(`rejected: ${what}`, () => assertRefused(token(), status, reason))
}

const ROLES: readonly (readonly [string, unknown, readonly string[] | undefined])[] = [
  ['a list', ['a', 'b'], ['a', 'b']],
  ['a string split at commas', 'a, b ,c,,', ['a', 'b', 'c']],
  ['an empty list', [], []],
  ['an empty string', '', []],
  ['a number', 7, undefined],
  ['true', true, undefined],
  ['null', null, undefined],
  ['an object', { a: 1 }, undefined],
  ['a list with a number', ['a', 7], undefined],
  ['an invalid role', ['a,b'], undefined],
]

for (const [what, value, roles] of ROLES) {
  test(`roles in _couchdb.roles as ${what}`, async () => {
    const token = hs({ '_couchdb.roles': value })
    if (roles) await assertAccepted(token, { roles })
    else await assertRefused(token, 400, 'Malformed token')
  })
}

test('other schemes, and Bearer in another case, are ignored', async () => {
  for (const header of [`bearer ${hs()}`, `Bearer${hs()}`, `Token ${hs()}`]) {
    const { status, json } = await ask('GET', '/_session', { as: '', headers: { Authorization: header } })
    assert.deepEqual([status, json.userCtx.name], [200, null])
  }
})

test('a wrong token is rejected on open paths too', async () => {
  const { status } = await ask('GET', '/_up', { as: '', ...bearer('rubbish') })
  assert.equal(status, 400)
})

test('the role _admin makes an administrator, the name of one does not', async () => {
  const askConfig = (token: string) => ask('GET', '/_node/_local/_config/admins', { as: '', ...bearer(token) })
  assert.equal((await askConfig(hs({ '_couchdb.roles': ['_admin'] }))).status, 200)
  assert.equal((await askConfig(hs({ sub: 'admin' }))).status, 401)
  await assertAccepted(hs({ sub: 'admin' }), { name: 'admin', roles: [] })
})

test('roles come from the token, not from a user of that name', () =>
  assertAccepted(hs({ sub: 'ada' }), { name: 'ada', roles: [] }))

/** The clock of an issuer may be a minute ahead: until then, its new tokens may be older than a revocation. */
function passLeeway(t: TestContext): void {
  const now = Date.now
  t.mock.method(Date, 'now', () => now() + 61_000)
}

test('a token issued before a password change is rejected, also by an issuer with a clock ahead', async (t) => {
  await add('old')
  const before = hs({ sub: 'old', iat: nowSeconds() - 5 })
  await assertAccepted(before, { name: 'old' })
  await server.change('old', { password: 'new' })
  await assertRefused(before, 401, 'Token is no longer valid.')
  await assertRefused(hs({ sub: 'old' }), 401, 'Token is no longer valid.')
  const ahead = [30, 45, 55].map((seconds) => hs({ sub: 'old', iat: nowSeconds() + seconds }))
  for (const token of ahead) await assertRefused(token, 401, 'Token is no longer valid.')
  passLeeway(t)
  for (const token of ahead) await assertRefused(token, 401, 'Token is no longer valid.')
  await assertAccepted(hs({ sub: 'old', iat: nowSeconds() + 2 }), { name: 'old' })
})

test('a token cannot change a password or delete a document, not even through a session', async () => {
  await add('own')
  const token = hs({ sub: 'own', iat: nowSeconds() + 2 })
  const opened = await ask('POST', '/_session', { as: '', ...bearer(token) })
  const cookie = { headers: { Cookie: (opened.headers['set-cookie']?.[0] ?? '').split(';')[0] ?? '' } }
  const { json } = await ask('GET', pathOf('own'), { as: ADMIN })
  for (const options of [bearer(token), cookie]) {
    const answer = await ask('PUT', pathOf('own'), { as: '', ...options, body: { ...json, password: 'taken' } })
    assert.equal(answer.status, 403, answer.body)
    assert.equal((await ask('DELETE', `${pathOf('own')}?rev=${json._rev}`, { as: '', ...options })).status, 403)
  }
})

test('a key set is reloaded with the configuration; if it is missing, nothing changes', async () => {
  const fresh = generateKeyPairSync('ed25519')
  const key = { ...fresh.publicKey.export({ format: 'jwk' }), kid: 'fresh', alg: 'EdDSA' }
  const token = signed('EdDSA', fresh.privateKey, { kid: 'fresh' })
  await assertRefused(token, 400, 'Unknown kid')
  const { cardea } = await server.started
  writeFileSync(jwks, JSON.stringify({ keys: [key] }))
  await cardea.reload()
  await assertAccepted(token)
  await assertRefused(signed('EdDSA', KEYS.ed.privateKey, { kid: 'from-set' }), 400, 'Unknown kid')
  rmSync(jwks)
  assert.equal((await cardea.reload()).isApplied, false)
  await assertAccepted(token)
  await assertAccepted(hs())
})
