import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { readVelocyPack } from '../../src/base/read-velocypack.ts'
import { writeVelocyPack } from '../../src/base/write-velocypack.ts'
import { LIMITS, PROPERTIES, unsigned } from './velocypack.properties.ts'

const read = (bytes: Buffer) => readVelocyPack(bytes, LIMITS)
const fromHex = (hex: string): Buffer => Buffer.from(hex.replaceAll(' ', ''), 'hex')

describe('reads the encodings of the specification', () => {
  const numbers = [1, 2, 3]
  const object = { b: true, a: 12, c: 'xyz' }
  const members = '41 62 1a 41 61 28 0c 41 63 43 78 79 7a'
  const rows: readonly (readonly [name: string, hex: string, value: unknown])[] = [
    ['an array, lengths of 1 byte', '02 05 31 32 33', numbers],
    ['an array, lengths of 2 bytes', '03 06 00 31 32 33', numbers],
    ['an array, lengths of 4 bytes', '04 08 00 00 00 31 32 33', numbers],
    ['an array, lengths of 8 bytes', '05 0c 00 00 00 00 00 00 00 31 32 33', numbers],
    ['an array with padding', '02 0c 00 00 00 00 00 00 00 31 32 33', numbers],
    ['an array with a table of 1 byte', '06 09 03 31 32 33 03 04 05', numbers],
    ['a padded array with a table', '06 0f 03 00 00 00 00 00 00 31 32 33 09 0a 0b', numbers],
    ['an array with a table of 2 bytes', '07 0e 00 03 00 31 32 33 05 00 06 00 07 00', numbers],
    [
      'an array with a table of 4 bytes',
      '08 18 00 00 00 03 00 00 00 31 32 33 09 00 00 00 0a 00 00 00 0b 00 00 00',
      numbers,
    ],
    [
      'an array with a table of 8 bytes',
      `09 2c 00 00 00 00 00 00 00 31 32 33 ${[9, 10, 11, 3].map((n) => unsigned(n, 8).toString('hex')).join('')}`,
      numbers,
    ],
    ['a compact array', '13 06 31 28 10 02', [1, 16]],
    ['an object with a table of 1 byte', `0b 13 03 ${members} 06 03 0a`, object],
    ['an object that is not sorted', `0f 13 03 ${members} 03 06 0a`, object],
    [
      'an object with a table of 4 bytes',
      `0d 22 00 00 00 03 00 00 00 ${members} 0c 00 00 00 09 00 00 00 10 00 00 00`,
      object,
    ],
    ['a compact object', '14 0a 41 61 31 41 62 28 10 02', { a: 1, b: 16 }],
    ['an empty array', '01', []],
    ['an empty object', '0a', {}],
    ['null', '18', null],
    ['false', '19', false],
    ['true', '1a', true],
    ['a double', '1b 00 00 00 00 00 00 f8 3f', 1.5],
    ['a small number', '39', 9],
    ['a small negative number', '3a', -6],
    ['a signed number', '20 80', -128],
    ['a signed number of 7 bytes', '26 ff ff ff ff ff ff ff', -1],
    ['a signed number of 8 bytes', '27 fe ff ff ff ff ff ff ff', -2],
    ['an unsigned number of 2 bytes', '29 00 01', 256],
    ['an unsigned number of 8 bytes', '2f ff ff ff ff ff ff 1f 00', Number.MAX_SAFE_INTEGER],
    ['an empty text', '40', ''],
    ['a text', '43 e2 82 ac', '€'],
    ['a long text', 'bf 01 00 00 00 00 00 00 00 61', 'a'],
    ['a member named __proto__', '14 0e 49 5f5f70726f746f5f5f 31 01', JSON.parse('{"__proto__":1}')],
  ]
  for (const [name, hex, value] of rows)
    it(name, () => assert.deepEqual(read(fromHex(hex)), { kind: 'json', value, isExact: true }))
  it('a number of more than 53 bits, which is not exact', () => {
    const reading = read(fromHex('2f ff ff ff ff ff ff ff ff'))
    assert.deepEqual(reading, { kind: 'json', value: 2 ** 64, isExact: false })
  })
})

