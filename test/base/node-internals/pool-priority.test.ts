import assert from 'node:assert/strict'
import { stat } from 'node:fs/promises'
import { getPriority } from 'node:os'
import { test } from 'node:test'
import { lowerPoolPriority } from '../../../src/base/node-internals/pool-priority.ts'

test('lowers the priority of the threads that hash, and not of the one that serves requests', {
  skip: process.platform !== 'linux',
}, async () => {
  const before = getPriority(process.pid)
  await stat('/')
  assert.equal(lowerPoolPriority(), Number(process.env['UV_THREADPOOL_SIZE'] ?? 4))
  assert.equal(getPriority(process.pid), before)
})
