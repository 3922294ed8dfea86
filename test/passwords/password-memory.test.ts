import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { inspect } from 'node:util'
import fc from 'fast-check'
import { frame } from '../../src/base/encoding.ts'
import { createPasswordMemory } from '../../src/passwords/password-memory.ts'

describe('memory of verified passwords', () => {
  const remembering = () => {
    const memory = createPasswordMemory(() => 100)
    memory.remember({ name: 'bob', version: 'v1', password: 'apple' })
    return memory
  }

  it('remembers what was verified', () =>
    assert.equal(remembering().isRemembered({ name: 'bob', version: 'v1', password: 'apple' }), true))

  const rows: [string, [name: string, version: string, password: string]][] = [
    ['another password', ['bob', 'v1', 'pear']],
    ['an empty password', ['bob', 'v1', '']],
    ['another version', ['bob', 'v2', 'apple']],
    ['another name', ['eve', 'v1', 'apple']],
    ['another spelling of the name', ['Bob', 'v1', 'apple']],
    ['the same text split elsewhere', ['bob', 'v', '1apple']],
    ['a property of Object.prototype', ['constructor', 'v1', 'apple']],
  ]
  for (const [what, [name, version, password]] of rows) {
    it(`not ${what}`, () => assert.equal(remembering().isRemembered({ name, version, password }), false))
  }

  it('not a lone surrogate for its replacement character', () => {
    const memory = createPasswordMemory(() => 100)
    memory.remember({ name: 'bob', version: 'v1', password: 'a\ufffd' })
    assert.equal(memory.isRemembered({ name: 'bob', version: 'v1', password: 'a\ud800' }), false)
  })

  it('a verification older than maxAgeMs does not count, and a lookup does not renew it', () => {
    let nowMs = 1000
    const memory = createPasswordMemory(() => 100, { nowMs: () => nowMs })
    memory.remember({ name: 'bob', version: 'v1', password: 'apple' })
    nowMs += 99
    assert.equal(memory.isRemembered({ name: 'bob', version: 'v1', password: 'apple' }, 100), true)
    nowMs += 1
    assert.equal(memory.isRemembered({ name: 'bob', version: 'v1', password: 'apple' }, 100), false)
    assert.equal(memory.isRemembered({ name: 'bob', version: 'v1', password: 'apple' }), true)
  })

  it('a newer password takes the place of the older', () => {
    const memory = remembering()
    memory.remember({ name: 'bob', version: 'v2', password: 'pear' })
    assert.equal(memory.isRemembered({ name: 'bob', version: 'v1', password: 'apple' }), false)
    assert.equal(memory.isRemembered({ name: 'bob', version: 'v2', password: 'pear' }), true)
  })

  it('is limited in size, and can be switched off at run time', () => {
    let size = 2
    const memory = createPasswordMemory(() => size)
    for (const name of ['a', 'b', 'c']) memory.remember({ name, version: '', password: 'x' })
    const remembered = () => ['a', 'b', 'c'].filter((name) => memory.isRemembered({ name, version: '', password: 'x' }))
    assert.deepEqual(remembered(), ['b', 'c'])
    size = 0
    assert.deepEqual(remembered(), [])
    size = 2
    assert.deepEqual(remembered(), [])
  })

  it('two memories have two keys', () => {
    const [one, two] = [createPasswordMemory(() => 1), createPasswordMemory(() => 1)]
    one.remember({ name: 'bob', version: 'v1', password: 'apple' })
    assert.equal(two.isRemembered({ name: 'bob', version: 'v1', password: 'apple' }), false)
    assert.doesNotMatch(inspect(one, { depth: 9, showHidden: true }), /apple/)
  })

  it('no two lists of parts have the same encoding', () => {
    const parts = fc.array(fc.string({ unit: fc.constantFrom('a', ':', '1', '2', 'ä', '') }))
    fc.assert(
      fc.property(parts, parts, (a, b) => (frame(a) === frame(b)) === (JSON.stringify(a) === JSON.stringify(b))),
      { numRuns: 2000 },
    )
  })
})
