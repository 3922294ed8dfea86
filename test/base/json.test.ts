import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { findMember, isJsonObject, keepsNumbers, readJson } from '../../src/base/json.ts'

const read = (text: string) => {
  const reading = readJson(text, { noDuplicates: true })
  return reading.kind === 'json' ? reading.value : reading.reason
}

describe('JSON without duplicate names', () => {
  const refused: [string, string][] = [
    ['a name twice', '{"a":1,"a":1}'],
    ['a name twice, one of them escaped', '{"a":1,"\\u0061":2}'],
    ['deep inside', '[{"x":[{"roles":[],"y":1,"roles":["_admin"]}]}]'],
    ['the name of the prototype twice', '{"__proto__":1,"__proto__":2}'],
    ['the empty name twice', '{"":1,"":2}'],
    ['names that look like numbers', '{"1":1,"1":2}'],
  ]
  for (const [name, text] of refused) it(`refuses ${name}`, () => assert.equal(read(text), 'duplicate_name'))

  const accepted: [string, string][] = [
    ['a colon inside a text', '{"a":"b:c\\":","d":":"}'],
    ['a backslash before the closing quote', '{"a\\\\":1,"b":"\\\\"}'],
    ['the same name in two objects', '{"a":{"a":1},"b":{"a":1}}'],
    ['names of the prototype', '{"__proto__":1,"constructor":2,"toString":3}'],
    ['no object at all', '[1,"a:b",null]'],
    ['no member', '{}'],
  ]
  for (const [name, text] of accepted) it(`reads ${name}`, () => assert.deepEqual(read(text), JSON.parse(text)))

  it('uses the last one if duplicates are allowed', () => {
    assert.deepEqual(readJson('{"a":1,"a":2}'), { kind: 'json', value: { a: 2 } })
  })

  it('reads the output of JSON.stringify, and refuses it with one member doubled', () => {
    const value = fc.jsonValue({ maxDepth: 4 })
    fc.assert(
      fc.property(value, fc.string(), value, (inner, name, other) => {
        assert.deepEqual(read(JSON.stringify([inner])), JSON.parse(JSON.stringify([inner])))
        const member = (part: unknown) => `${JSON.stringify(name)}:${JSON.stringify(part)}`
        assert.equal(read(`{${member(inner)},${member(other)}}`), 'duplicate_name')
      }),
    )
  })

  it('never throws', () => {
    fc.assert(fc.property(fc.oneof(fc.string(), fc.json()), (text) => void readJson(text, { noDuplicates: true })))
  })

  it('reads deep nesting without a stack overflow', () => {
    const depth = 100_000
    assert.equal(readJson('['.repeat(depth) + ']'.repeat(depth), { noDuplicates: true }).kind, 'json')
  })
})

describe('numbers', () => {
  const kept = ['0', '-0', '-0.0', '0e9', '0.1', '1.0', '1.50', '1e2', '1E+2', '100e-2', '123456789012345', '5e-324']
  const keptToo = ['9007199254740992', '1e22', '1.7976931348623157e308', '0.000001', '1e-7', '1e21', '123456789e-3']
  for (const text of [...kept, ...keptToo, '"9007199254740993"', '{"1e999":["\\"1e999",true,null]}'])
    it(`keeps ${text}`, () => assert.equal(keepsNumbers(text), true))

  const lost = [
    '9007199254740993',
    '-9007199254740993',
    '1e999',
    '-1e999',
    '1e-999',
    '0.1000000000000000055511151231257827',
  ]
  for (const text of [...lost, '{"a":[1,{"b":9007199254740993}]}', '["x",1e999]'])
    it(`does not keep ${text}`, () => assert.equal(keepsNumbers(text), false))

  it('keeps the output of JSON.stringify', () => {
    fc.assert(fc.property(fc.jsonValue(), (value) => keepsNumbers(JSON.stringify(value))))
    fc.assert(fc.property(fc.double(), (value) => keepsNumbers(JSON.stringify(value))))
  })

  it('is as fast for a long number as for a long text', () => {
    assert.equal(keepsNumbers(`${'0'.repeat(5)}.${'0'.repeat(1_000_000)}1e1000001`), true)
    assert.equal(keepsNumbers(`1${'0'.repeat(1_000_000)}1e-1000001`), false)
  })
})

describe('members', () => {
  it('finds only own members of the object', () => {
    const object = JSON.parse('{"a":1,"__proto__":2}')
    assert.deepEqual(
      ['a', '__proto__', 'constructor', 'toString'].map((name) => findMember(object, name)),
      [1, 2, undefined, undefined],
    )
  })
  it('distinguishes objects from arrays and null', () => {
    assert.deepEqual([{}, [], null, 1, 'a'].map(isJsonObject), [true, false, false, false, false])
  })
})
