import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createHealthLog } from '../../src/observe/health.ts'

test('a part that does not work is logged once, although its reason measures something', () => {
  const lines: string[] = []
  const note = (message: string) => void lines.push(message)
  const look = createHealthLog({ debug: note, info: note, warn: note, error: note })
  const failed = (reason: string) => [{ name: 'clock', state: 'failed' as const, problem: { reason }, findings: [] }]
  look(failed('61 s behind'))
  look(failed('62 s behind'))
  look(failed('the store has no time'))
  look([{ name: 'clock', state: 'ok', problem: undefined, findings: [] }])
  assert.deepEqual(lines, [
    'not ready: clock: 61 s behind',
    'not ready: clock: the store has no time',
    'works again: clock',
  ])
})
