import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { LogFields } from '../../src/base/log.ts'
import { SILENT_LOG } from '../../src/base/log.ts'
import { createLockout, type LockoutOptions } from '../../src/identity/lockout.ts'

const BOB = { peer: '192.0.2.1', name: 'bob', salt: 's1' }

function setUp(changes: Partial<LockoutOptions> = {}) {
  let now = 1_000_000
  const lockout = createLockout({
    mode: () => 'enforce',
    threshold: () => 5,
    maxObjects: () => 100,
    maxLifetimeMs: () => 300_000,
    clock: { nowMs: () => now },
    ...changes,
  })
  const fail = (times: number, key = BOB) => {
    for (let i = 0; i < times; i += 1) lockout.countFailure(key)
  }
  const pass = (ms: number) => {
    now += ms
  }
  return { ...lockout, fail, pass }
}

describe('lockout', () => {
  it('locks with the failure that reaches the threshold', () => {
    const { fail, isLocked } = setUp()
    fail(4)
    assert.equal(isLocked(BOB), false)
    fail(1)
    assert.equal(isLocked(BOB), true)
  })

  it('asking does not count', () => {
    const { fail, isLocked } = setUp()
    fail(4)
    for (let i = 0; i < 10; i += 1) isLocked(BOB)
    assert.equal(isLocked(BOB), false)
  })

  const others: [string, typeof BOB][] = [
    ['another peer', { ...BOB, peer: '192.0.2.2' }],
    ['another name', { ...BOB, name: 'eve' }],
    ['a new password', { ...BOB, salt: 's2' }],
    ['parts cut elsewhere', { peer: '192.0.2.1b', name: 'ob', salt: 's1' }],
  ]
  for (const [name, key] of others) {
    it(`${name} is counted for itself`, () => {
      const { fail, isLocked } = setUp()
      fail(9)
      assert.equal(isLocked(key), false)
    })
  }

  it('a name nobody has is locked too', () => {
    const { countFailure, isLocked } = setUp({ threshold: () => 1 })
    countFailure({ peer: 'p', name: 'nobody' })
    assert.equal(isLocked({ peer: 'p', name: 'nobody' }), true)
  })

  it('ends its lifetime after the first failure, not the last', () => {
    const { fail, pass, isLocked } = setUp()
    fail(4)
    pass(299_999)
    fail(1)
    assert.equal(isLocked(BOB), true)
    pass(1)
    assert.equal(isLocked(BOB), false)
    fail(4)
    assert.equal(isLocked(BOB), false)
    fail(1)
    assert.equal(isLocked(BOB), true)
  })

  it('options hold as soon as they change', () => {
    let threshold = 5
    let lifetimeMs = 300_000
    const { fail, pass, isLocked } = setUp({ threshold: () => threshold, maxLifetimeMs: () => lifetimeMs })
    fail(3)
    threshold = 3
    assert.equal(isLocked(BOB), true)
    pass(1000)
    lifetimeMs = 1000
    assert.equal(isLocked(BOB), false)
  })

  it('off neither locks nor counts', () => {
    let mode: 'off' | 'enforce' = 'off'
    const { fail, isLocked } = setUp({ mode: () => mode })
    fail(9)
    assert.equal(isLocked(BOB), false)
    mode = 'enforce'
    assert.equal(isLocked(BOB), false)
  })

  it('warn logs who would be locked, and lets them try', () => {
    const warnings: (LogFields | undefined)[] = []
    const log = { ...SILENT_LOG, warn: (_: string, fields?: LogFields) => void warnings.push(fields) }
    const { fail, isLocked } = setUp({ mode: () => 'warn', log })
    fail(4)
    assert.equal(isLocked(BOB), false)
    assert.deepEqual(warnings, [])
    fail(1)
    assert.equal(isLocked(BOB), false)
    assert.deepEqual(warnings, [{ name: 'bob', peer: '192.0.2.1' }])
  })

  it('holds so many counts and forgets the one used longest ago', () => {
    const { fail, isLocked } = setUp({ threshold: () => 1, maxObjects: () => 2 })
    const key = (name: string) => ({ ...BOB, name })
    for (const name of ['a', 'b', 'c']) fail(1, key(name))
    assert.deepEqual(
      ['a', 'b', 'c'].filter((name) => isLocked(key(name))),
      ['b', 'c'],
    )
  })

  it('of guesses sent side by side only those before the threshold are told apart', async () => {
    const { countFailure, isLocked } = setUp({ threshold: () => 3 })
    const guess = async (isRight: boolean) => {
      if (isLocked(BOB)) return 'locked'
      await Promise.resolve()
      if (isLocked(BOB)) return 'locked'
      if (!isRight) countFailure(BOB)
      return isRight ? 'right' : 'wrong'
    }
    const answers = await Promise.all([false, false, false, true, false].map(guess))
    assert.deepEqual(answers, ['wrong', 'wrong', 'wrong', 'locked', 'locked'])
  })
})
