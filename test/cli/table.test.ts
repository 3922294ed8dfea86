import assert from 'node:assert/strict'
import { test } from 'node:test'
import { toPrintable } from '../../src/base/printable.ts'
import { renderFacts, renderTable } from '../../src/cli/table.ts'

test('columns are as wide as their widest cell, without blanks at the end', () => {
  const rows = [
    ['ann', 'a,b'],
    ['barbara', ''],
  ]
  assert.equal(renderTable(['NAME', 'ROLES'], rows), 'NAME     ROLES\nann      a,b\nbarbara')
  assert.equal(renderTable(['NAME'], []), 'NAME')
})

test('facts are printed below each other', () => {
  assert.equal(
    renderFacts([
      ['name', 'ann'],
      ['roles', ''],
    ]),
    'name   ann\nroles',
  )
})

test('removes characters that move the cursor or change the direction of text', () => {
  for (const [given, shown] of [
    ['\x1b[2J', '\\u{1b}[2J'],
    ['a\nb\r\t', 'a\\u{a}b\\u{d}\\u{9}'],
    ['\u202eevil', '\\u{202e}evil'],
    ['grün 名', 'grün 名'],
  ] as const) {
    assert.equal(toPrintable(given), shown)
    assert.ok(renderTable(['X'], [[given]]).endsWith(shown))
  }
})
