import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Refusal } from '../../src/base/errors.ts'
import { type LogFields, SILENT_LOG } from '../../src/base/log.ts'
import { logOutages } from '../../src/store/create-store.ts'
import { type Engine, one } from '../../src/store/engine.ts'
import { STATEMENTS } from '../../src/store/statements.ts'

/** An engine that can be made to fail, and the lines logged about it. */
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
      if (!turn.done) throw new TypeError('these tests run no statements')
      return turn.value
    },
    onWake: () => () => {},
    close: async () => {},
  }
  const watched = logOutages(engine, { ...SILENT_LOG, info: write, error: write })
  const read = () => watched.ask(one(STATEMENTS.readCounters)).catch((error) => error)
  const change = () =>
    watched
      .transact(function* () {
        // an empty transaction
      })
      .catch((error) => error)
  return { lines, trouble, watched, read, change }
}

const full = new Refusal('store_unavailable', { detail: 'the disk is full' })
const gone = new Refusal('store_unavailable', { detail: 'connect ECONNREFUSED' })

test('logs once that the store cannot be written, with the reason, and once that it can again', async () => {
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

test('logs reads and writes separately when the store cannot be reached', async () => {
  const { lines, trouble, watched, read, change } = open()
  Object.assign(trouble, { reading: gone, writing: gone })
  for (let times = 0; times < 3; times += 1) await Promise.all([read(), read(), change()])
  assert.deepEqual(lines.map(([message]) => message).sort(), [
    'the store cannot be read',
    'the store cannot be written',
  ])
  await assert.rejects(watched.ask(one(STATEMENTS.purgeEnded, 0)))
  assert.equal(lines.length, 2, 'a purge is a write')
})

test('does not log other errors, or errors after close', async () => {
  const { lines, trouble, watched, read, change } = open()
  trouble.writing = new Refusal('bad_request')
  await change()
  trouble.reading = gone
  await watched.close()
  await read()
  assert.deepEqual(lines, [])
})
