import assert from 'node:assert/strict'
import { test } from 'node:test'
import { SYSTEM_CLOCK } from '../../src/base/clock.ts'
import { createAlone } from '../../src/base/siblings.ts'
import { createNoteQueue } from '../../src/directory/note-queue.ts'
import { toShared } from '../support/directory.ts'

test('requests have their turn between two batches of notes', async () => {
  const written: number[] = []
  let turns = 0
  const writtenIn: number[] = []
  const write = async (notes: readonly { readonly id: number }[]) => {
    written.push(...notes.map(({ id }) => id))
    writtenIn.push(turns)
  }
  const queue = createNoteQueue(write, async () => {}, {
    clock: toShared(SYSTEM_CLOCK),
    siblings: createAlone(),
    topic: { name: 'notes' },
  })
  for (let id = 0; id < 1000; id += 1) queue.note(`key ${id}`, () => ({ id }))
  const count = () => {
    turns += 1
    timer = setImmediate(count)
  }
  let timer = setImmediate(count)
  await queue.flush()
  clearImmediate(timer)
  assert.deepEqual(
    written,
    Array.from({ length: 1000 }, (_, id) => id),
  )
  assert.equal(new Set(writtenIn).size, writtenIn.length, `written in the turns ${writtenIn}`)
  assert.ok(writtenIn.length > 1)
})
