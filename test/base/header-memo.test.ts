import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createHeaderMemo } from '../../src/base/header-memo.ts'

function create() {
  const computed: string[] = []
  const memo = createHeaderMemo((name) => {
    computed.push(name)
    return name.toUpperCase()
  })
  return { computed, memo }
}

test('computes the result once for each spelling of a name', () => {
  const { computed, memo } = create()
  assert.deepEqual(['host', 'Host', 'host'].map(memo), ['HOST', 'HOST', 'HOST'])
  assert.deepEqual(computed, ['host', 'Host'])
})

test('computes the result of a long text each time', () => {
  const { computed, memo } = create()
  const long = 'x'.repeat(1000)
  for (const text of [long, long]) memo(text)
  assert.equal(computed.length, 2)
})

test('keeps a bounded number of names, and computes the others again', () => {
  const { computed, memo } = create()
  for (let i = 0; i < 3000; i += 1) memo(`x-${i}`)
  computed.length = 0
  assert.deepEqual(['x-2999', 'x-0'].map(memo), ['X-2999', 'X-0'])
  assert.deepEqual(computed, ['x-0'])
})
