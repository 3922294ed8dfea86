import assert from 'node:assert/strict'
import { test } from 'node:test'
import { WastedWork } from '../../src/http/wasted-work.ts'

test('a client waits after more waste than is free, and no other one does', () => {
  const wasted = new WastedWork()
  wasted.add('a', 400)
  assert.equal(wasted.delayMs('a'), 0)
  wasted.add('a', 100_000)
  const ms = wasted.delayMs('a')
  assert.ok(ms > 0 && ms <= 5000, `${ms}`)
  assert.equal(wasted.delayMs('b'), 0)
})

test('of many clients, the last to waste are remembered', () => {
  const wasted = new WastedWork()
  for (let i = 0; i <= 10_000; i += 1) wasted.add(`client ${i}`, 100_000)
  assert.equal(wasted.delayMs('client 0'), 0)
  assert.ok(wasted.delayMs('client 10000') > 0)
})
