// Counts the rows of a reply to `_bulk_docs` while it passes.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { createRowCounter } from '../../../src/modules/write-audit/row-counter.ts'

const count = (text: string, size = text.length || 1): number => {
  const counter = createRowCounter()
  const bytes = Buffer.from(text)
  for (let at = 0; at < bytes.length; at += size) counter.take(bytes.subarray(at, at + size))
  return counter.count()
}

for (const [text, expected] of [
  ['', 0],
  ['[]\n', 0],
  ['[{"ok":true,"id":"a","rev":"1-a"}]\n', 1],
  ['[{"ok":true,"id":"a"},\n {"id":"b","error":"conflict","reason":"Document update conflict."}]', 1],
  ['[{"id":"error","rev":"error"}]', 1],
  ['[{"id":"\\"error\\":","rev":"}],[{"}]', 1],
  ['[{"ok":true,"more":{"error":1,"list":[{}]}}]', 1],
  ['[{"id":"a","errors":1},{"id":"b","erro":1}]', 2],
] as const)
  test(`${JSON.stringify(text)} has ${expected}`, () => assert.equal(count(text), expected))

test('counts any list as JSON.parse reads it, in pieces of any size', () => {
  const row = fc.dictionary(fc.constantFrom('ok', 'id', 'error', 'rev', 'x"y'), fc.jsonValue({ maxDepth: 2 }))
  fc.assert(
    fc.property(fc.array(row, { maxLength: 8 }), fc.integer({ min: 1, max: 9 }), (rows, size) => {
      assert.equal(count(JSON.stringify(rows), size), rows.filter((each) => !('error' in each)).length)
    }),
    { numRuns: 200 },
  )
})
