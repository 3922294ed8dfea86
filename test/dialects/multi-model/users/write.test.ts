import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { mergeObjects } from '../../../../src/dialects/multi-model/users/write.ts'
import type { JsonObject } from '../../../../src/directory/users/user.ts'

const parse = (text: string): JsonObject => JSON.parse(text)

describe('mergeObjects', () => {
  const rows: readonly (readonly [string, string, string, string])[] = [
    ['keeps the members of both', '{"a":1}', '{"b":2}', '{"a":1,"b":2}'],
    ['takes the value of the second', '{"a":1}', '{"a":2}', '{"a":2}'],
    ['merges nested objects', '{"a":{"b":1,"c":1}}', '{"a":{"b":2}}', '{"a":{"b":2,"c":1}}'],
    ['replaces lists', '{"a":[1,2]}', '{"a":[3]}', '{"a":[3]}'],
    ['replaces a number by an object', '{"a":1}', '{"a":{"b":1}}', '{"a":{"b":1}}'],
    ['replaces an object by a number', '{"a":{"b":1}}', '{"a":1}', '{"a":1}'],
    ['keeps null as a value', '{"a":1}', '{"a":null}', '{"a":null}'],
    ['treats __proto__ as an ordinary member', '{"a":1}', '{"__proto__":{"b":1}}', '{"a":1,"__proto__":{"b":1}}'],
    [
      'also in a nested object',
      '{"a":{"__proto__":{"x":1}}}',
      '{"a":{"__proto__":{"y":1}}}',
      '{"a":{"__proto__":{"x":1,"y":1}}}',
    ],
  ]
  for (const [name, first, second, expected] of rows) {
    it(name, () => assert.equal(JSON.stringify(mergeObjects(parse(first), parse(second))), expected))
  }

  const object = fc.dictionary(fc.string(), fc.jsonValue()).map((value) => parse(JSON.stringify(value)))
  it('changes nothing when merged with itself or with an empty object', () => {
    fc.assert(
      fc.property(object, (value) => {
        assert.deepEqual(mergeObjects(value, value), value)
        assert.deepEqual(mergeObjects(value, {}), value)
        assert.deepEqual(mergeObjects({}, value), value)
      }),
    )
  })
  it('does not change a prototype', () => {
    mergeObjects(parse('{}'), parse('{"__proto__":{"polluted":1},"constructor":{"prototype":{"polluted":1}}}'))
    assert.equal(Object.hasOwn(Object.prototype, 'polluted'), false)
  })
})
