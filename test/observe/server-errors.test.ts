import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createServerErrors } from '../../src/observe/server-errors.ts'

const toError = (time: number) => ({
  time,
  request: '',
  door: 'document',
  method: 'GET',
  path: `/${time}`,
  status: 500,
})

test('lists the newest first, also if another process has handed over earlier ones later', () => {
  const errors = createServerErrors()
  errors.add(toError(3))
  errors.add(toError(1), toError(2))
  assert.deepEqual(
    errors.list().map(({ time }) => time),
    [3, 2, 1],
  )
})

test('keeps the last hundred', () => {
  const errors = createServerErrors()
  for (let time = 1; time <= 103; time += 1) errors.add(toError(time))
  errors.add(toError(0))
  const listed = errors.list()
  assert.deepEqual([listed.length, listed[0]?.time, listed.at(-1)?.time], [100, 103, 4])
})
