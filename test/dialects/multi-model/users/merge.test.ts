import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { merge } from '../../../../src/dialects/multi-model/users/merge.ts'
import type { JsonObject } from '../../../../src/directory/user.ts'

const parse = (text: string): JsonObject => JSON.parse(text)

describe('merging', () => {
  const rows: readonly (readonly [string, string, string, string])[] = [
    ['members of both', '{"a":1}', '{"b":2}', '{"a":1,"b":2}'],
    ['the second counts', '{"a":1}', '{"a":2}', '{"a":2}'],
    ['objects in turn', '{"a":{"b":1,"c":1}}', '{"a":{"b":2}}', '{"a":{"b":2,"c":1}}'],
    ['lists whole', '{"a":[1,2]}', '{"a":[3]}', '{"a":[3]}'],
    ['an object in place of a number', '{"a":1}', '{"a":{"b":1}}', '{"a":{"b":1}}'],
    ['a number in place of an object', '{"a":{"b":1}}', '{"a":1}', '{"a":1}'],
    ['null removes nothing', '{"a":1}', '{"a":null}', '{"a":null}'],
    ['names of the prototype are names', '{"a":1}', '{"__proto__":{"b":1}}', '{"a":1,"__proto__":{"b":1}}'],
    ['also inside', '{"a":{"__proto__":{"x":1}}}', '{"a":{"__proto__":{"y":1}}}', '{"a":{"__proto__":{"x":1,"y":1}}}'],
  ]
  for (const [name, first, second, expected] of rows) {
    it(name, () => assert.equal(JSON.stringify(merge(parse(first), parse(second))), expected))
  }

  const object = fc.dictionary(fc.string(), fc.jsonValue()).map((value) => parse(JSON.stringify(value)))
  it('with itself changes nothing, and with nothing neither', () => {
    fc.assert(
      fc.property(object, (value) => {
        assert.deepEqual(merge(value, value), value)
        assert.deepEqual(merge(value, {}), value)
        assert.deepEqual(merge({}, value), value)
      }),
    )
  })
  it('changes no prototype', () => {
    merge(parse('{}'), parse('{"__proto__":{"polluted":1},"constructor":{"prototype":{"polluted":1}}}'))
    assert.equal(Object.hasOwn(Object.prototype, 'polluted'), false)
  })
})
