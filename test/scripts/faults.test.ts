import assert from 'node:assert/strict'
import { it } from 'node:test'

const SCRIPT = new URL('../../scripts/faults.mjs', import.meta.url)

/** `npm run faults` does ten thousand. */
const COUNT = 240

it('faults of upstreams and clients, short run: documented statuses, no leaked sockets or memory', async () => {
  const { runFaults } = await import(SCRIPT.href)
  const { outcomes, left, before, after, isRight, isForgotten } = await runFaults(COUNT)
  const came = [...outcomes].map(([{ title }, seen]) => [title, ...seen])
  assert.ok(isRight, JSON.stringify(came))
  assert.deepEqual(left, { client: 0, upstream: 0, cardea: 0 })
  assert.ok(isForgotten, `${before} bytes before, ${after} after`)
})
