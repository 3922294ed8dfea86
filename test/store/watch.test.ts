import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Refusal } from '../../src/base/errors.ts'
import { type LogFields, SILENT_LOG } from '../../src/base/log.ts'
import { STATEMENTS } from '../../src/store/statements.ts'
import { type Engine, one } from '../../src/store/steps.ts'
import { watchEngine } from '../../src/store/watch.ts'

/** An engine that can be made to fail, and what is said in the log about it. */
function open() {
  const lines: [string, LogFields | undefined][] = []
  const write = (message: string, fields?: LogFields) => void lines.push([message, fields])
  const trouble: { reading?: Error | undefined; writing?: Error | undefined } = {}
  const engine: Engine = {
    name: 'frail',
    async ask() {
      if (trouble.reading) throw trouble.reading
      return []
    },
    async transact(begin) {
      if (trouble.writing) throw trouble.writing
      const turn = begin().next()
      if (!turn.done) throw new TypeError('nothing is asked for in these tests')
      return turn.value
    },
    onWake: () => () => {},
    close: async () => {},
  }
  const watched = watchEngine(engine, { ...SILENT_LOG, info: write, error: write })
  const read = () => watched.ask(one(STATEMENTS.readState)).catch((error) => error)
  const change = () =>
    watched
      .transact(function* () {
        // nothing to do is enough
      })
      .catch((error) => error)
  return { lines, trouble, watched, read, change }
}

const full = new Refusal('store_unavailable', { detail: 'the disk is full' })
const gone = new Refusal('store_unavailable', { detail: 'connect ECONNREFUSED' })

test('what keeps a store from being written is said once, and once that it is over', async () => {
  const { lines, trouble, read, change } = open()
  trouble.writing = full
  for (let times = 0; times < 3; times += 1) assert.equal(await change(), full)
  await read()
  trouble.writing = undefined
  for (let times = 0; times < 3; times += 1) await change()
  assert.deepEqual(lines, [
    ['the store cannot be written', { store: 'frail', reason: 'the disk is full' }],
    ['the store can be written again', { store: 'frail' }],
  ])
})

test('one that cannot be reached is told of for reading and for writing', async () => {
  const { lines, trouble, watched, read, change } = open()
  Object.assign(trouble, { reading: gone, writing: gone })
  for (let times = 0; times < 3; times += 1) await Promise.all([read(), read(), change()])
  assert.deepEqual(lines.map(([message]) => message).sort(), [
    'the store cannot be read',
    'the store cannot be written',
  ])
  await assert.rejects(watched.ask(one(STATEMENTS.purgeEnded, 0)))
  assert.equal(lines.length, 2, 'clearing away is writing')
})

test('other failures, and those of a store that was closed, are not about the store', async () => {
  const { lines, trouble, watched, read, change } = open()
  trouble.writing = new Refusal('bad_request')
  await change()
  trouble.reading = gone
  await watched.close()
  await read()
  assert.deepEqual(lines, [])
})
