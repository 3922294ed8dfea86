import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { describe, it } from 'node:test'
import { readJwk, readJwkSet } from '../../src/keys/jwk.ts'
import type { VerificationKey } from '../../src/keys/key.ts'
import { isSignedBy, readSignedText } from '../../src/keys/verify.ts'

interface Case {
  readonly tcId: number
  readonly comment: string
  readonly jws?: unknown
  readonly result: 'valid' | 'invalid' | 'acceptable'
}
interface Group {
  readonly comment: string
  readonly private?: unknown
  readonly public?: unknown
  readonly tests: readonly Case[]
}

const load = (name: string): { readonly numberOfTests: number; readonly testGroups: readonly Group[] } =>
  JSON.parse(readFileSync(new URL(`../fixtures/vectors/${name}_test.json`, import.meta.url), 'utf8'))

const OURS = { secrets: true }

function readKeys(material: unknown): readonly VerificationKey[] {
  if (typeof material === 'object' && material !== null && 'keys' in material) {
    const set = readJwkSet(JSON.stringify(material), OURS)
    return set.kind === 'set' ? set.keys : []
  }
  const key = readJwk(material, OURS)
  return key.kind === 'problem' ? [] : [key]
}

function isAccepted(group: Group, { jws }: Case): boolean {
  const text = typeof jws === 'string' ? jws : JSON.stringify(jws)
  const signed = readSignedText(text)
  if (signed.kind === 'refused') return false
  return readKeys(group.public ?? group.private).some((key) => isSignedBy(signed, key, signed.header.algorithm))
}

/** Cases in which the collection contradicts itself, and the correct result. */
const EXCEPTIONS: ReadonlyMap<string, ReadonlyMap<number, string>> = new Map([
  [
    'json_web_signature',
    new Map([
      [346, 'called valid, but the key says PS256 and the token PS384'],
      [347, 'called valid, but the key says ES521, which is no algorithm'],
      [350, 'called valid, but the key says PS256 and the token PS384'],
      [351, 'called valid, but the key says ES521, which is no algorithm'],
      [367, 'called invalid, but byte for byte the valid token of case 357'],
      [370, 'called invalid, but byte for byte the valid token of case 357'],
      [372, 'called valid, but there is a ? in the header'],
      [373, 'called valid, but there is a ? in the payload'],
    ]),
  ],
])

describe('Wycheproof', () => {
  for (const name of ['json_web_signature', 'json_web_key']) {
    const { numberOfTests, testGroups } = load(name)
    const cases = testGroups.flatMap((group) => group.tests.map((test) => ({ group, test })))
    const exceptions = EXCEPTIONS.get(name) ?? new Map<number, string>()

    it(`${name}: all ${numberOfTests} cases are present`, () => assert.equal(cases.length, numberOfTests))
    it(`${name}: accepts valid and rejects invalid signatures`, () => {
      for (const { group, test } of cases.filter((row) => !exceptions.has(row.test.tcId))) {
        const label = `case ${test.tcId}, ${test.result}: ${group.comment}, ${test.comment}`
        assert.equal(isAccepted(group, test), test.result === 'valid', label)
      }
    })
    for (const [id, reason] of exceptions) {
      it(`${name}: case ${id} is ${reason}`, () => {
        const row = cases.find(({ test }) => test.tcId === id)
        assert.ok(row)
        assert.equal(isAccepted(row.group, row.test), row.test.result === 'invalid')
      })
    }
  }

  it('json_web_signature: the two accepted exceptions are valid tokens', () => {
    const texts = new Map(
      load('json_web_signature').testGroups.flatMap(({ tests }) => tests.map((test) => [test.tcId, test.jws])),
    )
    assert.equal(texts.get(367), texts.get(357))
    assert.equal(texts.get(370), texts.get(357))
  })

  it('json_web_crypto: accepts its valid signatures and no encrypted token', () => {
    for (const group of load('json_web_crypto').testGroups) {
      for (const test of group.tests) {
        const isValidSignature = test.jws !== undefined && test.result === 'valid'
        const label = `case ${test.tcId}, ${test.result}: ${group.comment}, ${test.comment}`
        assert.equal(
          isAccepted(group, { ...test, jws: test.jws ?? ('jwe' in test ? test.jwe : '') }),
          isValidSignature,
          label,
        )
      }
    }
  })
})
