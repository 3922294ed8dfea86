import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createHealth, createHealthLog, type HealthCheck } from '../../src/observe/health.ts'

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

const BROKEN: readonly HealthCheck[] = [
  { name: 'rejecting', find: () => Promise.reject(new TypeError('rejected')) },
  {
    name: 'throwing',
    find: () => {
      throw new TypeError('thrown')
    },
  },
  {
    name: 'findings',
    find: async () => undefined,
    findings: () => {
      throw new TypeError('no findings')
    },
  },
]

test('a check that throws has failed, and its cause is logged once', async () => {
  const causes: unknown[] = []
  const note = (_: string, { error }: { readonly error?: unknown } = {}) => void causes.push((error as Error)?.message)
  const listener = createHealthLog({ debug: note, info: note, warn: note, error: note })
  const sources = {
    directory: { catchUp: () => Promise.reject(new TypeError('no reading')), isFresh: async () => true },
    store: { checkWrites: async () => {}, findProblem: () => undefined },
    rings: [],
    audit: { isRequired: false, findProblem: () => undefined },
    others: BROKEN,
  }
  const [first, second] = [createHealth(() => sources, [listener]), createHealth(() => sources, [listener])]
  const parts = await first()
  assert.deepEqual(
    parts.map(({ name, state, problem }) => [name, state, problem?.reason]),
    [
      ['store', 'failed', 'the store cannot be used'],
      ['keys', 'ok', undefined],
      ...BROKEN.map(({ name }) => [name, 'failed', 'the check failed']),
    ],
  )
  await second()
  assert.deepEqual(causes, ['no reading', 'rejected', 'thrown', 'no findings'])
})
