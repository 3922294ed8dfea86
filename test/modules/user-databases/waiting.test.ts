// How requests wait for the jobs of a user.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createSettling } from '../../../src/modules/user-databases/waiting.ts'
import { waitUntil } from '../../support/wait.ts'

/** Longer than anything takes. */
const WAIT_MS = 120_000

/** A store in which each key has a job until `settled` has it; it counts the questions. */
function openStore() {
  const settled = new Set<string>()
  const asked = new Map<string, number>()
  const hasJob = async (_kind: string, key: string) => {
    asked.set(key, (asked.get(key) ?? 0) + 1)
    return !settled.has(key)
  }
  return { settled, asked, isSettled: createSettling({ hasJob }) }
}

test('all that wait for one user share the questions to the store', async () => {
  const { settled, asked, isSettled } = openStore()
  const waiting = Array.from({ length: 500 }, () => isSettled('document', 'ada', { waitMs: WAIT_MS }))
  await waitUntil(() => (asked.get('document/ada') ?? 0) > 1)
  assert.ok((asked.get('document/ada') ?? 0) < 500)
  assert.equal(asked.has('document/bob'), false)
  settled.add('document/ada')
  assert.deepEqual(new Set(await Promise.all(waiting)), new Set([true]))
  assert.equal(await isSettled('document', 'ada', { waitMs: 0 }), true)
})

test('a client that disconnects ends its own wait, and not that of others', async () => {
  const { asked, isSettled } = openStore()
  const [first, last] = [new AbortController(), new AbortController()]
  const waits = [first, last].map(({ signal }) => isSettled('document', 'ada', { waitMs: WAIT_MS, signal }))
  first.abort()
  assert.equal(await waits[0], false)
  const before = asked.get('document/ada') ?? 0
  await waitUntil(() => (asked.get('document/ada') ?? 0) > before)
  last.abort()
  assert.equal(await waits[1], false)
  const gone = AbortSignal.abort()
  assert.equal(await isSettled('document', 'ada', { waitMs: WAIT_MS, signal: gone }), false)
})

test('without a time to wait the store is asked once', async () => {
  const { asked, isSettled } = openStore()
  assert.equal(await isSettled('document', 'ada', { waitMs: 0 }), false)
  assert.equal(asked.get('document/ada'), 1)
})

test('a store that fails fails all that wait, and is asked again by the next', async () => {
  let isDown = true
  const isSettled = createSettling({
    hasJob: async () => {
      if (isDown) throw new Error('down')
      return false
    },
  })
  const waits = [1, 2].map(() => isSettled('document', 'ada', { waitMs: WAIT_MS }))
  for (const wait of waits) await assert.rejects(wait, /down/)
  isDown = false
  assert.equal(await isSettled('document', 'ada', { waitMs: WAIT_MS }), true)
})
