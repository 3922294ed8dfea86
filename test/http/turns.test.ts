import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { noteAccepted, waitForHandshake, waitForTurn, waitToStart } from '../../src/http/turns.ts'

const TURNS = 24
const TURN_MS = 3

/** Returns in which iterations of the event loop the turns were taken. Each iteration takes a millisecond more. */
async function takeTurns(t: TestContext, onIteration: () => void): Promise<number[]> {
  let nowMs = performance.now()
  t.mock.method(performance, 'now', () => nowMs)
  const taken: number[] = []
  for (let turn = 0; turn < TURNS; turn += 1)
    waitForTurn(() => {
      nowMs += TURN_MS
      taken.push(iteration)
    })
  let iteration = 0
  for (; taken.length < TURNS; iteration += 1) {
    onIteration()
    nowMs += 1
    await new Promise(setImmediate)
  }
  return taken
}

test('eight turns are taken in one iteration of the event loop', async (t) => {
  const taken = await takeTurns(t, () => {})
  const [first = 0] = taken
  assert.deepEqual(
    taken.map((iteration) => iteration - first),
    Array.from({ length: TURNS }, (_, turn) => Math.floor(turn / 8)),
  )
})

test('turns wait longer than they take while connections are accepted', async (t) => {
  const taken = await takeTurns(t, noteAccepted)
  const iterations = new Set(taken)
  assert.equal(iterations.size, TURNS / 8)
  const length = Math.max(...iterations) - Math.min(...iterations)
  assert.ok(length > 20, `${length} iterations`)
})

for (const waitAs of [waitForHandshake, waitToStart])
  test(`${waitAs.name}: clients take turns, whatever their number of connections`, async () => {
    const taken: string[] = []
    const { promise, resolve } = Promise.withResolvers<void>()
    for (const turn of [1, 2, 3]) waitAs('a', () => taken.push(`a${turn}`))
    waitAs('a', () => false)
    waitAs('a', () => resolve())
    for (const turn of [1, 2]) waitAs('b', () => taken.push(`b${turn}`))
    await promise
    assert.deepEqual(taken, ['a1', 'b1', 'a2', 'b2', 'a3'])
  })