describe('refuses', () => {
  const deep = (levels: number): Buffer => {
    let value: unknown = []
    for (let i = 1; i < levels; i += 1) value = [value]
    return writeVelocyPack(value)
  }
  const rows: readonly (readonly [name: string, bytes: string | Buffer, reason?: string])[] = [
    ['nothing', ''],
    ['none', '00'],
    ['reserved types', '15'],
    ['an illegal value', '17'],
    ['a date', '1c 00 00 00 00 00 00 00 00'],
    ['an address in memory', '1d 00 00 00 00 00 00 00 00'],
    ['the least key', '1e'],
    ['binary data', 'c0 01 61'],
    ['a decimal', 'c8 03 00 00 00 00 01 23 45'],
    ['a tagged value', 'ee 01 31'],
    ['a type of an application', 'f0 31'],
    ['an infinite number', '1b 00 00 00 00 00 00 f0 7f'],
    ['not a number', '1b 00 00 00 00 00 00 f8 7f'],
    ['a double that is cut off', '1b 00 00'],
    ['bytes after the value', '31 31'],
    ['a text that is cut off', '43 61'],
    ['a length of 2 to the power of 64', 'bf ff ff ff ff ff ff ff ff 61'],
    ['a text that is not UTF-8', '41 ff', 'not_utf8'],
    ['an array longer than the body', '02 06 31 32 33'],
    ['an array that ends in its own head', '02 01 31'],
    ['an array of items of different lengths', '02 05 31 28 10'],
    ['an array without items', '02 02'],
    ['an item that does not end with its array', '02 04 31 41'],
    ['padding that is not zero', '02 0c 00 00 01 00 00 00 00 31 32 33'],
    ['too little padding', '02 06 00 00 31 32'],
    ['a table that names an item twice', '06 09 03 31 32 33 03 03 05'],
    ['a table in another order', '06 09 03 31 32 33 04 03 05'],
    ['a table that points outside', '06 09 03 31 32 33 03 04 ff'],
    ['a table that is longer than the array', '06 09 ff 31 32 33 03 04 05'],
    ['a number of items that is wrong', '13 06 31 28 10 03'],
    ['a compact array without an end to its length', '13 ff ff ff ff ff ff ff ff ff'],
    ['a compact array without items', '13 03 00'],
    ['a number for a name', '14 05 31 31 01'],
    ['a name without a value', '14 05 41 61 01'],
    ['a name twice', '14 09 41 61 31 41 61 32 02', 'duplicate_name'],
    ['101 levels', deep(101), 'too_deep'],
    ['too many items', writeVelocyPack(Array.from({ length: 2000 }, () => 0)), 'too_many_items'],
    [
      'a table of too many items',
      Buffer.concat([fromHex('07 44 1f d0 07'), Buffer.alloc(7999, 0x31)]),
      'too_many_items',
    ],
  ]
  for (const [name, bytes, reason = 'not_velocypack'] of rows)
    it(name, () => {
      const given = typeof bytes === 'string' ? fromHex(bytes) : bytes
      assert.deepEqual(read(given), { kind: 'refused', reason })
    })
  it('but not 100 levels, and not 1999 items', () => {
    assert.equal(read(deep(100)).kind, 'json')
    assert.equal(read(writeVelocyPack(Array.from({ length: 1999 }, () => 0))).kind, 'json')
  })
})

describe('holds for random values', () => {
  for (const [name, fails] of Object.entries(PROPERTIES)) it(name, () => assert.equal(fails(500), undefined))

  it('writes integers of every length', () => {
    for (let bits = 3; bits <= 53; bits += 1)
      for (const value of [2 ** bits - 1, 2 ** bits, -(2 ** bits) - 1, -(2 ** bits)])
        assert.deepEqual((read(writeVelocyPack(value)) as { value: unknown }).value, value)
  })
  it('writes texts and arrays of every length of their length', () => {
    for (const length of [0, 1, 126, 127, 128, 16_380, 16_384, 70_000]) {
      const value = ['x'.repeat(length)]
      assert.deepEqual(read(writeVelocyPack(value)), { kind: 'json', value, isExact: true })
    }
  })
})
