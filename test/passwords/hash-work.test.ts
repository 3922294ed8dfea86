import assert from 'node:assert/strict'
import { argon2Sync, scryptSync } from 'node:crypto'
import { describe, it } from 'node:test'
import { measureSampleStep } from '../../src/passwords/hash-work.ts'
import { derive, isPrf, PRFS } from '../../src/passwords/password-digest.ts'
import {
  describePassword,
  findSample,
  measureStepMs,
  readDocumentPassword,
  spendWork,
} from '../../src/passwords/schemes.ts'

const requireSample = (unit: string) => findSample(unit) ?? assert.fail(unit)

it('the time of a step is that of the fastest round, and measured once', (t) => {
  const roundsMs = [9, 4, 12]
  let nowMs = 0
  t.mock.method(performance, 'now', () => nowMs)
  const compute = t.mock.fn(() => {
    nowMs += roundsMs[compute.mock.callCount()] ?? 7
  })
  const sample = { name: 'sample of a test', steps: 8, compute }
  assert.equal(measureSampleStep(sample), 0.5)
  const rounds = compute.mock.callCount()
  assert.ok(rounds > roundsMs.length)
  assert.equal(measureSampleStep({ ...sample, steps: 4 }), 1)
  assert.equal(compute.mock.callCount(), rounds)
})

describe('the sample of a unit computes the steps that it names', () => {
  for (const prf of Object.keys(PRFS).filter(isPrf))
    it(prf, async () => {
      const { name, steps, compute } = requireSample(prf)
      assert.equal(name, prf)
      // the decoy of this work is what a check computes
      assert.deepEqual(compute(), await spendWork({ unit: prf, amount: steps }, derive))
    })

  it('bcrypt', () => {
    const { steps, compute } = requireSample('bcrypt')
    const sample = readDocumentPassword({ password_scheme: 'bcrypt', encoded_hash: compute() })
    assert.equal(describePassword(sample), `bcrypt ${Math.log2(steps)}`)
  })

  it('scrypt, whose step takes N times r', () => {
    const { steps, compute } = requireSample('scrypt ln=14 r=8')
    assert.deepEqual(compute(), scryptSync('decoy', 'salt of a decoy', 64, { N: steps * 2 ** 14, r: 8, p: 1 }))
    assert.equal(requireSample('scrypt ln=15 r=16').steps, steps / 4)
  })

  it('argon2id, whose step takes its memory', () => {
    const { steps, compute } = requireSample('argon2id m=19456 p=1')
    const parameters = { memory: Math.round(steps * 19_456), passes: 1, parallelism: 1, tagLength: 32 }
    assert.deepEqual(compute(), argon2Sync('argon2id', { message: 'decoy', nonce: 'salt of a decoy', ...parameters }))
    assert.equal(requireSample('argon2id m=38912 p=4').steps, steps / 2)
  })
})

it('a step of every unit takes a measurable time, one of a later version none', () => {
  for (const unit of ['sha', 'sha512', 'bcrypt', 'scrypt ln=14 r=8', 'argon2id m=256 p=2'])
    assert.ok(measureStepMs(unit) > 0, unit)
  assert.equal(measureStepMs('balloon s=1'), 0)
})
