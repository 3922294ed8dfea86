import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type CursorOptions, createCursor } from '../../../../src/dialects/document/users/changes-cursor.ts'

test('feeds that wait for the same change read it in several iterations of the event loop', async () => {
  let reads = 0
  const readsByIteration: number[] = []
  const count = () => {
    readsByIteration.push(reads)
    reads = 0
    timer = setImmediate(count)
  }
  let timer = setImmediate(count)
  const since = async () => {
    reads += 1
    return { changes: [], position: 1, isEnd: true }
  }
  // what it uses of them
  const options = { deps: { changes: { since } }, query: { since: 0, limit: 10 } } as unknown as CursorOptions
  await Promise.all(Array.from({ length: 100 }, () => createCursor(options).next()))
  clearImmediate(timer)
  const all = [...readsByIteration, reads]
  assert.equal(
    all.reduce((sum, each) => sum + each),
    100,
  )
  assert.ok(Math.max(...all) <= 10, `read in one iteration: ${Math.max(...all)}`)
})
