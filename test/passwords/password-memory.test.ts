import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { inspect } from 'node:util'
import fc from 'fast-check'
import { frame } from '../../src/base/encoding.ts'
import { createPasswordMemory } from '../../src/passwords/password-memory.ts'

describe('memory of verified passwords', () => {
  const remembering = () => {
    const memory = createPasswordMemory(() => 100)
    memory.remember('bob', 'v1', 'apple')
    return memory
  }

  it('remembers what was verified', () => assert.equal(remembering().isRemembered('bob', 'v1', 'apple'), true))

  const rows: [string, [string, string, string]][] = [
    ['another password', ['bob', 'v1', 'pear']],
    ['an empty password', ['bob', 'v1', '']],
    ['another version', ['bob', 'v2', 'apple']],
    ['another name', ['eve', 'v1', 'apple']],
    ['another spelling of the name', ['Bob', 'v1', 'apple']],
    ['the same text split elsewhere', ['bob', 'v', '1apple']],
    ['a property of Object.prototype', ['constructor', 'v1', 'apple']],
  ]
  for (const [name, asked] of rows) {
    it(`not ${name}`, () => assert.equal(remembering().isRemembered(...asked), false))
  }

  it('not a lone surrogate for its replacement character', () => {
    const memory = createPasswordMemory(() => 100)
    memory.remember('bob', 'v1', 'a\ufffd')
    assert.equal(memory.isRemembered('bob', 'v1', 'a\ud800'), false)
  })

  it('a verification older than maxAgeMs does not count, and a lookup does not renew it', () => {
    let nowMs = 1000
    const memory = createPasswordMemory(() => 100, { nowMs: () => nowMs })
    memory.remember('bob', 'v1', 'apple')
    nowMs += 99
    assert.equal(memory.isRemembered('bob', 'v1', 'apple', 100), true)
    nowMs += 1
    assert.equal(memory.isRemembered('bob', 'v1', 'apple', 100), false)
    assert.equal(memory.isRemembered('bob', 'v1', 'apple'), true)
  })

  it('a newer password takes the place of the older', () => {
    const memory = remembering()
    memory.remember('bob', 'v2', 'pear')
    assert.equal(memory.isRemembered('bob', 'v1', 'apple'), false)
    assert.equal(memory.isRemembered('bob', 'v2', 'pear'), true)
  })

  it('is limited in size, and can be switched off at run time', () => {
    let size = 2
    const memory = createPasswordMemory(() => size)
    for (const name of ['a', 'b', 'c']) memory.remember(name, '', 'x')
    const remembered = () => ['a', 'b', 'c'].filter((name) => memory.isRemembered(name, '', 'x'))
    assert.deepEqual(remembered(), ['b', 'c'])
    size = 0
    assert.deepEqual(remembered(), [])
    size = 2
    assert.deepEqual(remembered(), [])
  })

  it('two memories have two keys', () => {
    const [one, two] = [createPasswordMemory(() => 1), createPasswordMemory(() => 1)]
    one.remember('bob', 'v1', 'apple')
    assert.equal(two.isRemembered('bob', 'v1', 'apple'), false)
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
