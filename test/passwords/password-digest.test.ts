import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { describe, it } from 'node:test'
import { mintProxyToken } from '../../src/auth/proxy.ts'
import { derive, type Prf } from '../../src/passwords/password-digest.ts'

interface Case {
  readonly tcId: number
  readonly comment: string
  readonly result: 'valid' | 'invalid' | 'acceptable'
}
interface DerivationCase extends Case {
  readonly password: string
  readonly salt: string
  readonly iterationCount: number
  readonly dkLen: number
  readonly dk: string
}
interface MacCase extends Case {
  readonly key: string
  readonly msg: string
  readonly tag: string
}
interface File<T> {
  readonly numberOfTests: number
  readonly testGroups: readonly { readonly tagSize?: number; readonly tests: readonly T[] }[]
}

function load<T>(name: string): File<T> {
  return JSON.parse(readFileSync(new URL(`../fixtures/vectors/${name}_test.json`, import.meta.url), 'utf8'))
}

const bytes = (hex: string) => Buffer.from(hex, 'hex')
const label = ({ tcId, comment, result }: Case) => `case ${tcId}, ${result}: ${comment}`

/** One case has 16 777 216: seconds of computing, for `npm run test:long -- vectors`. */
const MAX_ITERATIONS = process.env['TEST_LONG'] === undefined ? 100_000 : Number.POSITIVE_INFINITY

describe('PBKDF2 against Wycheproof', () => {
  const files: [string, Prf][] = [
    ['pbkdf2_hmacsha1', 'sha'],
    ['pbkdf2_hmacsha224', 'sha224'],
    ['pbkdf2_hmacsha256', 'sha256'],
    ['pbkdf2_hmacsha384', 'sha384'],
    ['pbkdf2_hmacsha512', 'sha512'],
  ]
  for (const [name, prf] of files) {
    it(name, async () => {
      const { numberOfTests, testGroups } = load<DerivationCase>(name)
      const cases = testGroups.flatMap((group) => group.tests)
      assert.equal(cases.length, numberOfTests)
      for (const row of cases.filter(({ iterationCount }) => iterationCount <= MAX_ITERATIONS)) {
        const by = { prf, salt: bytes(row.salt), iterations: row.iterationCount, keyBytes: row.dkLen }
        const key = await derive(bytes(row.password), by)
        assert.equal(key.toString('hex') === row.dk, row.result !== 'invalid', label(row))
      }
    })
  }
})

describe('HMAC against Wycheproof', () => {
  for (const algorithm of ['sha1', 'sha224', 'sha256', 'sha384', 'sha512']) {
    it(`hmac_${algorithm}`, () => {
      const { numberOfTests, testGroups } = load<MacCase>(`hmac_${algorithm}`)
      assert.equal(testGroups.flatMap((group) => group.tests).length, numberOfTests)
      for (const { tagSize = 0, tests } of testGroups) {
        for (const row of tests) {
          const token = mintProxyToken(bytes(row.msg), { secret: bytes(row.key), algorithm })
          const tag = bytes(token).subarray(0, tagSize / 8)
          assert.equal(tag.toString('hex') === row.tag, row.result !== 'invalid', label(row))
        }
      }
    })
  }
})
