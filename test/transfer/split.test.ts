import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { createSplitter, type Piece } from '../../src/transfer/split.ts'

const LIMIT = 40

function split(bytes: Uint8Array, chunkBytes = bytes.length || 1, limit = LIMIT): Piece[] {
  const splitter = createSplitter(limit)
  const pieces: Piece[] = []
  for (let at = 0; at < bytes.length; at += chunkBytes) pieces.push(...splitter.push(bytes.slice(at, at + chunkBytes)))
  return [...pieces, ...splitter.end()]
}

const ROWS: readonly [row: string, input: string, pieces: readonly Piece[]][] = [
  ['nothing', '', []],
  ['blank lines', '\n \r\n\n', []],
  [
    'lines',
    '{"a":1}\n{"b":2}\n',
    [
      { line: 1, text: '{"a":1}\n' },
      { line: 2, text: '{"b":2}\n' },
    ],
  ],
  [
    'a last line without a line feed',
    '1\n2',
    [
      { line: 1, text: '1\n' },
      { line: 2, text: '2' },
    ],
  ],
  ['a byte order mark', '\uFEFF1', [{ line: 1, text: '1' }]],
  [
    'blank lines between',
    '1\n\n2',
    [
      { line: 1, text: '1\n' },
      { line: 3, text: '2' },
    ],
  ],
  [
    'a broken line',
    '{"a"\n2',
    [
      { line: 1, text: '{"a"\n' },
      { line: 2, text: '2' },
    ],
  ],
  [
    'a long line',
    `${'x'.repeat(41)}\n2`,
    [
      { line: 1, flaw: 'too_long' },
      { line: 2, text: '2' },
    ],
  ],
  [
    'a list',
    '[1,{"a":[2]}]',
    [
      { line: 1, text: '1' },
      { line: 1, text: '{"a":[2]}' },
    ],
  ],
  [
    'a list over several lines',
    '[\n1,\n2\n]\n',
    [
      { line: 2, text: '1' },
      { line: 3, text: '2\n' },
    ],
  ],
  [
    'several lists',
    '[1]\n[2,3]\n',
    [
      { line: 1, text: '1' },
      { line: 2, text: '2' },
      { line: 2, text: '3' },
    ],
  ],
  ['an empty list', ' [ ] ', []],
  [
    'brackets and commas in strings',
    '["],",{"a":"\\"]"}]',
    [
      { line: 1, text: '"],"' },
      { line: 1, text: '{"a":"\\"]"}' },
    ],
  ],
  [
    'a long element',
    `["${'x'.repeat(41)}",2]`,
    [
      { line: 1, flaw: 'too_long' },
      { line: 1, text: '2' },
    ],
  ],
  [
    'an incomplete list',
    '[1,{"a"',
    [
      { line: 1, text: '1' },
      { line: 1, flaw: 'cut_off' },
    ],
  ],
  [
    'a listing',
    '{"total_rows":2,"offset":0,"rows":[\r\n{"id":1},\r\n{"id":2}\r\n]}\n',
    [
      { line: 2, text: '{"id":1}' },
      { line: 3, text: '{"id":2}\r\n' },
    ],
  ],
  ['a listing with its sequence', '{ "update_seq":"9-x", "rows" : [1] }', [{ line: 1, text: '1' }]],
  ['a listing in another order', '{"rows":[1],"total_rows":1,"offset":0}', [{ line: 1, text: '1' }]],
  ['documents for a bulk request', '{"docs":[{"a":1}],"new_edits":false}', [{ line: 1, text: '{"a":1}' }]],
  ['rows that are not a list', '{"rows":1}', [{ line: 1, text: '{"rows":1}' }]],
  ['a nested listing', '{"a":{"rows":[1]}}', [{ line: 1, text: '{"a":{"rows":[1]}}' }]],
]

describe('splitting a dump into records', () => {
  for (const [row, input, pieces] of ROWS) {
    it(row, () => {
      const bytes = Buffer.from(input)
      for (const chunkBytes of [1, 2, 7, 5000]) assert.deepEqual(split(bytes, chunkBytes), pieces, `by ${chunkBytes}`)
    })
  }

  it('reports a record that is not UTF-8 and reads the next', () => {
    const bytes = Buffer.concat([Buffer.from([0x22, 0xff, 0x22, 0x0a]), Buffer.from('2')])
    assert.deepEqual(split(bytes), [
      { line: 1, flaw: 'not_utf8' },
      { line: 2, text: '2' },
    ])
  })

  it('recognises a listing by its beginning only', () => {
    const padded = `{"update_seq":"${'x'.repeat(5000)}","rows":[1]}`
    assert.deepEqual(split(Buffer.from(padded), 100, 10_000), [{ line: 1, text: padded }])
  })

  it('returns the same for any chunks of any bytes', () => {
    const bytes = fc.oneof(
      fc.uint8Array({ maxLength: 200 }),
      fc
        .string({ unit: fc.constantFrom('[', ']', '{', '}', '"', '\\', ',', '\n', 'a', '{"rows":['), maxLength: 80 })
        .map((text) => Buffer.from(text)),
    )
    fc.assert(
      fc.property(bytes, fc.integer({ min: 1, max: 20 }), (input, chunkBytes) => {
        assert.deepEqual(split(input, chunkBytes), split(input))
      }),
      { numRuns: 500 },
    )
  })

  it('returns every value of a list and of lines', () => {
    fc.assert(
      fc.property(fc.array(fc.json({ maxDepth: 3 }), { maxLength: 10 }), fc.boolean(), (values, isList) => {
        const text = isList ? `[${values.join(',\n')}]` : values.map((value) => `${value}\n`).join('')
        // one line that begins with a bracket is a list itself
        fc.pre(isList || !values[0]?.trimStart().startsWith('['))
        const texts = split(Buffer.from(text), 16, 100_000).map((piece) =>
          'text' in piece ? piece.text.trim() : piece.flaw,
        )
        assert.deepEqual(
          texts,
          values.map((value) => value.trim()),
        )
      }),
      { numRuns: 300 },
    )
  })
})
