import assert from 'node:assert/strict'
import { test } from 'node:test'
import { SILENT_LOG } from '../../../src/base/log.ts'
import { createTotpCheck, readTotp, renderCode, type Totp } from '../../../src/directory/second-factor/totp.ts'
import type { Json } from '../../../src/directory/users/user.ts'
import { openStore } from '../../../src/store/create-store.ts'
import { toShared } from '../../support/directory.ts'

// RFC 6238, appendix B: the ASCII keys of 20, 32 and 64 bytes, in base32.
const KEYS = {
  sha: 'GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ',
  sha256: 'GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQGEZA====',
  sha512: 'GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQGEZDGNA=',
}

const requireTotp = (member: Json): Totp => readTotp(member) ?? assert.fail('cannot be read')

const VECTORS = [
  [59, '94287082', '46119246', '90693936'],
  [1111111109, '07081804', '68084774', '25091201'],
  [1111111111, '14050471', '67062674', '99943326'],
  [1234567890, '89005924', '91819424', '93441116'],
  [2000000000, '69279037', '90698825', '38618901'],
  [20000000000, '65353130', '77737706', '47863826'],
] as const

for (const [seconds, sha, sha256, sha512] of VECTORS) {
  for (const [algorithm, code] of Object.entries({ sha, sha256, sha512 })) {
    test(`the code of RFC 6238 for ${algorithm} at ${seconds}`, () => {
      const key = KEYS[algorithm as keyof typeof KEYS]
      assert.equal(renderCode(requireTotp({ key, algorithm, length: 8 }), Math.floor(seconds / 30)), code)
    })
  }
}

test('sha and six digits are the default', () => {
  const { digest, length } = requireTotp({ key: KEYS.sha })
  assert.deepEqual({ digest, length }, { digest: 'sha1', length: 6 })
})

const UNREADABLE: readonly (readonly [string, Json])[] = [
  ['nothing', null],
  ['a string', 'GEZDGNBV'],
  ['a list', [{ key: KEYS.sha }]],
  ['no key', { algorithm: 'sha' }],
  ['an empty key', { key: '' }],
  ['a key that is a number', { key: 12345678 }],
  ['a lower-case key', { key: KEYS.sha.toLowerCase() }],
  ['a key without its padding', { key: 'GEZDGNBVGEZA' }],
  ['a key with a digit that is not base32', { key: 'GEZDGNB1' }],
  ['a key of megabytes', { key: 'GEZDGNBV'.repeat(200_000) }],
  ['an unknown algorithm', { key: KEYS.sha, algorithm: 'md5' }],
  ['a property of Object.prototype as algorithm', { key: KEYS.sha, algorithm: 'constructor' }],
  ['five digits', { key: KEYS.sha, length: 5 }],
  ['digits as a string', { key: KEYS.sha, length: '6' }],
  ['a fraction of a digit', { key: KEYS.sha, length: 6.5 }],
]

for (const [what, member] of UNREADABLE) {
  test(`no code is right for ${what}`, () => assert.equal(readTotp(member), undefined))
}

const TOTP = requireTotp({ key: KEYS.sha })
const FACTOR = { name: 'ada', version: 'first' }

async function createMovableCheck(seconds: number) {
  const clock = { ms: seconds * 1000, nowMs: () => clock.ms }
  const check = createTotpCheck(await openStore('sqlite::memory:', { log: SILENT_LOG }), toShared(clock))
  const spend = (step: number, factor = FACTOR) => check(factor, TOTP, renderCode(TOTP, step))
  return { clock, check, spend }
}

for (const [step, isRight] of [
  [98, false],
  [99, true],
  [100, true],
  [101, true],
  [102, false],
] as const) {
  test(`in step 100 the code of step ${step} is ${isRight ? 'right' : 'wrong'}`, async () => {
    assert.equal(await (await createMovableCheck(3015)).spend(step), isRight)
  })
}

test('a code is right once', async () => {
  const { clock, spend } = await createMovableCheck(3000)
  assert.equal(await spend(100), true)
  assert.equal(await spend(100), false)
  clock.ms += 30_000
  assert.equal(await spend(100), false, 'in the next step neither')
  assert.equal(await spend(101), true, 'the next code is another one')
})

test('a code used while the clock was ahead uses up no right one', async () => {
  const { clock, spend } = await createMovableCheck(3000)
  clock.ms += 86_400_000
  assert.equal(await spend(100 + 2880), true)
  clock.ms -= 86_400_000
  assert.equal(await spend(100), true)
  assert.equal(await spend(99), true)
  assert.equal(await spend(100), false)
})

test('a code used a moment before the clock jumped a day ahead and back is still used', async () => {
  const { clock, spend } = await createMovableCheck(90_000)
  assert.equal(await spend(3000), true)
  clock.ms += 86_400_000
  assert.equal(await spend(3000 + 2880), true)
  clock.ms -= 86_400_000
  assert.equal(await spend(3000), false)
})

test('a code used by one user can be used by another user with the same key', async () => {
  const { spend } = await createMovableCheck(3000)
  assert.equal(await spend(100), true)
  assert.equal(await spend(100, { ...FACTOR, name: 'bob' }), true)
})

for (const code of ['', '1', '0000000', 'abcdef', '１２３４５６']) {
  test(`${JSON.stringify(code)} is not a code`, async () => {
    assert.equal(await (await createMovableCheck(3000)).check(FACTOR, TOTP, code), false)
  })
}
