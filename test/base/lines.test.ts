import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { type Line, LineSplitter } from '../../src/base/lines.ts'

const LIMIT = 40

function split(bytes: Uint8Array, chunkBytes = bytes.length || 1): Line[] {
  const splitter = new LineSplitter(LIMIT)
  const lines: Line[] = []
  for (let at = 0; at < bytes.length; at += chunkBytes) lines.push(...splitter.push(bytes.slice(at, at + chunkBytes)))
  const rest = splitter.end()
  return rest ? [...lines, rest] : lines
}

const ROWS: readonly [row: string, input: string, lines: readonly Line[]][] = [
  ['nothing', '', []],
  [
    'lines',
    'a\nb\n',
    [
      { number: 1, text: 'a' },
      { number: 2, text: 'b' },
    ],
  ],
  [
    'a last line without a line feed, and an empty one',
    'a\n\nb',
    [
      { number: 1, text: 'a' },
      { number: 2, text: '' },
      { number: 3, text: 'b' },
    ],
  ],
  [
    'a line that is too long',
    `${'x'.repeat(LIMIT + 1)}\n${'y'.repeat(LIMIT)}`,
    [
      { number: 1, flaw: 'too_long' },
      { number: 2, text: 'y'.repeat(LIMIT) },
    ],
  ],
  ['text of several bytes', 'ünï ☃\n', [{ number: 1, text: 'ünï ☃' }]],
]

describe('splitting bytes into lines', () => {
  for (const [row, input, lines] of ROWS) {
    it(row, () => {
      const bytes = Buffer.from(input)
      for (const chunkBytes of [1, 2, 7, 5000]) assert.deepEqual(split(bytes, chunkBytes), lines, `by ${chunkBytes}`)
    })
  }

  it('reports a line that is not UTF-8 and reads the next', () => {
    const bytes = Buffer.concat([Buffer.from([0x22, 0xff, 0x22, 0x0a]), Buffer.from('2')])
    assert.deepEqual(split(bytes), [
      { number: 1, flaw: 'not_utf8' },
      { number: 2, text: '2' },
    ])
  })

  it('returns the same for any chunks of any bytes', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 200, max: 20 }), fc.integer({ min: 1, max: 20 }), (input, chunkBytes) => {
        assert.deepEqual(split(input, chunkBytes), split(input))
      }),
      { numRuns: 500 },
    )
  })
})
