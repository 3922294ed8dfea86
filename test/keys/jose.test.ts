// The verifier of the request path against jose, an independent implementation.
import assert from 'node:assert/strict'
import { createSecretKey, type KeyObject, randomBytes } from 'node:crypto'
import { test } from 'node:test'
import fc from 'fast-check'
import { compactVerify } from 'jose'
import { ALGORITHMS } from '../../src/keys/algorithms.ts'
import { createHmacKey, toVerificationKey, type VerificationKey } from '../../src/keys/key.ts'
import { verify } from '../../src/keys/verify.ts'
import { encode, makeToken, PAIRS, signerFor } from './signing.ts'

interface TestKey {
  readonly signing: KeyObject
  readonly jose: KeyObject
  readonly ours: VerificationKey
}

const requireKey = (key: ReturnType<typeof toVerificationKey>): VerificationKey =>
  key.kind === 'problem' ? assert.fail(key.reason) : key

const SECRET = randomBytes(64)

// Web Crypto, and so jose, has no Ed448
const { ed448: _, ...SUPPORTED } = PAIRS

const KEYS: Readonly<Record<string, TestKey>> = {
  hmac: { signing: createSecretKey(SECRET), jose: createSecretKey(SECRET), ours: requireKey(createHmacKey(SECRET)) },
  ...Object.fromEntries(
    Object.entries(SUPPORTED).map(([name, { privateKey, publicKey }]) => [
      name,
      { signing: privateKey, jose: publicKey, ours: requireKey(toVerificationKey(publicKey)) },
    ]),
  ),
}

const FITTING: readonly (readonly [alg: string, key: string])[] = [
  ...['HS256', 'HS384', 'HS512'].map((alg) => [alg, 'hmac'] as const),
  ...['RS256', 'RS384', 'RS512', 'PS256', 'PS384', 'PS512'].map((alg) => [alg, 'rsa'] as const),
  ['ES256', 'p256'],
  ['ES384', 'p384'],
  ['ES512', 'p521'],
  ['EdDSA', 'ed25519'],
]

const anyAlg = fc.constantFrom(...ALGORITHMS.keys(), 'none', 'ES256K', 'Ed25519', 'hs256', '')
const anyHeader = fc.record(
  { kid: fc.string(), typ: fc.constant('JWT'), jwk: fc.constant(PAIRS.p256.publicKey.export({ format: 'jwk' })) },
  { requiredKeys: [], noNullPrototype: true },
)
const anyExtension = fc.record(
  { crit: fc.constantFrom(['exp'], ['b64'], []), b64: fc.boolean() },
  { requiredKeys: [], noNullPrototype: true },
)
const anyClaims = fc.dictionary(fc.string(), fc.jsonValue({ maxDepth: 2 }), { maxKeys: 5, noNullPrototype: true })

const RUNS = process.env['TEST_LONG'] ? 20_000 : 400

type Mutation = (token: string) => string

const replacePart =
  (index: number, change: (part: string) => string): Mutation =>
  (token) =>
    token
      .split('.')
      .map((part, at) => (at === index ? change(part) : part))
      .join('.')

const flipByte = (at: number) => (part: string) => {
  const bytes = Buffer.from(part, 'base64url')
  if (bytes.length > 0) bytes[at % bytes.length] = (bytes[at % bytes.length] ?? 0) ^ 1
  return bytes.toString('base64url')
}

/** Half of the tokens stay as they were signed. */
const anyMutation: fc.Arbitrary<Mutation> = fc.oneof(
  { weight: 8, arbitrary: fc.constant((token: string) => token) },
  { weight: 2, arbitrary: fc.tuple(fc.nat(2), fc.nat()).map(([part, at]) => replacePart(part, flipByte(at))) },
  { weight: 1, arbitrary: anyAlg.map((alg) => replacePart(0, () => encode({ alg }))) },
  { weight: 1, arbitrary: anyClaims.map((claims) => replacePart(1, () => encode(claims))) },
  { weight: 1, arbitrary: fc.nat(2).map((part) => replacePart(part, () => '')) },
  { weight: 1, arbitrary: fc.nat(2).map((part) => replacePart(part, (text) => text.slice(0, -1))) },
  { weight: 1, arbitrary: fc.constantFrom('.', '=', ' ', '.e30').map((tail) => (token: string) => token + tail) },
)

async function verifyWithJose(token: string, key: TestKey): Promise<string | undefined> {
  try {
    return Buffer.from((await compactVerify(token, key.jose)).payload).toString('base64url')
  } catch {
    return undefined
  }
}

function verifyWithOurs(token: string, key: TestKey): boolean {
  const findKeys = () => ({ kind: 'keys', keys: [key.ours] }) as const
  return verify(token, { types: [undefined, 'JWT'], findKeys }).kind === 'verified'
}

/** What Cardea rejects on purpose: base64url that is not canonical, and every `crit` and `b64`. */
function isStricter(token: string): boolean {
  const parts = token.split('.')
  if (parts.some((part) => Buffer.from(part, 'base64url').toString('base64url') !== part)) return true
  const header = JSON.parse(Buffer.from(parts[0] ?? '', 'base64url').toString())
  return 'crit' in header
}

/** Mostly a token without extensions, verified with the key that signed it. */
const anySigned = fc.record({
  fitting: fc.constantFrom(...FITTING),
  header: anyHeader,
  extension: fc.oneof({ weight: 6, arbitrary: fc.constant({}) }, { weight: 1, arbitrary: anyExtension }),
  claims: anyClaims,
  mutate: anyMutation,
  verifiedBy: fc.oneof(
    { weight: 4, arbitrary: fc.constant(undefined) },
    { weight: 1, arbitrary: fc.constantFrom(...Object.keys(KEYS)) },
  ),
})

test('agrees with jose on random tokens and their mutations', async () => {
  const counts = { accepted: 0, rejected: 0 }
  await fc.assert(
    fc.asyncProperty(anySigned, async ({ fitting: [alg, name], verifiedBy, mutate, ...given }) => {
      const signing = KEYS[name]?.signing ?? assert.fail(name)
      const key = KEYS[verifiedBy ?? name] ?? assert.fail()
      const token = mutate(
        makeToken({ ...given.header, ...given.extension, alg }, given.claims, signerFor(alg, signing)),
      )
      const payload = await verifyWithJose(token, key)
      const isAccepted = verifyWithOurs(token, key)
      counts[isAccepted ? 'accepted' : 'rejected'] += 1
      if (isAccepted) assert.equal(payload, token.split('.')[1], 'jose rejects it, or reads another payload')
      else assert.ok(payload === undefined || isStricter(token), 'jose accepts it')
    }),
    { numRuns: RUNS },
  )
  assert.ok(counts.accepted > RUNS / 10 && counts.rejected > RUNS / 10, JSON.stringify(counts))
})

test('agrees with jose on texts that are not tokens', async () => {
  const key = KEYS['hmac'] ?? assert.fail()
  const anyText = fc.oneof(
    fc.string(),
    fc.array(fc.base64String(), { maxLength: 4 }).map((parts) => parts.join('.')),
  )
  await fc.assert(
    fc.asyncProperty(anyText, async (text) => {
      assert.equal(verifyWithOurs(text, key), false)
      assert.equal(await verifyWithJose(text, key), undefined)
    }),
  )
})
