import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createNameMemo } from '../../src/base/name-memo.ts'

function create() {
  const judged: string[] = []
  const memo = createNameMemo((name) => {
    judged.push(name)
    return name.toUpperCase()
  })
  return { judged, memo }
}

test('each name is judged once, in each spelling', () => {
  const { judged, memo } = create()
  assert.deepEqual(['host', 'Host', 'host'].map(memo), ['HOST', 'HOST', 'HOST'])
  assert.deepEqual(judged, ['host', 'Host'])
})

test('names somebody makes up do not fill the memory, and are judged all the same', () => {
  const { judged, memo } = create()
  for (let i = 0; i < 3000; i += 1) memo(`x-${i}`)
  judged.length = 0
  assert.deepEqual(['x-0', 'x-2999', 'x-2999'].map(memo), ['X-0', 'X-2999', 'X-2999'])
  assert.deepEqual(judged, ['x-2999', 'x-2999'])
})
