import assert from 'node:assert/strict'
import { it } from 'node:test'

const SCRIPT = new URL('../long/faults.ts', import.meta.url)

/** `npm run test:long -- faults` sends ten thousand. */
const COUNT = 240

it('faults of upstreams and clients, short run: documented statuses, no leaked sockets or memory', async () => {
  const { runFaults } = await import(SCRIPT.href)
  const { outcomes, left, before, after, isRight, isFreed } = await runFaults(COUNT)
  const seenByTitle = [...outcomes].map(([{ title }, seen]) => [title, ...seen])
  assert.ok(isRight, JSON.stringify(seenByTitle))
  assert.deepEqual(left, { client: 0, upstream: 0, cardea: 0 })
  assert.ok(isFreed, `${before} bytes before, ${after} after`)
})
